"""memray's folder: filled once, never half."""

from pathlib import Path

import pytest

from bench.environment.tools import MEMRAY, ensure_memray
from bench.errors import BuildError


class Installer:
    """Writes one file where it is told to install."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.asked = []

    def install(self, commands, python, requirements, *, what, target, **options):
        self.asked += requirements
        target.mkdir()
        (target / "memray.py").write_text("")
        if self.fails:
            raise BuildError(f"installing {what} failed")


def test_it_is_installed_once_into_a_folder_of_its_own(tmp_path: Path) -> None:
    installer, said = Installer(), []
    first = ensure_memray(tmp_path, said.append, installer)
    assert (first / "memray.py").exists()
    assert first.is_relative_to(tmp_path / "tools")
    assert ensure_memray(tmp_path, said.append, installer) == first
    assert installer.asked == [MEMRAY]
    assert len(said) == 1


def test_a_failed_installation_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(BuildError):
        ensure_memray(tmp_path, print, Installer(fails=True))
    assert (ensure_memray(tmp_path, print, Installer()) / "memray.py").exists()
