"""An interpreter that sees all that an environment has installed, but no ExecuTorch.

``executorch`` is a namespace package: two copies on the path become one, and a file that
a commit deleted would still be found in the other. So what runs an overlay gets an
interpreter of its own whose packages are links to the base's, all but this one. Nothing
is installed, copied or compiled again, and the metadata stays, so that versions can be
asked for.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from bench.environment.model import Environment
from bench.environment.wheel import site_packages

FOLDER = "dependencies"
PACKAGE = "executorch"


def dependency_environment(base: Environment, scratch: Path) -> Path:
    """Give the folder of the base's interpreter without ExecuTorch, made if need be.

    It belongs to the base, and goes when the base goes. ``scratch`` is a folder on the
    same file system: half of one is never seen, whoever else makes it at the same time.
    """
    place = base.root / FOLDER
    if place.is_dir():
        return place
    made = scratch / FOLDER
    shutil.rmtree(made, ignore_errors=True)
    _make(base.bin.parent, made, place)
    # Another builder may have been first, and its work is as good.
    with contextlib.suppress(OSError):
        made.rename(place)
    shutil.rmtree(made, ignore_errors=True)
    return place


def _make(venv: Path, made: Path, place: Path) -> None:
    """Make in ``made`` what will be at ``place``."""
    installed, linked = site_packages(venv), site_packages(made)
    linked.mkdir(parents=True)
    for entry in installed.iterdir():
        if entry.name != PACKAGE:
            (linked / entry.name).symlink_to(entry)
    shutil.copyfile(venv / "pyvenv.cfg", made / "pyvenv.cfg")
    (made / "bin").mkdir()
    for entry in (venv / "bin").iterdir():
        if entry.is_symlink():
            (made / "bin" / entry.name).symlink_to(entry.readlink())
        elif entry.is_file():
            _copy_script(entry, made / "bin" / entry.name, venv, place)


def _copy_script(script: Path, copy: Path, venv: Path, place: Path) -> None:
    """Copy a program; a script that names its interpreter is to name the new one."""
    content = script.read_bytes()
    copy.write_bytes(content.replace(os.fsencode(venv), os.fsencode(place)))
    copy.chmod(stat.S_IMODE(script.stat().st_mode))
