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
    """What a build asks of uv or pip, each call one command of the build."""

    name: str
    knows_cpu_index: bool
    """Whether it can be told to take torch from PyTorch's own CPU index."""

    def create(self, commands: Commands, venv: Path) -> None:
        """Make an empty virtual environment at ``venv``, of the interpreter that runs this.

        Raises:
            BuildError: if that fails.

        """

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """Tell whether ``requirement`` can be had within seconds; nothing is installed.

        Args:
            commands: of the build; the attempt is in its log.
            python: of the environment that it would be installed into.
            requirement: such as ``torch==2.13.0+cpu``; its dependencies are not looked at.
            cpu_index: whether to look on PyTorch's own CPU index.

        """

    def install(
        self,
        commands: Commands,
        python: Path,
        requirements: Sequence[str],
        *,
        what: str,
        dependencies: bool = True,
        cpu_index: bool = False,
        target: Path | None = None,
    ) -> None:
        """Install into the environment of ``python``, or into a folder.

        Args:
            commands: of the build; what the installer prints is in its log.
            python: of the environment.
            requirements: names with versions, or files.
            what: words for the error, such as ``torch 2.13.0``.
            dependencies: whether to install what they require.
            cpu_index: whether to take torch from PyTorch's own CPU index.
            target: the folder; None for the environment.

        Raises:
            BuildError: if that fails.

        """

    def freeze(self, commands: Commands, python: Path) -> str:
        """Return what is installed, as :func:`normalise_freeze` lays it out.

        Raises:
            BuildError: if that fails.

        """


class UvInstaller:
    """uv: seconds for an environment, by hard links from its cache.

    Args:
        uv: the program.
        config: pip's configuration, which uv ignores: it is translated.
        env: the variables of this process; what would lead uv astray is left out.

    """

    name = "uv"
    knows_cpu_index = True

    def __init__(self, uv: Path, config: PipConfig, env: Mapping[str, str]) -> None:
        self.uv = uv
        self.options = uv_options(config, env)
        self.environment = clean_environment(env) | dict(self.options.environment)

    def create(self, commands: Commands, venv: Path) -> None:
        """See :meth:`Installer.create`."""
        for note in self.options.notes:
            commands.note(note)
        argv = [self.uv, "venv", "--no-project", "--python", sys.executable, venv]
        commands.run("creating the virtual environment", argv, environment=self.environment)

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """See :meth:`Installer.resolves`."""
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
        target: Path | None = None,
    ) -> None:
        """See :meth:`Installer.install`."""
        argv = [*self._install(python, cpu_index), *_into(target), *requirements]
        if not dependencies:
            argv.append("--no-deps")
        commands.run(f"installing {what}", argv, environment=self.environment)

    def freeze(self, commands: Commands, python: Path) -> str:
        """See :meth:`Installer.freeze`."""
        argv = [self.uv, "pip", "freeze", "--python", python]
        output = commands.run("listing the packages", argv, environment=self.environment)
        return normalise_freeze(output)

    def _install(self, python: Path, cpu_index: bool) -> list[object]:
        argv: list[object] = [self.uv, "pip", "install", "--no-progress", "--python", python]
        if cpu_index:
            argv += ["--torch-backend", "cpu"]
        return [*argv, *self.options.arguments]


class PipInstaller:
    """pip, where there is no uv: slower, and reads its configuration itself.

    Args:
        env: the variables of this process; what would lead pip astray is left out.

    """

    name = "pip"
    knows_cpu_index = False

    def __init__(self, env: Mapping[str, str]) -> None:
        self.environment = clean_environment(env) | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def create(self, commands: Commands, venv: Path) -> None:
        """See :meth:`Installer.create`."""
        argv = [sys.executable, "-m", "venv", venv]
        commands.run("creating the virtual environment", argv, environment=self.environment)

    def resolves(
        self, commands: Commands, python: Path, requirement: str, *, cpu_index: bool = False
    ) -> bool:
        """See :meth:`Installer.resolves`."""
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
        target: Path | None = None,
    ) -> None:
        """See :meth:`Installer.install`."""
        argv = [*self._install(python), "--no-compile", *_into(target), *requirements]
        if not dependencies:
            argv.append("--no-deps")
        commands.run(f"installing {what}", argv, environment=self.environment)

    def freeze(self, commands: Commands, python: Path) -> str:
        """See :meth:`Installer.freeze`."""
        argv = [python, "-m", "pip", "freeze", "--all", "--exclude", "pip"]
        output = commands.run("listing the packages", argv, environment=self.environment)
        return normalise_freeze(output)

    @staticmethod
    def _install(python: Path) -> list[object]:
        return [python, "-m", "pip", "install", "--progress-bar", "off", "--no-input"]


def _into(target: Path | None) -> list[object]:
    return [] if target is None else ["--target", target]


def normalise_freeze(text: str) -> str:
    """Return a list of packages in one spelling and one order, whoever printed it.

    Lines are ``name==version`` or ``name @ place``; others, such as pip's editable installs, are
    left out. So equal environments have equal lists, and equal hashes.
    """
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
    """Return uv's program: the package beside this interpreter first, then the search path."""
    found: str | None
    try:
        # Not a dependency: only looked for.
        found = importlib.import_module("uv").find_uv_bin()
    except (ImportError, AttributeError, FileNotFoundError):
        found = None
    found = found or shutil.which("uv")
    return Path(found) if found else None


def pick_installer(wanted: str = "auto") -> Installer:
    """Return uv where there is one, else pip; ``wanted`` may insist on either.

    Raises:
        RequestError: an unknown ``wanted``, or uv where there is none.

    """
    if wanted not in INSTALLERS:
        raise choices("installer", wanted, INSTALLERS)
    uv = None if wanted == "pip" else find_uv()
    if uv is not None:
        return UvInstaller(uv, read_pip_config(), os.environ)
    if wanted == "uv":
        raise choices("installer: no uv was found, and the given", wanted, ["auto", "pip"])
    return PipInstaller(os.environ)
