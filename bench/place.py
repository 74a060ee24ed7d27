"""Where the person stands, and where the repository is: what a relative path is meant from."""

from __future__ import annotations

import os
from pathlib import Path

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


def lasting(text: str) -> str:
    """Return a path that means the same from anywhere; an address is left as it is."""
    path = Path(text).expanduser()
    address = "://" in text or (":" in text and not path.exists())
    return text if not text or address else str(path.absolute())
