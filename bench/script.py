"""The user's own model: what can be known of its script without running it.

The script runs in workers only. Here it is read: its content's hash is part of every cell, and the
names of its methods are the matrix's.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.place import expanded

FUNCTION = "build"
_NAMES = "METHODS"
_DEFAULT = ("forward",)


@dataclass(frozen=True)
class Script:
    """A user's script.

    Attributes:
        path: absolute.
        sha256: of its content; modules that it imports are not in it, see :func:`unchanged`.
        methods: names of the program's methods, from ``METHODS``; one, ``forward``, without it.

    """

    path: Path
    sha256: str
    methods: tuple[str, ...]

    @property
    def label(self) -> str:
        """Stands where the name of a model would."""
        return self.path.stem

    @property
    def fields(self) -> dict[str, Any]:
        """What the worker is told of it, beside its place."""
        return {"sha256": self.sha256, "names": list(self.methods)}


def read_script(text: str) -> Script:
    """Read a script by its path.

    Raises:
        RequestError: there is no such file, or it lacks what a script needs.

    """
    path = expanded(text, "script").absolute()
    try:
        content = path.read_bytes()
        tree = ast.parse(content, str(path))
    except OSError as error:
        raise RequestError(f"script: {text}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise RequestError(f"script: {text}{line}: {getattr(error, 'msg', error)}") from None
    if not any(isinstance(n, ast.FunctionDef) and n.name == FUNCTION for n in tree.body):
        raise RequestError(
            f"script: {text} has no function {FUNCTION}(seed); see examples/ for what it returns"
        )
    return Script(path, hashlib.sha256(content).hexdigest(), _methods(text, tree))


def unchanged(script: Path, neighbours: Mapping[str, str]) -> bool:
    """Tell whether the files a program was made of besides the script are still the same.

    Args:
        script: its path.
        neighbours: SHA-256 by path relative to the script's folder, as the export said.

    """
    try:
        for name, wanted in neighbours.items():
            with (script.parent / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                    return False
    except OSError:
        return False
    return True


def _methods(text: str, tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == _NAMES for target in targets):
            return _names(text, node.value)
    return _DEFAULT


def _names(text: str, value: ast.expr) -> tuple[str, ...]:
    try:
        names = ast.literal_eval(value)
    except (ValueError, TypeError):  # no literal; one that can't be, such as a set of lists
        names = None
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(name, str) and name.isidentifier() for name in names)
        or len(set(names)) < len(names)
        or "export" in names
    ):
        raise RequestError(
            f'script: {text}: {_NAMES} must be a list of names as it stands, ["encode", "decode"] '
            "for one; `export` can't be among them"
        )
    return tuple(names)
