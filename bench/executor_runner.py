"""The user's own ``executor_runner``: what it is, by its bytes and by what its ``--help`` says."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.place import expanded
from bench.pte import ProgramFile, specs

NAME = "executor_runner"
"""In ``runner=``, and the value of the column ``runner``."""
# gflags' help: "    -model_path (Model serialized in flatbuffer format.) type: string". The flags
# are those of examples/portable/executor_runner/executor_runner.cpp: 1.0 had no --method_name.
_FLAG = re.compile(r"^\s+--?([a-z][a-z0-9_]*)\b", re.MULTILINE)
_NEEDED = ("model_path", "num_executions")
_KNOWN = (*_NEEDED, "method_name", "inputs", "output_file", "print_output")
_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Binary:
    """An executor_runner.

    Attributes:
        path: absolute.
        sha256: of the file.
        flags: those that we know and it has.

    """

    path: Path
    sha256: str
    flags: tuple[str, ...]

    @property
    def label(self) -> str:
        """Stands where the name of a runtime's revision would."""
        return f"{self.path.name}@{self.sha256[:8]}"

    @property
    def fields(self) -> dict[str, Any]:
        """What is added to its runner of ``conf/``."""
        own = {"path": str(self.path), "sha256": self.sha256, "flags": list(self.flags)}
        return {**own, "label": self.label}


def probe(text: str) -> Binary:
    """Look at the binary that ``runner.path=`` names; it is asked for its help and nothing else.

    Raises:
        RequestError: if there is none, it can't be started, or it is none.

    """
    if not text:
        raise RequestError("runner.path: give the path of your executor_runner (runner.path=PATH)")
    path = expanded(text, "runner.path").absolute()
    try:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RequestError(f"runner.path: {text}: {error.strerror}") from None
    if not os.access(path, os.X_OK):
        raise RequestError(f"runner.path: {text} is not executable (chmod +x)")
    said = _help(path, text)
    flags = set(_FLAG.findall(said))
    missing = [f"--{flag}" for flag in _NEEDED if flag not in flags]
    if missing:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        why = f"; it says: {lines[0][:160]}" if lines and len(lines) < 5 else ""
        raise RequestError(
            f"runner.path: {text} is no executor_runner: its --help has no "
            f"{' and no '.join(missing)}{why}"
        )
    return Binary(path, sha256, tuple(flag for flag in _KNOWN if flag in flags))


def changed(runner: Mapping[str, Any]) -> str | None:
    """Say how the binary is another than the one that was looked at; None while it is the same."""
    try:
        found = hashlib.sha256(Path(runner["path"]).read_bytes()).hexdigest()
    except OSError as error:
        return f"{runner['path']}: {error.strerror}"
    if found == runner["sha256"]:
        return None
    return f"{runner['path']} has changed: it was {runner['label']} and is {found[:8]} now"


def feeding(program: ProgramFile, name: str) -> dict[str, Any] | str:
    """Return what such a runner is fed for a method, and what comes out; or why it can't be.

    It takes an input of the largest size only (``extension/runner_util/inputs.cpp`` compares the
    bytes): what the program's metadata says, floats by the seed and integers zeros, as by ``pte=``.

    Returns:
        ``inputs``: as :func:`bench.pte.specs` gives them; ``outputs``: type and largest shape of
        each; ``first``: the method that a binary without ``--method_name`` runs.

    """
    method = program.method(name)
    if method is None:
        return f"the program has no method {name}"
    inputs = specs(method, ())
    if isinstance(inputs, str):
        return inputs
    outputs = [[each.kind, list(each.shape or ())] for each in method.outputs]
    return {"inputs": inputs, "outputs": outputs, "first": program.methods[0].name}


def _help(path: Path, text: str) -> str:
    try:
        done = subprocess.run(
            [path, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,  # gflags ends its help with 1
        )
    except OSError as error:
        raise RequestError(f"runner.path: {text} can't be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        took = f"{_PATIENCE_S:.0f} s"
        raise RequestError(
            f"runner.path: {text} is no executor_runner: no answer to --help in {took}"
        ) from None
    return done.stdout + done.stderr
