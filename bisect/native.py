"""What a verdict may say of native code that was not built: a rough rule, stated as one. Pure.

An overlay puts a commit's Python over a release's native libraries. That is faithful where the
process loads none of them, and for what is not changed in the range where it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

_SOURCES = {
    "custom_ops_aot": ("extension/llm/custom_ops/",),
    "quantized_ops_aot": ("kernels/quantized/", "kernels/portable/cpu/"),
}
"""Where the sources of a library lie, by a part of its name; of any other: everywhere."""
_NATIVE = frozenset({".c", ".cc", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".mm", ".metal", ".s"})


def mapped(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the native libraries of the package that exporters had mapped at their end."""
    return tuple(sorted({name for record in records for name in _mapped(record) or ()}))


def _mapped(record: Mapping[str, Any]) -> list[str] | None:
    """Return what the exporter of a record had mapped; None where nobody could see that.

    Libraries are seen in ``/proc``, which only Linux has.
    """
    exports = record["cells"][0]["method"] == "export"
    events = record["events"] if exports else (record.get("program") or {}).get("trace") or []
    traces = [event["native"] for event in events if event.get("event") == "trace"]
    if not traces or not str(record.get("machine", "")).startswith("Linux"):
        return None
    return [name for native in traces for name in native]


def touching(
    libraries: Sequence[str], changes: Mapping[str, Sequence[str]], commits: Sequence[str]
) -> list[str]:
    """Return the commits that change native sources of these libraries, by their folders."""
    folders: tuple[str, ...] = ()
    for library in libraries:
        of_this = next((f for part, f in _SOURCES.items() if part in library), ("",))
        folders += of_this
    return [
        sha
        for sha in commits
        if any(
            PurePosixPath(path).suffix in _NATIVE and path.startswith(folders)
            for path in changes.get(sha, ())
        )
    ]


def note(
    records: Sequence[Mapping[str, Any]],
    changes: Mapping[str, Sequence[str]],
    commits: Sequence[str],
    runtime: str,
) -> str:
    """Say how far the native code of what was measured is the commits' own.

    Args:
        records: the measurements.
        changes: paths changed by each commit.
        commits: full shas of the candidates; none for releases.
        runtime: the revision that ran the programs; empty for an export.

    Returns:
        one or two sentences; nothing where no exporter was an overlay, or none came to its end.
    """
    rungs = {r.get("exporter_rung") or r.get("rung") for r in records if r["status"] == "ok"}
    if "overlay" not in rungs:
        return ""
    said = []
    if any(_mapped(record) is not None for record in records):
        said.append(_exporter(mapped(records), changes, commits))
    if runtime:
        whose = "commits'" if commits else "other releases'"
        said.append(
            f"Programs ran on the native code of {runtime}'s wheel; the {whose} own native code "
            "was not built, and a change in it can't show here."
        )
    return " ".join(said)


def _exporter(
    libraries: tuple[str, ...], changes: Mapping[str, Sequence[str]], commits: Sequence[str]
) -> str:
    if not libraries:
        return (
            "No native library of ExecuTorch was loaded by the export: nothing that takes part in "
            "it is missing from an overlay of Python."
        )
    names = ", ".join(PurePosixPath(library).name for library in libraries)
    loaded = f"The export loaded {names}, as the release built it"
    if not commits:
        return f"Suspect: {loaded[0].lower()}{loaded[1:]}, not each exporter's own."
    touched = touching(libraries, changes, commits)
    if not touched:
        return f"{loaded}; no commit of the range changes its native sources."
    return (
        f"Suspect: {loaded[0].lower()}{loaded[1:]}; {len(touched)} of {len(commits)} commits "
        f"change its native sources ({', '.join(sha[:10] for sha in touched[:5])}"
        f"{' ...' if len(touched) > 5 else ''}), which was not built."
    )
