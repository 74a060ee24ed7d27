"""Build an environment of the rung ``wheel``: a published release with its torch."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from bench.environment.commands import Commands
from bench.environment.installer import Installer
from bench.environment.mlx_schema import generate_schema, make_executable, needs_schema
from bench.environment.model import Buildable, Environment, Say
from bench.environment.recipe import Recipe
from bench.errors import BuildError
from bench.packages import packages_hash

# The tests inside packages are a tenth of their code, and no measurement imports them.
_NOT_COMPILED = r"[/\\]tests?[/\\]"


@dataclass(frozen=True)
class TorchChoice:
    """What to ask the installer for, and where it is to look."""

    requirement: str
    cpu_index: bool
    note: str
    warning: bool = False


def choose_torch(
    torch: str | None, installer: Installer, commands: Commands, python: Path, platform: str
) -> TorchChoice:
    """Prefer a CPU build of torch: of gigabytes that nothing here uses, it has none.

    On Linux, PyPI's own build is for CUDA. Asked for in turn: the CPU build by its
    full version where pip is configured to look, PyTorch's CPU index, PyPI.
    """
    plain = f"torch=={torch}" if torch else "torch"
    if not platform.startswith("linux") or (torch and "+" in torch):
        return TorchChoice(plain, cpu_index=False, note="")
    if torch and installer.resolves(commands, python, f"{plain}+cpu"):
        return TorchChoice(f"{plain}+cpu", cpu_index=False, note="CPU build, as pip finds it")
    if installer.knows_cpu_index and installer.resolves(commands, python, plain, cpu_index=True):
        return TorchChoice(plain, cpu_index=True, note="CPU build from PyTorch's index")
    remedy = "" if installer.knows_cpu_index else ", or install uv, which knows that index"
    note = (
        f"no CPU build of {plain} found: taking PyPI's, which may be a CUDA build of several GB "
        f"(make PyTorch's CPU index an extra-index-url of pip{remedy})"
    )
    return TorchChoice(plain, cpu_index=False, note=note, warning=True)


def build_wheel(recipe: Recipe, folder: Path, say: Say, installer: Installer) -> Environment:
    """Build ``recipe`` in ``folder``, for good: an environment can't be moved."""
    commands = Commands(folder)
    say(f"building the environment of ExecuTorch {recipe.release} with {installer.name}")
    if recipe.note:
        say(f"note: {recipe.note}")
    if recipe.packages:
        return _build_recorded(recipe, commands, installer, say)
    python, torch = begin(recipe, commands, installer, say)
    say(f"installing executorch=={recipe.release} and {torch.requirement}")
    installer.install(
        commands,
        python,
        [f"executorch=={recipe.release}", torch.requirement, *recipe.requirements],
        what=f"executorch {recipe.release}",
        cpu_index=torch.cpu_index,
    )
    return finish(recipe, commands, installer, say)


def _build_recorded(
    recipe: Recipe, commands: Commands, installer: Installer, say: Say
) -> Environment:
    """Install the very packages of a record: nothing is resolved, and nothing added."""
    venv = commands.folder / "venv"
    python = venv / "bin" / "python"
    installer.create(commands, venv)
    torch = next((line for line in recipe.packages if line.startswith("torch==")), None)
    # A local version such as +cpu is on PyTorch's own index, if not where pip looks.
    elsewhere = torch is not None and not installer.resolves(commands, python, torch)
    say(f"installing the {len(recipe.packages)} packages that were recorded")
    installer.install(
        commands,
        python,
        recipe.packages,
        what="the recorded packages",
        dependencies=False,
        cpu_index=elsewhere and installer.knows_cpu_index,
    )
    return finish(recipe, commands, installer, say)


def begin(
    recipe: Recipe, commands: Commands, installer: Installer, say: Say
) -> tuple[Path, TorchChoice]:
    """Make an empty environment in the folder of ``commands``; give its Python, and its torch."""
    venv = commands.folder / "venv"
    python = venv / "bin" / "python"
    installer.create(commands, venv)
    torch = choose_torch(recipe.torch, installer, commands, python, sys.platform)
    if torch.note:
        commands.note(torch.note)
    if torch.warning:
        say(f"warning: {torch.note}")
    return python, torch


