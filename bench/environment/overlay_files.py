"""Lay files into a new package: shared ones as hard links, others written.

A file that was linked is never written to again: it may be a link into the installer's
cache. What is written is a new file, and its time comes from its content, so that the
bytecode compiled for it is right wherever the file is linked to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from zlib import crc32

from bench.environment.donors import Donor
from bench.environment.inventory import CACHE_FOLDER

_EPOCH_S = 10**9
_BYTECODE = f".{sys.implementation.cache_tag}.pyc"


class Package:
    """A package's folder being filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[str] = []
        """The paths of the files that no donor had."""
        self.size_bytes = 0
        """What the written files take."""
        self._known: set[str] = set()

    def link(self, donor: Donor, paths: Iterable[str]) -> list[str]:
        """Link files and their bytecode; give those that the donor does not have after all."""
        source, place = f"{donor.package}/", f"{self.folder}/"
        lost = []
        for path in paths:
            self._make_folder(path.rpartition("/")[0])
            try:
                _link(source + path, place + path)
            except FileNotFoundError:
                lost.append(path)
                continue
            if path.endswith(".py"):
                self._link_bytecode(source, place, path)
        return lost

    def write(self, path: str, content: bytes, content_id: str) -> None:
        """Write a new file, with a time that ``content_id`` decides."""
        self._make_folder(path.rpartition("/")[0])
        (self.folder / path).write_bytes(content)
        self.adopt(path, content_id)

    def adopt(self, path: str, content_id: str) -> None:
        """Take a new file in, and give it the time of its content: 2001 to 2035."""
        time_s = _EPOCH_S + crc32(content_id.encode()) % 2**30
        os.utime(self.folder / path, (time_s, time_s))
        self.written.append(path)
        self.size_bytes += (self.folder / path).stat().st_size

    def count_bytecode(self, paths: Iterable[str]) -> None:
        """Add what was compiled for written files to the size."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self.size_bytes += (self.folder / _bytecode(path)).stat().st_size

    def _link_bytecode(self, source: str, place: str, path: str) -> None:
        compiled = _bytecode(path)
        if not os.path.exists(source + compiled):  # noqa: PTH110 - thousands of them
            return
        self._make_folder(compiled.rpartition("/")[0])
        _link(source + compiled, place + compiled)

    def _make_folder(self, folder: str) -> None:
        if folder not in self._known:
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self._known.add(folder)


def assign(
    wanted: Mapping[str, str], donors: Iterable[Donor]
) -> tuple[list[tuple[Donor, list[str]]], list[str]]:
    """Say which donor gives which paths, the first that can, and what none has."""
    open_paths = dict(wanted)
    given = []
    for donor in donors:
        shared = sorted(path for path, _ in donor.files.items() & open_paths.items())
        for path in shared:
            del open_paths[path]
        if shared:
            given.append((donor, shared))
    return given, sorted(open_paths)


def _bytecode(path: str) -> str:
    """Name the compiled form of a script, beside it, wherever this process keeps its own."""
    folder, separator, name = path.rpartition("/")
    return f"{folder}{separator}{CACHE_FOLDER}/{name[:-3]}{_BYTECODE}"


def _link(source: str, place: str) -> None:
    """Link, or copy where a file has all the links it may have, or lies elsewhere."""
    try:
        os.link(source, place)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, place)
