"""Where the person stands, and where the repository is: what a relative path is meant from."""

from __future__ import annotations

import os
from pathlib import Path

from bench.errors import RequestError

ROOT = Path(__file__).resolve().parent.parent
_STANDS = "ET_PEAK_CWD"


def go_back() -> None:
    """Go to where the person stands: nox starts a command in its own folder, and names theirs."""
    if began := os.environ.pop(_STANDS, None):
        os.chdir(began)


def ours(name: str) -> Path:
    """Return a path in this repository, as short as from where one stands.

    Args:
        name: relative to the repository's root.

    """
    path, here = ROOT / name, Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def expanded(text: str, option: str = "") -> Path:
    """Return the path that a person typed, with ``~`` and ``~user`` as the folders they stand for.

    Args:
        text: the path.
        option: of the request, named in the refusal.

    Raises:
        RequestError: there is no such user, or none of a bare ``~``.

    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        named = f"{option}: {text!r}" if option else repr(text)
        user = text.partition("/")[0].removeprefix("~")
        why = f"there is no user {user!r}" if user else "no home folder is known (set HOME)"
        raise RequestError(f"{named}: {why}") from None


def lasting(text: str, option: str = "") -> str:
    """Return a path that means the same from anywhere; an address is left as it is."""
    path = expanded(text, option)
    address = "://" in text or (":" in text and not path.exists())
    return text if not text or address else str(path.absolute())
