"""The environments that were built, by build key: one builder at a time, none half done.

An environment is built where it stays, because its scripts hold its path. Its
description is written last, in one step: a folder without one is the remains of a build
that did not end, and whoever holds the lock next removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from bench.disk import FAULTS, DiskError
from bench.environment.commands import LOG_NAME, end_leftovers
from bench.environment.folders import MARKER, USED, finished, last_used, write_marker
from bench.environment.installer import pick_installer
from bench.environment.leases import Leases
from bench.environment.model import Buildable, Environment, Say, StoredEnvironment
from bench.environment.overlay import build_overlay
from bench.environment.release_package import build_package
from bench.environment.wheel import build_wheel
from bench.errors import BuildError, choices
from bench.place import expanded

_LOCKS = ".locks"
_LEASES = "leases"
_NAME = re.compile(r"[a-z]+-.+-[0-9a-f]{12}")
"""Only folders of such names are the store's own, to list and to remove."""

Builder = Callable[[Any, Path, Say], Environment]
"""Builds a recipe of its rung in a folder."""


def default_root() -> Path:
    """Give ``$ET_PEAK_CACHE``, or the user's cache folder, for environments."""
    given = os.environ.get("ET_PEAK_CACHE")
    own = platformdirs.user_cache_path("et-peak")
    cache = expanded(given, "ET_PEAK_CACHE").absolute() if given else own
    return cache / "environments"


def default_builders(installer: str = "auto") -> dict[str, Builder]:
    """Give the builder of every rung."""
    return {
        "wheel": lambda recipe, folder, say: build_wheel(
            recipe, folder, say, pick_installer(installer)
        ),
        "package": lambda recipe, folder, say: build_package(
            recipe, folder, say, pick_installer(installer)
        ),
        "overlay": build_overlay,
    }


