"""The two ways to make a virtual environment and to install into it: uv, and pip."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from packaging.utils import canonicalize_name

from bench.environment.commands import Commands, clean_environment
from bench.environment.pip_config import PipConfig, read_pip_config, uv_options
from bench.errors import choices

INSTALLERS = ["auto", "uv", "pip"]
PROBE_SECONDS = 30.0
"""How long a question of whether something can be had may take."""


class Installer(Protocol):
    """What a build asks of uv or pip."""

    name: str
    knows_cpu_index: bool
    """Whether it can be told to take torch from PyTorch's own CPU index."""

    def create(self, commands: Commands, venv: Path) -> None:
        """Make an empty environment for the interpreter that runs this."""

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """Tell quickly whether ``requirement`` can be had; nothing is installed."""

    def install(
        self,
        commands: Commands,
        python: Path,
        requirements: Sequence[str],
        *,
        what: str,
        dependencies: bool = True,
        cpu_index: bool = False,
    ) -> None:
        """Install ``requirements``; raise BuildError where that fails."""

    def freeze(self, commands: Commands, python: Path) -> str:
        """List what is installed, one ``name==version`` a line."""


class UvInstaller:
    """uv: seconds for an environment, by hard links from its cache."""

    name = "uv"
    knows_cpu_index = True

    def __init__(self, uv: Path, config: PipConfig, env: Mapping[str, str]) -> None:
        self.uv = uv
        self.options = uv_options(config, env)
        self.environment = clean_environment(env) | dict(self.options.environment)

    def create(self, commands: Commands, venv: Path) -> None:
        """Make an empty environment for the interpreter that runs this."""
        for note in self.options.notes:
            commands.note(note)
        argv = [self.uv, "venv", "--no-project", "--python", sys.executable, venv]
        commands.run("creating the virtual environment", argv, environment=self.environment)

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """Tell quickly whether ``requirement`` can be had; nothing is installed."""
        argv = [*self._install(python, cpu_index), "--dry-run", "--no-deps", requirement]
        impatient = {"UV_HTTP_TIMEOUT": "10", "UV_HTTP_RETRIES": "0"}
        return commands.succeeds(
            argv, environment=self.environment | impatient, timeout=PROBE_SECONDS
        )

    def install(
        self,
        commands: Commands,
        python: Path,
        requirements: Sequence[str],
        *,
        what: str,
        dependencies: bool = True,
        cpu_index: bool = False,
    ) -> None:
        """Install ``requirements``; raise BuildError where that fails."""
        argv = [*self._install(python, cpu_index), *requirements]
        if not dependencies:
            argv.append("--no-deps")
        commands.run(f"installing {what}", argv, environment=self.environment)

    def freeze(self, commands: Commands, python: Path) -> str:
        """List what is installed, one ``name==version`` a line."""
        argv = [self.uv, "pip", "freeze", "--python", python]
        output = commands.run("listing the packages", argv, environment=self.environment)
        return normalise_freeze(output)

    def _install(self, python: Path, cpu_index: bool) -> list[object]:
        argv: list[object] = [self.uv, "pip", "install", "--no-progress", "--python", python]
        if cpu_index:
            argv += ["--torch-backend", "cpu"]
        return [*argv, *self.options.arguments]


class PipInstaller:
    """pip, where there is no uv: slower, and needs no translation."""

    name = "pip"
    knows_cpu_index = False

    def __init__(self, env: Mapping[str, str]) -> None:
        self.environment = clean_environment(env) | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def create(self, commands: Commands, venv: Path) -> None:
        """Make an empty environment for the interpreter that runs this."""
        argv = [sys.executable, "-m", "venv", venv]
        commands.run("creating the virtual environment", argv, environment=self.environment)

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """Tell quickly whether ``requirement`` can be had; nothing is installed."""
        if cpu_index:
            return False
        argv = [*self._install(python), "--dry-run", "--no-deps", "--retries", "0", requirement]
        return commands.succeeds(argv, environment=self.environment, timeout=PROBE_SECONDS)

    def install(
        self,
        commands: Commands,
        python: Path,
        requirements: Sequence[str],
        *,
        what: str,
        dependencies: bool = True,
        cpu_index: bool = False,  # noqa: ARG002 - pip has no such option: see knows_cpu_index
    ) -> None:
        """Install ``requirements``; raise BuildError where that fails."""
        argv = [*self._install(python), "--no-compile", *requirements]
        if not dependencies:
            argv.append("--no-deps")
        commands.run(f"installing {what}", argv, environment=self.environment)

    def freeze(self, commands: Commands, python: Path) -> str:
        """List what is installed, one ``name==version`` a line."""
        argv = [python, "-m", "pip", "freeze", "--all", "--exclude", "pip"]
        output = commands.run("listing the packages", argv, environment=self.environment)
        return normalise_freeze(output)

    @staticmethod
    def _install(python: Path) -> list[object]:
        return [python, "-m", "pip", "install", "--progress-bar", "off", "--no-input"]


def normalise_freeze(text: str) -> str:
    """Give a list of packages one spelling and one order, whoever printed it."""
    lines = []
    for line in text.splitlines():
        name, separator, version = line.strip().partition("==")
        if separator:
            lines.append(f"{canonicalize_name(name)}=={version}")
        elif " @ " in line:
            name, _, place = line.strip().partition(" @ ")
            lines.append(f"{canonicalize_name(name)} @ {place}")
    return "".join(f"{line}\n" for line in sorted(lines))


def find_uv() -> Path | None:
    """Find uv: the package beside this interpreter first, then the search path."""
    found: str | None
    try:
        # Not a dependency: only looked for.
        found = importlib.import_module("uv").find_uv_bin()
    except (ImportError, AttributeError, FileNotFoundError):
        found = None
    found = found or shutil.which("uv")
    return Path(found) if found else None


def pick_installer(wanted: str = "auto") -> Installer:
    """Give uv where there is one, else pip; ``wanted`` may insist on either."""
    if wanted not in INSTALLERS:
        raise choices("installer", wanted, INSTALLERS)
    uv = None if wanted == "pip" else find_uv()
    if uv is not None:
        return UvInstaller(uv, read_pip_config(), os.environ)
    if wanted == "uv":
        raise choices("installer: no uv was found, and the given", wanted, ["auto", "pip"])
    return PipInstaller(os.environ)
