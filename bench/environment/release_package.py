"""The rung ``package``: a release's wheel alone, to take its Python from.

Nothing runs in it but ExecuTorch's own generator: an overlay lays its Python over another
release, and so a release can be measured without the torch it was built with.
"""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.environment.commands import Commands
from bench.environment.installer import Installer
from bench.environment.model import Environment, Say
from bench.environment.recipe import build_key, normalise_release
from bench.environment.wheel import complete_package, describe, site_packages


@dataclass(frozen=True)
class PackageRecipe:
    """All that decides the content of an environment of the rung ``package``."""

    release: str
    python: str
    platform: str
    rung: str = "package"

    @property
    def label(self) -> str:
        """Name it in messages."""
        return self.release

    @property
    def why(self) -> str:
        """Say what it is for."""
        return "the release's Python, to lay over another release"

    @property
    def folder_name(self) -> str:
        """Name the environment's folder."""
        return f"{self.rung}-{self.label}-{self.build_key}"

    @property
    def build_key(self) -> str:
        """Hash everything that decides the environment's content."""
        return build_key(asdict(self))


def package_recipe(release: str) -> PackageRecipe:
    """Give the recipe of a release's wheel alone; RequestError for no known release."""
    return PackageRecipe(
        release=normalise_release(release),
        python=f"cp{sys.version_info.major}{sys.version_info.minor}",
        platform=sysconfig.get_platform(),
    )


def build_package(
    recipe: PackageRecipe, folder: Path, say: Say, installer: Installer
) -> Environment:
    """Build ``recipe`` in ``folder``."""
    commands = Commands(folder)
    venv = folder / "venv"
    python = venv / "bin" / "python"
    say(f"getting the wheel of ExecuTorch {recipe.release} with {installer.name}")
    installer.create(commands, venv)
    installer.install(
        commands,
        python,
        [f"executorch=={recipe.release}"],
        what=f"executorch {recipe.release} without dependencies",
        dependencies=False,
    )
    complete_package(commands, python, site_packages(venv) / "executorch", say)
    return describe(recipe, folder, installer.freeze(commands, python), needs_torch=False)