def finish(
    recipe: Recipe,
    commands: Commands,
    installer: Installer,
    say: Say,
    package: str = "executorch",
) -> Environment:
    """Add what is wanted besides ``package``, which is there; complete, compile and describe it."""
    venv = commands.folder / "venv"
    python = venv / "bin" / "python"
    if (alone := recipe.without_dependencies) and not recipe.packages:  # which hold them
        what = ", ".join(alone)
        installer.install(commands, python, alone, what=what, dependencies=False)
    site = site_packages(venv)
    if package == "executorch":
        complete_package(commands, python, site / "executorch", say)
    say("compiling the bytecode, so that no measurement has to")
    compile_bytecode(commands, python, site)
    return describe(recipe, commands.folder, installer.freeze(commands, python))


def complete_package(commands: Commands, python: Path, executorch: Path, say: Say) -> None:
    """Add what a wheel's ExecuTorch should have had: flatc's bit, MLX's schema."""
    if not executorch.is_dir():
        raise BuildError(f"the wheel installed no package executorch (log: {commands.log})")
    flatc = executorch / "data" / "bin" / "flatc"
    if flatc.is_file():
        make_executable(flatc)
    if needs_schema(executorch):
        say("generating MLX's schema files")
        generate_schema(commands, python, executorch, flatc)


def compile_bytecode(commands: Commands, python: Path, folder: Path) -> None:
    """Compile what a worker may import: a cold cache would inflate its first peak."""
    argv = [python, "-m", "compileall", "-q", "-j", str(os.cpu_count() or 1)]
    # Fails for single files that are templates or for another Python: they don't matter.
    commands.succeeds([*argv, "-x", _NOT_COMPILED, folder])


def describe(
    recipe: Buildable, folder: Path, packages: str, *, needs_torch: bool = True
) -> Environment:
    """Say what was built, from what lies on the disk; nothing of it is imported."""
    venv = folder / "venv"
    site = site_packages(venv)
    versions = installed_versions(site)
    listing = folder / "packages.txt"
    listing.write_text(packages, encoding="utf-8")
    for name in ("executorch", "torch") if needs_torch else ("executorch",):
        if name not in versions:
            raise BuildError(f"the environment in {folder} has no {name}")
    return Environment(
        root=folder,
        python=venv / "bin" / "python",
        bin=venv / "bin",
        pythonpath=(),
        build_key=recipe.build_key,
        rung=recipe.rung,
        label=recipe.label,
        why=recipe.why,
        executorch=versions["executorch"],
        git_sha=git_sha(site / "executorch" / "version.py"),
        torch=versions.get("torch", ""),
        packages=listing,
        packages_hash=packages_hash(packages),
        size_bytes=folder_bytes(folder),
    )


def site_packages(venv: Path) -> Path:
    """Give the folder that packages are installed to."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return venv / "lib" / version / "site-packages"


def installed_versions(site: Path) -> dict[str, str]:
    """Read the versions from the metadata of the packages in ``site``."""
    found = distributions(path=[str(site)])
    return {canonicalize_name(item.metadata["Name"]): item.version for item in found}


def git_sha(version_file: Path) -> str | None:
    """Read the commit that ExecuTorch says it was built from, without importing it."""
    try:
        tree = ast.parse(version_file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        value = getattr(node, "value", None)
        if "git_version" in names and isinstance(value, ast.Constant):
            text = str(value.value)
            return text if re.fullmatch(r"[0-9a-f]{7,40}", text) else None
    return None


def folder_bytes(folder: Path) -> int:
    """Add up the sizes of the files below ``folder``, each once however many names it has."""
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    found = (file.lstat() for file in files)
    return sum({(file.st_dev, file.st_ino): file.st_size for file in found}.values())
