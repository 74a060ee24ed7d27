"""Which file of a commit goes where in the package ``executorch``, and what stays: pure.

A release's wheel is made from the repository by its own ``setup.py``: the folders that
the links in ``src/executorch`` name, files of some kinds only, a few copies, a few files
that the build generates, and what the compiler made. The plan says the same for the
parts that no compiler makes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, join, normpath, splitext

from bench.environment.tree import LINK, SUBMODULE, FileEntry

LAYOUT = 1
"""Raised when the same tree is laid out differently than before."""

PACKAGE = "src/executorch/"
KINDS = (".py", ".pyi", ".fbs", ".yaml", ".typed")
NATIVE = ("data/", "include/", "lib/", "share/")
"""Folders of the package that the build fills, and the base's stay."""
VERSION_FILE = "version.py"
VERSION_TEXT = "version.txt"
"""Of the repository: the version that a package made of it gets."""
MLX_GENERATOR = "backends/mlx/serialization/generate.py"
MLX_SCHEMA = "backends/mlx/serialization/schema.fbs"
_MLX_GENERATED = (
    "backends/mlx/_generated_inspector.py",
    "backends/mlx/serialization/_generated/",
    "backends/mlx/serialization/_generated_serializers.py",
    "backends/mlx/serialization/mlx_graph_schema.py",
)
_SHADERS = "backends/arm/vgf/shaders/"
_SHADER_KINDS = (".glsl", ".spirv.b64")
_BUNDLED = "devtools/bundled_program/"
_COPIES = {
    "schema/program.fbs": "exir/_serialize/program.fbs",
    "schema/scalar_type.fbs": "exir/_serialize/scalar_type.fbs",
    f"{_BUNDLED}schema/bundled_program_schema.fbs": (
        f"{_BUNDLED}serialize/bundled_program_schema.fbs"
    ),
    f"{_BUNDLED}schema/scalar_type.fbs": f"{_BUNDLED}serialize/scalar_type.fbs",
}
_COPIED_FROM = {place: source for source, place in _COPIES.items()}
_LINK_DEPTH = 4
"""How many links may lead on to another before they are taken for a circle."""


@dataclass(frozen=True)
class Plan:
    """The content of the package, but for what the base has and what is generated."""

    files: Mapping[str, str]
    """The blob of every file to lay over, by its path in the package."""
    submodules: tuple[str, ...]
    """Folders of other repositories (ending in ``/``): their files are the base's."""

    @cached_property
    def key(self) -> str:
        """Hash what decides the content: equal for commits that differ elsewhere."""
        content = [LAYOUT, sorted(self.files.items()), self.submodules]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def keeps(self, path: str) -> bool:
        """Tell whether this file of the base's package stays as it is."""
        return not is_source(path) or path.startswith((*NATIVE, *self.submodules))

    @cached_property
    def mlx_key(self) -> str | None:
        """Hash what MLX's generated files are made from; None where there are none to make.

        The templates are no part of it: they decide C++ only.
        """
        if any(is_mlx_generated(path) for path in self.files):
            return None
        return mlx_key(self.files)


def is_source(path: str) -> bool:
    """Tell whether a commit, and not a compiler, decides this file of the package."""
    shader = path.startswith(_SHADERS) and path.endswith(_SHADER_KINDS)
    return path.endswith(KINDS) or shader


def is_laid_over(path: str) -> bool:
    """Tell whether this file of the repository is what an overlay is made from, links aside."""
    return path.startswith(PACKAGE) or is_source(path) or path == VERSION_TEXT


def may_decide(path: str) -> bool:
    """Tell whether a change to this file of the repository can change an overlay at all.

    What has no extension may be a link or a submodule, which decide what else there is.
    """
    return is_laid_over(path) or not splitext(path)[1]


def is_compiled(path: str) -> bool:
    """Tell whether a measurement may import this file: a package's own tests it does not."""
    return path.endswith(".py") and not {"test", "tests"}.intersection(path.split("/")[:-1])


def is_mlx_generated(path: str) -> bool:
    """Tell whether MLX's generator makes this file of the package."""
    return path.startswith(_MLX_GENERATED)


def sources_of(path: str) -> tuple[str, ...]:
    """Name the files of the repository that decide this file of the package."""
    if is_mlx_generated(path):
        return (MLX_GENERATOR, MLX_SCHEMA)
    return (_COPIED_FROM.get(path, path),)


def mlx_key(files: Mapping[str, str]) -> str | None:
    """Name what MLX's generator makes, given the package's files and their blobs."""
    if MLX_GENERATOR not in files or MLX_SCHEMA not in files:
        return None
    return f"mlx:{files[MLX_GENERATOR]}:{files[MLX_SCHEMA]}"


def links(files: Mapping[str, FileEntry]) -> set[str]:
    """Give the blobs of all symbolic links, whose targets a plan has to know."""
    return {entry.blob_id for entry in files.values() if entry.mode == LINK}


def make_plan(files: Mapping[str, FileEntry], targets: Mapping[str, str]) -> Plan:
    """Plan the package of the tree ``files``; ``targets`` has the target of each link's blob."""
    tree = _Tree(files, targets)
    planned: dict[str, str] = {}
    submodules: set[str] = set()
    for path, entry in tree.below(PACKAGE):
        if entry.mode == SUBMODULE:
            submodules.add(f"{path}/")
        elif is_source(path) and not path.startswith(NATIVE):
            planned[path] = entry.blob_id
    for source, place in _COPIES.items():
        if source in files and files[source].mode != LINK:
            planned[place] = files[source].blob_id
    return Plan(planned, tuple(sorted(submodules)))


class _Tree:
    """A tree whose links can be followed; one that leads out of it leads nowhere."""

    def __init__(self, files: Mapping[str, FileEntry], targets: Mapping[str, str]) -> None:
        self._files = files
        self._targets = targets
        self._by_top: dict[str, list[str]] = {}
        for path in files:
            self._by_top.setdefault(path.partition("/")[0], []).append(path)

    def below(self, folder: str, depth: int = 0) -> list[tuple[str, FileEntry]]:
        """List what is below ``folder`` by its path from there, links followed."""
        found = []
        prefix = folder.rstrip("/") + "/"
        for path in self._by_top.get(prefix.partition("/")[0], []):
            if not path.startswith(prefix):
                continue
            name, entry = path[len(prefix) :], self._files[path]
            if entry.mode != LINK:
                found.append((name, entry))
            elif depth < _LINK_DEPTH:
                found += self._follow(name, path, depth)
        return found

    def _follow(self, name: str, link: str, depth: int) -> list[tuple[str, FileEntry]]:
        target = normpath(join(dirname(link), self._targets[self._files[link].blob_id]))
        entry = self._files.get(target)
        if entry is None:
            return [(f"{name}/{rest}", file) for rest, file in self.below(target, depth + 1)]
        if entry.mode == LINK:
            return self._follow(name, target, depth + 1) if depth < _LINK_DEPTH else []
        return [(name, entry)]
