"""Who is using an environment: one empty file per process, named after it."""

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

    def take(self) -> None:
        """Say that this process uses the environment."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._own().touch()

    def drop(self) -> None:
        """Say that this process no longer does."""
        self._own().unlink(missing_ok=True)

    def active(self) -> list[int]:
        """List the processes that use it; leases of ended ones are removed."""
        pids = []
        for lease in sorted(self.folder.glob("*-*")) if self.folder.is_dir() else []:
            pid, created = lease.name.split("-", 1)
            if _lives(pid, created):
                pids.append(int(pid))
            else:
                lease.unlink(missing_ok=True)
        return pids

    def _own(self) -> Path:
        process = psutil.Process(os.getpid())
        return self.folder / f"{process.pid}-{process.create_time():.2f}"


def _lives(pid: str, created: str) -> bool:
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(created)) < _TOLERANCE_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, ValueError):
        return False