class Store:
    """A folder of environments."""

    def __init__(
        self, root: Path | None = None, builders: Mapping[str, Builder] | None = None
    ) -> None:
        self.root = (root or default_root()).resolve()  # one path, however it was reached
        self.builders = dict(default_builders() if builders is None else builders)

    def find(self, recipe: Buildable) -> Environment | None:
        """Give the environment of ``recipe`` if it was built."""
        return finished(self.folder(recipe))

    def ensure(self, recipe: Buildable, say: Say) -> Environment:
        """Give the environment of ``recipe``, built now if need be.

        It is held for this process until the process ends or releases it, and with it
        the base that an overlay is laid over.
        """
        return self._ensure(recipe, say, through="")

    def _ensure(self, recipe: Buildable, say: Say, through: str) -> Environment:
        if recipe.rung not in self.builders:
            raise choices("rung", recipe.rung, sorted(self.builders))
        folder = self.folder(recipe)
        under = getattr(recipe, "base", None)
        # First, so that it is there, and can't be removed, before anyone builds on it.
        base = None if under is None else self._ensure(under, say, through=folder.name)
        try:
            return self._ensure_alone(recipe, folder, base, say, through)
        except BaseException:
            if base is not None:
                Leases(base.root / _LEASES).drop(folder.name)
            raise

    def _ensure_alone(
        self,
        recipe: Buildable,
        folder: Path,
        base: Environment | None,
        say: Say,
        through: str,
    ) -> Environment:
        try:
            with self._locked(folder, recipe.label, say):
                environment = finished(folder)
                if environment is None:
                    environment = self._build(recipe, folder, say)
                Leases(folder / _LEASES).take(through)
                (folder / USED).touch()
                if base is not None:
                    # Last, so that what needs it is always the older, and removed first.
                    (base.root / USED).touch()
        except OSError as error:
            if error.errno in FAULTS:
                raise DiskError(f"{error.strerror}: {folder}") from error
            message = f"the environment of {recipe.label} can't be kept in {folder}: {error}"
            raise BuildError(message) from error
        return environment

    def release(self, environment: Environment) -> None:
        """Say that this process is done with ``environment``."""
        Leases(environment.root / _LEASES).drop()
        if environment.base:
            base = environment.root.parent / environment.base
            Leases(base / _LEASES).drop(through=environment.root.name)

    def folder(self, recipe: Buildable) -> Path:
        """Give the folder that belongs to ``recipe``."""
        return self.root / recipe.folder_name

    def list(self) -> Sequence[StoredEnvironment]:
        """List the finished environments, the last used first."""
        found = [
            StoredEnvironment(
                root=folder,
                rung=environment.rung,
                release=environment.label,
                torch=environment.torch,
                size_bytes=environment.size_bytes,
                last_used=last_used(folder),
                build_key=environment.build_key,
                in_use=bool(Leases(folder / _LEASES).active()),
                base=environment.base,
            )
            for folder in self._folders()
            if (environment := finished(folder)) is not None
        ]
        # Of those used at once a base comes before what needs it.
        return sorted(found, key=lambda item: (item.last_used, not item.base), reverse=True)

    def prune(
        self,
        *,
        keep_newest: int | None = None,
        max_bytes: int | None = None,
        older_than: timedelta | None = None,
    ) -> Sequence[StoredEnvironment]:
        """Remove environments, and give those removed; never one that is in use.

        Removed is what goes beyond any of the limits given, the least recently used
        first; without a limit nothing but the remains of interrupted builds.
        """
        now = datetime.now(UTC)
        kept = 0
        kept_bytes = 0
        removed = []
        for item in self.list():
            too_many = keep_newest is not None and kept >= keep_newest
            too_big = max_bytes is not None and kept_bytes + item.size_bytes > max_bytes
            too_old = older_than is not None and now - item.last_used > older_than
            if (too_many or too_big or too_old) and self._remove(item.root):
                removed.append(item)
            else:
                kept += 1
                kept_bytes += item.size_bytes
        for folder in self._folders():
            if finished(folder) is None:
                self._remove(folder)
        return removed

    def _build(self, recipe: Buildable, folder: Path, say: Say) -> Environment:
        if others := set(Leases(folder / _LEASES).active()) - {os.getpid()}:
            raise BuildError(
                f"{folder} is damaged, or was built under another path, and in use by process "
                f"{min(others)}: end that first"
            )
        if folder.exists():
            say(f"removing what an unfinished build of {recipe.label} left")
            _clear(folder)
        folder.mkdir(parents=True)
        started = time.monotonic()
        try:
            environment = self.builders[recipe.rung](recipe, folder, say)
        except (BuildError, DiskError):
            _clear(folder, keep=LOG_NAME)
            raise
        write_marker(folder, environment)
        say(
            f"environment {recipe.label} ready in {time.monotonic() - started:.0f} s: "
            f"executorch {environment.executorch}, torch {environment.torch}"
        )
        return environment

    def _remove(self, folder: Path) -> bool:
        """Remove a folder unless someone builds it or uses it."""
        try:
            with self._lock(folder).acquire(blocking=False):
                if Leases(folder / _LEASES).active():
                    return False
                if folder.exists():
                    _clear(folder)
                return True
        except Timeout:
            return False

    def _folders(self) -> Sequence[Path]:
        if not self.root.is_dir():
            return []
        return sorted(
            path for path in self.root.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()
        )

    def _lock(self, folder: Path) -> FileLock:
        # Outside of what it protects, so that removing a folder leaves its lock alone.
        locks = self.root / _LOCKS
        locks.mkdir(parents=True, exist_ok=True)
        return FileLock(locks / f"{folder.name}.lock")

    @contextlib.contextmanager
    def _locked(self, folder: Path, label: str, say: Say) -> Iterator[None]:
        lock = self._lock(folder)
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            say(f"waiting for another build of the environment {label}")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def _clear(folder: Path, keep: str | None = None) -> None:
    """Remove what is in ``folder``, its description first, and what still writes there."""
    (folder / MARKER).unlink(missing_ok=True)
    end_leftovers(folder)
    for path in [*folder.iterdir()]:
        if path.name == keep:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    if keep is None:
        folder.rmdir()
