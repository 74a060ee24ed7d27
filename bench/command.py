"""What the commands have in common: one-line errors, exit codes, how they are interrupted."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console

from bench import place, start
from bench.errors import EtPeakError, Exit, RequestError

WIDTH = 140
"""Columns of what goes into a file; a terminal, or ``COLUMNS``, has its own."""


class Parser(argparse.ArgumentParser):
    """argparse, with its refusals as our one-line errors.

    Args:
        hint: what is valid instead, put after each refusal.
        about: ``prog``, ``description`` and so on: then argparse itself prints the help and
            exits. Without them ``--help`` is a flag, and the help the command's own.
    """

    def __init__(self, hint: str, **about: Any) -> None:
        super().__init__(add_help=bool(about), allow_abbrev=False, **about)
        self._hint = hint
        if not about:
            self.add_argument("-h", "--help", action="store_true")

    def error(self, message: str) -> NoReturn:
        """Refuse in one line.

        Raises:
            RequestError: always.
        """
        raise RequestError(f"{message} ({self._hint})")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to :func:`run_command`: rich would end with 1, which is a finding here."""
        raise BrokenPipeError


def run_command(
    work: Callable[[list[str], Console], int],
    argv: Sequence[str] | None,
    interrupted: str = "interrupted",
) -> int:
    """Run a command to its exit code; what it raises is one line for the person.

    A relative path is meant from where the person stands, whoever started the command. SIGTERM is
    an interruption like Ctrl-C. A reader that closes the pipe early is none: output
    that nobody reads is no failure, but nothing more can be said.

    Args:
        work: takes the words of the command line and where to print.
        argv: those words; None for the process's own.
        interrupted: what to say when it was.

    """
    start.raise_again()
    sized = (sys.stdout and sys.stdout.isatty()) or os.environ.get("COLUMNS", "").isdigit()
    console = _Console(width=None if sized else WIDTH)
    signal.signal(signal.SIGTERM, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # progress, when it goes into a file too
    try:
        place.go_back()
        return work(list(sys.argv[1:] if argv is None else argv), console)
    except EtPeakError as error:
        print(f"et-peak: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"et-peak: {interrupted}", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.INTERRUPTED
    except OSError as error:  # a full disk, a folder we may not write
        print(f"et-peak: {_said(error)}", file=sys.stderr)
        return Exit.UNDECIDED


def resumable(end: KeyboardInterrupt | EtPeakError | OSError, how: str) -> int:
    """Say in one line why a run ended early, and how to go on; return the exit code.

    Args:
        end: what ended it; nothing can be said where that was a reader who closed the pipe.
        how: the command that finishes it.

    """
    if isinstance(end, BrokenPipeError):
        raise end
    if isinstance(end, KeyboardInterrupt):
        why, code = "interrupted", Exit.INTERRUPTED
    else:
        why = _said(end)
        code = end.exit_code if isinstance(end, EtPeakError) else Exit.UNDECIDED
    print(f"et-peak: {why}; what was measured is kept. Go on with: {how}", file=sys.stderr)
    return code


ENDS = (KeyboardInterrupt, EtPeakError, OSError)
"""What may end a run of which something is kept already: see :func:`resumable`."""


def _said(error: EtPeakError | OSError) -> str:
    if isinstance(error, EtPeakError):
        return str(error)
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _interrupt(_signal: int, _frame: FrameType | None) -> Any:
    raise KeyboardInterrupt
