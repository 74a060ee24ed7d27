"""``python -m bench``: measure a matrix. ``nox -s bench -- ...`` runs it in its environment."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from rich.console import Console

from bench.config import CONF, composed, load
from bench.errors import EtPeakError, Exit, RequestError
from bench.report import help as help_text


class _Parser(argparse.ArgumentParser):
    """argparse, with its refusals as our one-line errors."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message} (flags: --help, --cfg job, --dry-run, key=value)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (see :class:`bench.errors.Exit`)."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    signal.signal(signal.SIGTERM, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # progress, when it goes into a file too
    try:
        return _main(list(sys.argv[1:] if argv is None else argv), console)
    except EtPeakError as error:
        print(f"et-peak: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("et-peak: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except OSError as error:  # a full disk, a folder we may not write
        print(f"et-peak: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return Exit.UNDECIDED


def _main(argv: list[str], console: Console) -> int:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--cfg", choices=["job"])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(argv)
    if given.help:
        console.print(help_text.text(CONF), markup=False, highlight=False, soft_wrap=True)
        return Exit.OK
    request = load(given.overrides)
    if given.cfg:
        print(composed(request), end="")
        return Exit.OK
    # Only now, the request being right: what follows takes a second to import.
    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    request = revisions.resolve_all(request)
    from bench.session import run

    return run(request, revisions, console, dry=given.dry_run)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
