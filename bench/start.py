"""What Ctrl-C does to a command that is still being imported: one line, and no traceback.

Only the standard library is imported here, and this first: imports take a second or two.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_INTERRUPTED = 130  # bench.errors.Exit, which is not imported yet


def end_quietly() -> None:
    """Let an interrupt end the process, until :func:`bench.command.run_command` takes over."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """Let an interrupt be a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_signal: int, _frame: FrameType | None) -> None:
    # At once: libraries that are half imported turn a KeyboardInterrupt into errors of their own.
    os.write(2, b"et-peak: interrupted\n")
    os._exit(_INTERRUPTED)
