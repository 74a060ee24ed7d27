"""The store of exported programs: written once per export, run by whichever runtime asks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock

from bench.disk import writing
from bench.jobs import digest
from bench.results.record import write_whole

LIMIT_BYTES = 20 * 10**9
RECENT_S = 3600.0


@dataclass(frozen=True)
class Program:
    """A stored ``.pte`` and what its export said of it (the worker's ``result`` event)."""

    path: Path
    info: Mapping[str, Any]


class ProgramStore:
    """Content-addressed ``<sha256>.pte`` files, and one ``<export key>.json`` per export.

    Several controllers share it: what adds or removes files does so under a lock. Finding needs
    none, as nothing that was used of late is removed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()  # workers run in another working directory

    def find(self, key: str) -> Program | None:
        """Return the program of an export, if it is there and its checksum holds."""
        try:
            info = json.loads((self.root / f"{key}.json").read_text())
            path = self.root / f"{info['pte_sha256']}.pte"
            with contextlib.suppress(OSError):  # a cache that can only be read
                os.utime(path)  # for pruning, which must not come between this and the use
            with path.open("rb") as file:
                whole = hashlib.file_digest(file, "sha256").hexdigest() == info["pte_sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Program(path, info) if whole else None

    def keep(self, key: str, pte: Path, info: Mapping[str, Any]) -> Program:
        """Move a fresh ``.pte`` into the store; ``info`` holds its ``pte_sha256``."""
        path = self.root / f"{info['pte_sha256']}.pte"
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            with self._lock():
                pte.replace(path)
                write_whole(self.root / f"{key}.json", json.dumps(info))
        return Program(path, info)

    def remove(self, key: str) -> None:
        """Forget the program of an export; its file goes unless another export made the same."""
        about = self.root / f"{key}.json"
        with writing(self.root), self._lock():
            sha = _sha_of(about)
            about.unlink(missing_ok=True)
            if sha and sha not in map(_sha_of, self.root.glob("*.json")):
                (self.root / f"{sha}.pte").unlink(missing_ok=True)

    def incoming(self) -> Path:
        """Return where a worker should write its ``.pte``: on the store's file system."""
        folder = self.root / "incoming"
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{os.getpid()}@{platform.node()}.pte"

    def prune(self, limit: int = LIMIT_BYTES, recent_s: float = RECENT_S) -> int:
        """Remove the least recently used programs beyond ``limit`` bytes; return bytes freed.

        What was used in the last ``recent_s`` seconds stays: another controller may be about to run
        it. What tells of a program that is not there, or tells nothing, goes.
        """
        if not self.root.is_dir() or not os.access(self.root, os.W_OK):
            return 0
        for left in (self.root / "incoming").glob("*"):  # of controllers that were killed
            if _is_left_behind(left.stem):
                left.unlink(missing_ok=True)
        with writing(self.root), self._lock():
            freed = self._remove_old(limit, time.time() - recent_s)
            kept = {path.stem for path in self.root.glob("*.pte")}
            for about in self.root.glob("*.json"):
                if _sha_of(about) not in kept:
                    about.unlink(missing_ok=True)
        return freed

    def _remove_old(self, limit: int, since: float) -> int:
        total = freed = 0
        files = [(path.stat(), path) for path in self.root.glob("*.pte")]
        for found, path in sorted(files, key=lambda each: each[0].st_mtime, reverse=True):
            total += found.st_size
            if total > limit and found.st_mtime < since:
                path.unlink(missing_ok=True)
                freed += found.st_size
        return freed

    def _lock(self) -> FileLock:
        return FileLock(self.root / ".lock")


def _sha_of(about: Path) -> str | None:
    """Return the hash of the program that a file tells of; None where it can't be read."""
    try:
        return str(json.loads(about.read_text())["pte_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_left_behind(name: str) -> bool:
    """Say whether nobody will finish an incoming file; of other nodes' processes we can't know."""
    pid, _, node = name.partition("@")
    if node not in ("", platform.node()):
        return False
    return not (pid.isdigit() and psutil.pid_exists(int(pid)))


def program_key(export_key: str, build_key: str, worker_root: Path) -> str:
    """Name a program by all that decides its content: request, environment, our own worker."""
    sources = {
        str(path.relative_to(worker_root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(worker_root.rglob("*.py"))
    }
    return digest([export_key, build_key, sources])
