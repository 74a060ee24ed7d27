"""What a verdict says of native code that was not built."""

from __future__ import annotations

from bisect.native import mapped, note, touching
from typing import Any

import pytest

from tests.bisect.test_metrics import EXPORT
from tests.results.test_rows import CELL, PROGRAM, record

CUSTOM = "extension/llm/custom_ops/libcustom_ops_aot_lib.so"
QUANTIZED = "kernels/quantized/libquantized_ops_aot_lib.so"
CHANGES = {
    "a" * 40: ("docs/x.md", "extension/llm/custom_ops/custom_ops.py"),
    "b" * 40: ("extension/llm/custom_ops/op_sdpa.cpp",),
    "c" * 40: ("runtime/core/error.h",),
}
COMMITS = list(CHANGES)
FAITHFUL = (
    "No native library of ExecuTorch was loaded by the export: nothing that takes part in it is "
    "missing from an overlay of Python."
)


def trace(*native: str) -> dict[str, Any]:
    return {"event": "trace", "files": [], "native": list(native)}


def export(*native: str, **changes: Any) -> dict[str, Any]:
    changes = {"rung": "overlay", "program": PROGRAM, "machine": "Linux x86_64", **changes}
    return record(**{"cells": [EXPORT], "events": [trace(*native)], **changes})


def run(*native: str) -> dict[str, Any]:
    """Make a run's record: its process maps the runtime, its program's export maps `native`."""
    program = {**PROGRAM, "trace": [trace(*native)]}
    own = trace("extension/pybindings/_portable_lib.so")
    return record(
        cells=[CELL], events=[own], program=program, rung="wheel", exporter_rung="overlay",
        machine="Linux x86_64",
    )  # fmt: skip


def test_what_an_exporter_mapped_not_what_the_runtime_did() -> None:
    assert mapped([export(CUSTOM), export()]) == (CUSTOM,)
    assert mapped([run()]) == ()
    assert mapped([run(QUANTIZED)]) == (QUANTIZED,)


@pytest.mark.parametrize(
    ("libraries", "touched"),
    [((CUSTOM,), "b"), ((QUANTIZED,), ""), (("lib/libother.so",), "bc"), ((CUSTOM, "x.so"), "bc")],
)
def test_native_sources_by_the_librarys_folders(libraries: tuple[str, ...], touched: str) -> None:
    assert touching(libraries, CHANGES, COMMITS) == [letter * 40 for letter in touched]


@pytest.mark.parametrize(
    ("records", "commits", "runtime", "words"),
    [
        ([export()], COMMITS, "", FAITHFUL),
        (
            [export(CUSTOM)],
            COMMITS,
            "",
            "Suspect: the export loaded libcustom_ops_aot_lib.so, as the release built it; 1 of 3 "
            "commits change its native sources (bbbbbbbbbb), which was not built.",
        ),
        (
            [export(QUANTIZED)],
            COMMITS,
            "",
            "The export loaded libquantized_ops_aot_lib.so, as the release built it; no commit of "
            "the range changes its native sources.",
        ),
        (
            [export(CUSTOM)],
            [],
            "",
            "Suspect: the export loaded libcustom_ops_aot_lib.so, as the release built it, not "
            "each exporter's own.",
        ),
        (
            [run()],
            COMMITS,
            "v1.4.1",
            f"{FAITHFUL} Programs ran on the native code of v1.4.1's wheel; the commits' own "
            "native code was not built, and a change in it can't show here.",
        ),
        ([export(rung="source")], COMMITS, "", ""),
        ([export(status="failed", events=[])], COMMITS, "", ""),
        ([export(machine="Darwin arm64")], COMMITS, "", ""),  # where nobody could see
        ([], COMMITS, "", ""),
    ],
)
def test_the_note(
    records: list[dict[str, Any]], commits: list[str], runtime: str, words: str
) -> None:
    assert note(records, CHANGES, commits, runtime) == words
