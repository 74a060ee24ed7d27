"""What the folder of one environment in the store says about itself."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from bench.environment.model import Environment

MARKER = "environment.json"
"""The description, written last: a folder without one is not finished."""
USED = "used"
"""An empty file whose time is that of the last use."""


def finished(folder: Path) -> Environment | None:
    """Give the environment in ``folder``, if it is whole and where it was built."""
    try:
        environment = Environment.from_json((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = environment.root.resolve() == folder.resolve() and environment.python.exists()
    return environment if whole else None


def write_marker(folder: Path, environment: Environment) -> None:
    """Say, in one step, that the environment in ``folder`` is finished."""
    temporary = folder / f"{MARKER}.new"
    temporary.write_text(environment.to_json(), encoding="utf-8")
    temporary.replace(folder / MARKER)


def last_used(folder: Path) -> datetime:
    """Give the time of the last use, or of the build."""
    for name in (USED, MARKER):
        with contextlib.suppress(OSError):
            return datetime.fromtimestamp((folder / name).stat().st_mtime, UTC)
    return datetime.fromtimestamp(0, UTC)
