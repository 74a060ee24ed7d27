"""Errors meant for a person, and the exit codes of the two commands."""

from __future__ import annotations

from difflib import get_close_matches
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``python -m bench`` and ``python -m bisect``."""

    OK = 0
    """Done, and nothing regressed."""
    FOUND = 1
    """A regression or a culprit was found where one was asked about."""
    BAD_REQUEST = 2
    """The request was wrong; nothing was run."""
    UNDECIDED = 3
    """It could not be decided: noise, or nothing testable."""
    UNTESTABLE = 125
    """This revision can't be tested (the convention of ``git bisect run``)."""
    INTERRUPTED = 130
    """Interrupted; what was measured is kept and the run can be resumed."""


class EtPeakError(Exception):
    """Base of every error that is printed as one line and ends the command."""

    exit_code: Exit = Exit.UNDECIDED


class RequestError(EtPeakError):
    """The request names something that does not exist or makes no sense."""

    exit_code = Exit.BAD_REQUEST


class BuildError(EtPeakError):
    """The environment of a revision could not be built.

    Its cells become ``untestable`` with this message as the reason.
    """

    exit_code = Exit.UNTESTABLE


def choices(what: str, given: object, valid: list[str]) -> RequestError:
    """Build the error for a value that is none of ``valid``, naming them and the nearest."""
    near = get_close_matches(str(given), valid, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return RequestError(f"{what}: {str(given)!r} is not one of {', '.join(valid)}{hint}")
