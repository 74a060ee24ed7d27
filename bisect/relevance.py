"""Which commits can matter: those that touch a file that the measured process read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

# Where the build copies a file of the repository to another place in the package.
_COPIED = {
    "exir/_serialize/program.fbs": "schema/program.fbs",
    "exir/_serialize/scalar_type.fbs": "schema/scalar_type.fbs",
}
# What the build generates, and from what.
_MLX = "backends/mlx/serialization/"
_GENERATED = {
    f"{_MLX}_generated": (f"{_MLX}generate.py", f"{_MLX}schema.fbs"),
    f"{_MLX}mlx_graph_schema.py": (f"{_MLX}generate.py", f"{_MLX}schema.fbs"),
    "backends/mlx/_generated_inspector.py": (f"{_MLX}generate.py", f"{_MLX}schema.fbs"),
}
# Read by every process, and different at every commit: the version says nothing.
_IGNORED = frozenset({"version.py"})


def files_read(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the repository paths of all files of the package that the processes read.

    The program's own export counts too: a run depends on what wrote its program.
    """
    found: set[str] = set()
    for record in records:
        events = [*record["events"], *((record.get("program") or {}).get("trace") or [])]
        for event in events:
            if event.get("event") == "trace":
                found.update(event["files"])
    return {path for name in found - _IGNORED for path in _sources(name)}


def _sources(name: str) -> tuple[str, ...]:
    for prefix, sources in _GENERATED.items():
        if name.startswith(prefix):
            return sources
    return (_COPIED.get(name, name),)


def relevant(
    changes: Mapping[str, Sequence[str]], commits: Sequence[str], read: Collection[str]
) -> list[int]:
    """Return the positions (from 1) of the commits that change a file that was read.

    A change to the links of ``src/executorch`` decides which files there are: it counts too.

    Args:
        changes: paths changed by each commit.
        commits: the candidates, oldest first.
        read: repository paths.
    """
    return [
        number
        for number, sha in enumerate(commits, 1)
        if any(path in read or path.startswith("src/executorch/") for path in changes.get(sha, ()))
    ]
