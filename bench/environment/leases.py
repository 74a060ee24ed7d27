"""Who is using an environment: one empty file per process, named after it.

What a process uses it through, such as an overlay on it, can be named too: each such
use ends on its own.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

_TOLERANCE_S = 2.0
"""The same process may read a little earlier or later after the clock was set."""


class Leases:
    """The leases of one environment. A lease ends with its process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, through: str = "") -> None:
        """Say that this process uses the environment."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._own(through).touch()

    def drop(self, through: str = "") -> None:
        """Say that this process no longer does."""
        self._own(through).unlink(missing_ok=True)

    def active(self) -> list[int]:
        """List the processes that use it; leases of ended ones are removed."""
        pids: set[int] = set()
        for lease in sorted(self.folder.glob("*-*")) if self.folder.is_dir() else []:
            pid, created, *_ = lease.name.split("-", 2)
            if _lives(pid, created):
                pids.add(int(pid))
            else:
                lease.unlink(missing_ok=True)
        return sorted(pids)

    def _own(self, through: str) -> Path:
        process = psutil.Process(os.getpid())
        name = f"{process.pid}-{process.create_time():.2f}"
        return self.folder / (f"{name}-{through}" if through else name)


def _lives(pid: str, created: str) -> bool:
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(created)) < _TOLERANCE_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, ValueError):
        return False
