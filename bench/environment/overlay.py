"""Build an environment of the rung ``overlay``: a tree's Python over a base."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.environment.commands import Commands
from bench.environment.dependencies import dependency_environment
from bench.environment.donors import Donor, base_donor, find_donors
from bench.environment.folders import finished
from bench.environment.inventory import inventory, write_manifest
from bench.environment.mlx_schema import generate_schema, needs_schema
from bench.environment.model import Environment, Say
from bench.environment.overlay_files import Package, assign
from bench.environment.overlay_plan import (
    PACKAGE,
    VERSION_FILE,
    Plan,
    is_compiled,
    is_mlx_generated,
)
from bench.environment.overlay_recipe import OverlayRecipe
from bench.environment.tree import TreeSource, blob_id
from bench.errors import BuildError

VERSION_PATH = PACKAGE + VERSION_FILE
_TREE = "tree"
_MANY_FILES = 64
"""From so many on, compiling them is shared among the processors."""


def build_overlay(recipe: OverlayRecipe, folder: Path, say: Say) -> Environment:
    """Build ``recipe`` in ``folder``, in the same store as its base, which must be built."""
    base = finished(folder.parent / recipe.base.folder_name)
    if base is None:
        raise BuildError(f"the base of the overlay {recipe.label}, {recipe.base.label}, is gone")
    say(f"laying the Python of {recipe.label} over ExecuTorch {base.label}")
    dependencies = dependency_environment(base, folder)
    python = dependencies / "bin" / "python"
    build = _Build(recipe, base, folder, python)
    package = build.lay(find_donors(base, build.wanted)) or build.lay([base_donor(base)])
    if package is None:
        raise BuildError(f"the base of the overlay {recipe.label} was changed during the build")
    packages = folder / "packages.txt"
    shutil.copyfile(base.packages, packages)
    return Environment(
        root=folder,
        python=python,
        bin=python.parent,
        pythonpath=(package.folder.parent,),
        build_key=recipe.build_key,
        rung=recipe.rung,
        label=recipe.label,
        why=recipe.why,
        executorch=package_version(recipe.tree),
        git_sha=recipe.tree.sha,
        torch=base.torch,
        packages=packages,
        packages_hash=base.packages_hash,
        size_bytes=package.size_bytes,
        base=base.root.name,
    )


class _Build:
    """One overlay being built: what is wanted, and the tries to get it."""

    def __init__(
        self, recipe: OverlayRecipe, base: Environment, folder: Path, python: Path
    ) -> None:
        self.tree = recipe.tree
        self.plan = recipe.plan
        self.commands = Commands(folder)
        self.python = python
        self.version = version_file(recipe.tree)
        self.wanted = wanted_files(self.plan, inventory(base), self.version)

    def lay(self, donors: Sequence[Donor]) -> Package | None:
        """Fill the package; None where a donor was removed meanwhile."""
        place = self.commands.folder / _TREE / "executorch"
        shutil.rmtree(place.parent, ignore_errors=True)
        place.mkdir(parents=True)
        package = Package(place)
        wanted = self.wanted | self._generated(donors)
        given, missing = assign(wanted, donors)
        for donor, paths in given:
            missing += package.link(donor, paths)
        if not all(donor.undisturbed() for donor, _ in given):
            return None
        lost = [path for path in missing if path not in self.plan.files and path != VERSION_FILE]
        if lost:
            raise BuildError(f"the base of the overlay lacks a file that it had: {lost[0]}")
        for path, content in self._contents(missing):
            package.write(path, content, wanted[path])
        if needs_schema(place):
            wanted |= self._generate(package)
        self._compile(package)
        write_manifest(self.commands.folder, wanted)
        return package

    def _generated(self, donors: Sequence[Donor]) -> dict[str, str]:
        """Give MLX's generated files, where a donor has those of this very schema."""
        key = self.plan.mlx_key
        for donor in donors if key else ():
            found = {path: name for path, name in donor.files.items() if name == key}
            if found:
                return found
        return {}

    def _contents(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Read what no donor had, each content once."""
        places: dict[str, list[str]] = {}
        for path in paths:
            if path in self.plan.files:
                places.setdefault(self.plan.files[path], []).append(path)
            elif path == VERSION_FILE:
                yield path, self.version or b""
        for name, content in self.tree.read(places) if places else ():
            for path in places[name]:
                yield path, content

    def _generate(self, package: Package) -> dict[str, str]:
        """Generate MLX's Python, which no donor had for this schema."""
        flatc = package.folder / "data" / "bin" / "flatc"
        generate_schema(self.commands, self.python, package.folder, flatc)
        key = self.plan.mlx_key or ""
        start = len(str(package.folder)) + 1
        made = [
            path
            for parent, _, names in os.walk(package.folder / "backends" / "mlx")
            for name in names
            if is_mlx_generated(path := f"{parent}/{name}"[start:])
        ]
        for path in made:
            package.adopt(path, key)
        return dict.fromkeys(made, key)

    def _compile(self, package: Package) -> None:
        """Compile what is new: a cold cache would inflate the first peak."""
        scripts = [path for path in package.written if is_compiled(path)]
        if not scripts:
            return
        listing = self.commands.folder / "compiled.txt"
        text = "".join(f"{package.folder / path}\n" for path in scripts)
        listing.write_text(text, encoding="utf-8")
        jobs = (os.cpu_count() or 1) if len(scripts) >= _MANY_FILES else 1
        argv = [self.python, "-m", "compileall", "-q", "-j", str(jobs), "-i", listing]
        # Fails for single files that are templates or for another Python: they don't matter.
        self.commands.succeeds(argv)
        package.count_bytecode(scripts)


def wanted_files(plan: Plan, base: Mapping[str, str], version: bytes | None) -> dict[str, str]:
    """Give the content of every file of the package but those that MLX's generator makes."""
    wanted = {path: name for path, name in base.items() if plan.keeps(path)} | dict(plan.files)
    if version is not None:
        wanted[VERSION_FILE] = blob_id(version)
    return wanted


def package_version(tree: TreeSource) -> str:
    """Give the version that the package will say it has, as its own build would."""
    if tree.sha is None or VERSION_PATH in tree.files():
        return tree.version
    return f"{tree.version}+{tree.sha[:7]}"


def version_file(tree: TreeSource) -> bytes | None:
    """Write the version file as ExecuTorch's build does; None where the tree has one."""
    if VERSION_PATH in tree.files():
        return None
    lines = [
        "from typing import Optional",
        '__all__ = ["__version__", "git_version"]',
        f'__version__ = "{package_version(tree)}"',
        f"git_version: Optional[str] = {tree.sha!r}",
    ]
    return "".join(f"{line}\n" for line in lines).encode()
