"""Finished environments whose files a new overlay can share by hard links.

Sharing needs no lock: an environment's files never change. But one that nobody uses may
be removed, and built again, while its files are being linked, and half a file could be
caught. Whoever links asks afterwards whether the donor was there all the time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.environment.folders import MARKER, finished, last_used
from bench.environment.inventory import inventory, package_of, read_manifest
from bench.environment.model import Environment

MOST = 8
"""How many of the overlays used last are looked at: reading a list costs some milliseconds."""


@dataclass(frozen=True)
class Donor:
    """One finished environment: where its files are, and what they are."""

    root: Path
    package: Path
    files: Mapping[str, str]
    stamp: tuple[int, int] | None

    def undisturbed(self) -> bool:
        """Tell whether it was neither removed nor built again since it was found."""
        return self.stamp is not None and _stamp(self.root) == self.stamp


def find_donors(base: Environment, wanted: Mapping[str, str]) -> Sequence[Donor]:
    """Give overlays on ``base``, the nearest to ``wanted`` first, and the base itself."""
    folders = base.root.parent.glob(f"overlay-{base.label}-*")
    recent = sorted(folders, key=last_used, reverse=True)
    donors = [base_donor(base)]
    for folder in recent:
        stamp = _stamp(folder)
        overlay = finished(folder)
        files = read_manifest(folder)
        if overlay is not None and overlay.base == base.root.name and files is not None:
            donors.append(Donor(folder, package_of(overlay), files, stamp))
        if len(donors) > MOST:
            break
    # A stable sort: of equals the base is first, because nobody removes it meanwhile.
    return sorted(donors, key=lambda donor: -_shared(donor.files, wanted))


def base_donor(base: Environment) -> Donor:
    """Give the base as a donor; it is held by whoever builds on it."""
    return Donor(base.root, package_of(base), inventory(base), _stamp(base.root))


def _shared(files: Mapping[str, str], wanted: Mapping[str, str]) -> int:
    return len(files.items() & wanted.items())


def _stamp(folder: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = (folder / MARKER).stat()
        return status.st_ino, status.st_mtime_ns
    return None
