"""memray for the processes that explain a measurement, in a folder beside the environments.

Not a package of the environments: it would be part of what decides their content, so of every
build key, although no measurement ever uses it. A process that explains puts the folder at the end
of its own path; nothing else knows of it.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from filelock import FileLock

from bench.environment.commands import Commands
from bench.environment.installer import Installer, pick_installer
from bench.environment.model import Say

MEMRAY = "memray==1.20.0"
"""Pinned, as two captures are compared; what it needs besides itself is only asked to be there."""


def ensure_memray(cache: Path, say: Say, installer: Installer | None = None) -> Path:
    """Return the folder that holds memray for this interpreter, filled now if need be.

    Environments are built with the interpreter that runs this, so that it fits all of them.

    Args:
        cache: et-peak's cache folder.
        say: is told when it has to be installed.
        installer: uv or pip; picked where it is None.

    Raises:
        BuildError: if it can't be installed.

    """
    name = MEMRAY.replace("==", "-")
    tag = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    place = cache / "tools" / f"{name}-{tag}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_name(f".{place.name}.lock")):
        if not place.is_dir():
            say(f"installing {name}, for explaining only")
            scratch = place.with_name(f".{place.name}.new")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            (installer or pick_installer()).install(
                Commands(scratch),
                Path(sys.executable),
                [MEMRAY],
                what=name,
                target=scratch / "packages",
            )
            scratch.rename(place)
    return place / "packages"
