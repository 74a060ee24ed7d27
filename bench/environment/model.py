"""A built environment: where it is, what is in it, and how to run something in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

Say = Callable[[str], None]
"""Tells the user one line of what is going on."""


class Buildable(Protocol):
    """What the store needs to know of a recipe, of whatever rung."""

    @property
    def rung(self) -> str:
        """How the environment is made."""

    @property
    def label(self) -> str:
        """A short name for folders and messages."""

    @property
    def build_key(self) -> str:
        """The hash of everything that decides the content."""

    @property
    def why(self) -> str:
        """Why this rung, and anything out of the ordinary about it."""

    @property
    def folder_name(self) -> str:
        """The rung, a word for people, and the build key: equal where the key is."""


@dataclass(frozen=True)
class Environment:
    """An isolated environment with exactly one ExecuTorch in it."""

    root: Path
    """Its folder in the store, with its log and its list of packages."""
    python: Path
    bin: Path
    pythonpath: tuple[Path, ...]
    """What goes before the installed packages; empty where the release is installed."""
    build_key: str
    rung: str
    label: str
    """The revision it was made for, such as ``1.4.1``."""
    why: str
    """Why this rung, and anything out of the ordinary about the build."""
    executorch: str
    """The version that the package says it has."""
    git_sha: str | None
    """The commit that it was built from, where the package says."""
    torch: str
    """The installed version with its build, such as ``2.13.0+cpu``; empty without torch."""
    packages: Path
    """The list of everything installed, one ``name==version`` a line."""
    packages_hash: str
    size_bytes: int = 0
    """What it takes on the disk beyond what it shares with its base and its like."""
    base: str = ""
    """The folder, beside its own, of the environment whose interpreter, packages and
    native libraries it uses; empty where it has its own."""

    def to_json(self) -> str:
        """Give it as text; ``from_json`` reads it back."""
        return json.dumps(asdict(self), indent=2, default=str) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Environment:
        """Read what ``to_json`` wrote; ValueError where it is something else."""
        try:
            values: dict[str, Any] = json.loads(text)
            known = {
                field.name: values[field.name]
                for field in fields(cls)
                if field.name in values or field.default is MISSING
            }
            for name in ("root", "python", "bin", "packages"):
                known[name] = Path(known[name])
            known["pythonpath"] = tuple(Path(path) for path in known["pythonpath"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no description of an environment: {error!r}") from error
        return cls(**known)


@dataclass(frozen=True)
class StoredEnvironment:
    """What a list of the store shows of one environment."""

    root: Path
    rung: str
    release: str
    torch: str
    size_bytes: int
    last_used: datetime
    build_key: str
    in_use: bool
    base: str = ""
    """The environment it uses, as in ``Environment``."""


def worker_env(environment: Environment, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the variables for a process that measures in ``environment``.

    Nothing that configures the controller's own Python gets through, and the
    environment's programs come first on the search path: releases up to 1.3 look
    there for ``flatc``.
    """
    given = os.environ if base is None else base
    unwanted = {"VIRTUAL_ENV_PROMPT", "CONDA_PREFIX", "__PYVENV_LAUNCHER__"}
    variables = {
        name: value
        for name, value in given.items()
        if not name.startswith("PYTHON") and name not in unwanted
    }
    path = variables.get("PATH", os.defpath)
    variables |= {
        "PATH": os.pathsep.join([str(environment.bin), path]),
        "VIRTUAL_ENV": str(environment.bin.parent),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
    }
    if environment.pythonpath:
        variables["PYTHONPATH"] = os.pathsep.join(str(path) for path in environment.pythonpath)
    return variables
