"""Environments that cost nothing to build."""

import sys
from dataclasses import dataclass

from bench.environment.model import Environment


@dataclass(frozen=True)
class FakeRecipe:
    """What the store needs of a recipe."""

    rung: str = "wheel"
    label: str = "1.0"
    build_key: str = "0123456789ab"

    @property
    def folder_name(self):
        return f"{self.rung}-{self.label}-{self.build_key}"


def fake_environment(recipe, folder, size_bytes=100):
    bin_folder = folder / "venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").symlink_to(sys.executable)
    packages = folder / "packages.txt"
    packages.write_text("a==1\n")
    return Environment(
        root=folder,
        python=bin_folder / "python",
        bin=bin_folder,
        pythonpath=(),
        build_key=recipe.build_key,
        rung=recipe.rung,
        label=recipe.label,
        why="a test",
        executorch=recipe.label,
        git_sha=None,
        torch="2.13.0+cpu",
        packages=packages,
        packages_hash="x",
        size_bytes=size_bytes,
    )
