"""Which commits can matter: those that touch a file that the measured process read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bench.environment.overlay_plan import PACKAGE, VERSION_FILE, may_decide, sources_of


def files_read(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the repository paths of all files of the package that the processes read.

    The program's own export counts too: a run depends on what wrote its program. The version,
    read by every process and different at every commit, says nothing.
    """
    read = {name for event in _traces(records) for name in event["files"]} - {VERSION_FILE}
    return {path for name in read for path in sources_of(name)}


def native_mapped(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the native libraries of the package that the processes mapped.

    Of these no file of the repository is known, so no commit is known to matter to them.
    """
    return {name for event in _traces(records) for name in event["native"]}


def relevant(
    changes: Mapping[str, Sequence[str]], commits: Sequence[str], read: Collection[str]
) -> list[int]:
    """Return the positions (from 1) of the commits that change a file that was read.

    Args:
        changes: paths changed by each commit.
        commits: the candidates, oldest first.
        read: repository paths.
    """
    return [number for number, sha in enumerate(commits, 1) if touched(changes.get(sha, ()), read)]


def alike(changes: Mapping[str, Sequence[str]], commits: Sequence[str]) -> list[int]:
    """Return the positions (from 1) of the commits that build what the one before them built.

    Their overlays have equal build keys, so they can't have changed a thing: none of what they
    change is part of an overlay. The arguments are those of :func:`relevant`.
    """
    return [
        number
        for number, sha in enumerate(commits, 1)
        if not any(may_decide(path) for path in changes.get(sha, ()))
    ]


def touched(paths: Iterable[str], read: Collection[str]) -> list[str]:
    """Return those of the changed ``paths`` that matter to who read ``read``.

    A change to the links that lay out the package decides which files there are: it counts too.
    """
    return [path for path in paths if path in read or path.startswith(PACKAGE)]


def _traces(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        event
        for record in records
        for event in [*record["events"], *((record.get("program") or {}).get("trace") or [])]
        if event.get("event") == "trace"
    ]
