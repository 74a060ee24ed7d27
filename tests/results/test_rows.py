from typing import Any

import pytest

from bench.results.rows import LOWER_BOUND, crosscheck, measurement_rows, phase_rows, timeline_rows

CELL = {
    "model": "tiny",
    "precision": "fp32",
    "backend": "xnnpack",
    "method": "encode",
    "samples": 480000,
    "runner": "python",
    "load_mode": "mmap",
    "allocator": "default",
    "exporter": "v1.4.1",
    "runtime": "v1.4.1",
    "iterations": 1,
    "key": "k1",
}
PROGRAM = {
    "pte_bytes": 100,
    "stored_dtype": "float32",
    "compute_dtype": "float32",
    "methods": {
        "encode": {
            "delegates": 2,
            "delegated_nodes": 10,
            "undelegated_nodes": 3,
            "planned_bytes": 7,
            "undelegated_ops": {"aten.mm.default": 1, "aten.add.Tensor": 2},
        },
        "decode": {
            "delegates": 1,
            "delegated_nodes": 5,
            "undelegated_nodes": 1,
            "planned_bytes": 1,
            "undelegated_ops": {"aten.add.Tensor": 1},
        },
    },
}


def mark(iterations: int, peak: int) -> dict[str, Any]:
    return {
        "event": "mark",
        "iterations": iterations,
        "peak_bytes": peak,
        "rss_bytes": peak - 1,
        "first_peak_bytes": peak,
        "load_rss_bytes": 60,
        "exec_median_s": 0.5,
    }


def record(**changes: Any) -> dict[str, Any]:
    return {
        "cells": [CELL, {**CELL, "iterations": 5, "key": "k5"}],
        "repeat": 0,
        "status": "ok",
        "reason": "",
        "total_s": 3.0,
        "program": PROGRAM,
        "events": [
            {"event": "baseline", "rss_bytes": 50, "peak_bytes": 51},
            {"event": "phase", "name": "first", "seconds": 1.0, "rss_bytes": 90, "peak_bytes": 100},
            mark(1, 100),
            mark(5, 110),
            {"event": "result", "peak_bytes": 110, "output_sha": "abc", "load_mode": "mmap"},
        ],
        **changes,
    }


def test_one_row_per_mark_of_the_process() -> None:
    one, five = measurement_rows(record())
    assert (one["iterations"], one["peak_bytes"], one["peak_delta_bytes"]) == (1, 100, 50)
    assert (five["iterations"], five["peak_bytes"], five["steady_bytes"]) == (5, 110, 109)
    assert one["output_sha"] == five["output_sha"] == "abc"
    assert (one["delegates"], one["planned_bytes"]) == (2, 7)
    assert one["undelegated_ops"] == "aten.add.Tensor:2 aten.mm.default:1"


def test_a_peak_that_was_only_sampled_is_noted_as_a_lower_bound() -> None:
    events = [mark(1, 100) | {"exact": False}, mark(5, 110) | {"exact": True}]
    one, five = measurement_rows(record(events=events))
    assert (one["status"], one["notes"]) == ("ok", LOWER_BOUND)
    assert five["notes"] is None


def test_of_a_process_that_ended_unseen_the_peak_is_missing() -> None:
    unseen = mark(1, 100) | {"exact": False, "peak_bytes": None, "first_peak_bytes": None}
    for cap in (None, 105):
        (one, _) = measurement_rows(record(events=[unseen], memory_cap=cap))
        assert (one["status"], one["peak_bytes"], one["exec_median_s"]) == ("ok", None, 0.5)


def test_the_threads_are_those_of_the_baseline() -> None:
    assert {row["threads"] for row in measurement_rows(record())} == {None}
    events = [{"event": "baseline", "rss_bytes": 50, "peak_bytes": 51, "threads": 2}]
    rows = measurement_rows(record(events=[*events, *record()["events"][1:]]))
    assert {row["threads"] for row in rows} == {2}
    (row,) = measurement_rows(record(cells=[{**CELL, "runner": "native"}], events=events))
    assert row["threads"] is None


def test_an_export_sums_over_its_methods() -> None:
    cell = {**CELL, "method": "export", "iterations": None, "runtime": None, "load_mode": ""}
    (row,) = measurement_rows(record(cells=[cell]))
    assert (row["delegates"], row["delegated_nodes"], row["undelegated_nodes"]) == (3, 15, 4)
    assert row["undelegated_ops"] == "aten.add.Tensor:3 aten.mm.default:1"
    assert (row["peak_bytes"], row["peak_delta_bytes"]) == (110, 60)


def test_a_mark_that_was_reached_counts_though_the_process_timed_out_later() -> None:
    events = record()["events"][:3]
    one, five = measurement_rows(record(status="timeout", reason="slow", events=events))
    assert (one["status"], one["reason"], one["peak_bytes"]) == ("ok", "", 100)
    assert (five["status"], five["reason"]) == ("timeout", "slow")


def test_over_memory_is_censored_at_the_cap() -> None:
    events = record()["events"][:2]
    rows = measurement_rows(
        record(status="over_memory", reason="cap", events=events, memory_cap=105)
    )
    assert [row["peak_bytes"] for row in rows] == [105, 105]
    seen = measurement_rows(record(status="over_memory", reason="cap", events=events))
    assert [row["peak_bytes"] for row in seen] == [100, 100]


def test_the_cap_is_no_bound_of_a_worker_whose_children_took_the_rest() -> None:
    events = record()["events"][:2]
    alone = record(status="over_memory", reason="group", events=events, memory_cap=1000)
    (row, _) = measurement_rows(alone | {"sampled_peak_bytes": 200})
    assert row["peak_bytes"] == 200
    (row, _) = measurement_rows(alone | {"sampled_peak_bytes": 1001})
    assert row["peak_bytes"] == 1000


def test_no_mark_counts_where_the_output_is_wrong() -> None:
    error = {"event": "error", "kind": "output", "type": "OutputError", "reason": "NaN"}
    events = [*record()["events"][:3], error]
    rows = measurement_rows(record(status="failed", reason="NaN", events=events))
    assert [row["status"] for row in rows] == ["failed", "failed"]


def test_the_peak_of_the_imports_is_not_the_peak() -> None:
    imports = {"event": "phase", "name": "import", "seconds": 1, "rss_bytes": 50, "peak_bytes": 500}
    broken = record(status="failed", reason="x", events=[imports, *record()["events"][:2]])
    assert [row["peak_bytes"] for row in measurement_rows(broken)] == [100, 100]


def test_a_mark_above_the_cap_is_not_ok() -> None:
    one, five = measurement_rows(record(status="over_memory", reason="cap", memory_cap=105))
    assert (one["status"], five["status"]) == ("ok", "over_memory")


def test_nothing_started_gives_rows_all_the_same() -> None:
    rows = measurement_rows(record(status="untestable", reason="no wheel", events=[], program=None))
    assert [row["status"] for row in rows] == ["untestable"] * 2
    assert {row["peak_bytes"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("rusage", "sampled", "verdict"),
    [
        (100, 90, "ok"),
        (50, 101, "ok"),
        (102, 90, "rusage saw 102 bytes"),
        (90, 120, "sampled saw 120 bytes"),
    ],
)
def test_crosscheck(rusage: int, sampled: int, verdict: str) -> None:
    seen = {"rusage_peak_bytes": rusage, "sampled_peak_bytes": sampled}
    assert crosscheck(seen, 100) == verdict


@pytest.mark.parametrize("source", ["phys_footprint", "phys_footprint-cumulative"])
def test_rss_does_not_contradict_a_footprint_but_is_told_beside_it(source: str) -> None:
    start = {"event": "start", "peak_source": source}
    seen = {"rusage_peak_bytes": 300, "sampled_peak_bytes": 250, "events": [start]}
    assert crosscheck(seen, 100) == "RSS reached 300 bytes beside the footprint"
    assert crosscheck({"events": [start]}, 100) == "ok"


def test_phases() -> None:
    (row,) = phase_rows(record())
    assert (row["phase"], row["seconds"], row["peak_bytes"], row["cell_key"]) == (
        "first",
        1.0,
        100,
        "k5",
    )


def exported(**changes: Any) -> dict[str, Any]:
    cell = {**CELL, "method": "export", "iterations": None, "runtime": None, "load_mode": ""}
    found = {"constant_bytes": 80, "duplicate_bytes": 30, "notes": ["a: twice", "b: not delegated"]}
    result = {"event": "result", "peak_bytes": 110, "total_s": 2.5, **PROGRAM, "program": found}
    events = [*record()["events"][:2], result]
    return record(cells=[cell], **{"events": events, "program": {**result}, **changes})


def test_the_seconds_of_an_export_are_without_its_inspection() -> None:
    (row,) = measurement_rows(exported())
    assert row["total_s"] == 2.5
    assert (row["constant_bytes"], row["duplicate_bytes"]) == (80, 30)
    assert row["notes"] == "a: twice; b: not delegated"


def test_a_refused_program_keeps_what_was_measured() -> None:
    (row,) = measurement_rows(exported(program=None, status="failed", reason="lacks w"))
    assert (row["status"], row["reason"]) == ("failed", "lacks w")
    assert (row["peak_bytes"], row["pte_bytes"], row["delegates"]) == (110, 100, 3)


def test_a_step_is_a_row_under_its_phase() -> None:
    step = {"event": "step", "phase": "lower", "name": "repack", "calls": 24, "seconds": 5.5}
    step |= {"peak_bytes": 99, "raised_bytes": 40}
    phase, row = phase_rows(record(events=[*record()["events"], step]))
    assert phase.get("calls") is None
    assert row["phase"] == "lower/repack"
    assert (row["calls"], row["seconds"], row["peak_bytes"], row["raised_bytes"]) == (
        24,
        5.5,
        99,
        40,
    )


def test_what_a_program_was_compared_with_is_a_column_or_a_note() -> None:
    def row(check: dict[str, Any]) -> dict[str, Any]:
        return measurement_rows(exported(program={**PROGRAM, "check": check}))[0]

    assert row({"errors": {"encode": 2e-7, "decode": 4e-6}})["check_error"] == "4.0e-06"
    assert row({})["check_error"] == ""
    assert row({"note": "no runtime"})["notes"] == "not compared with the model: no runtime"


def test_each_moment_of_a_timeline_has_the_phase_it_was_in() -> None:
    events = [
        {"event": "enter", "t": 0.1, "phase": "import"},
        {"event": "enter", "t": 0.5, "phase": "loop"},
    ]
    points = [[0.05, 10, 4], [0.1, 20, None], [0.4999, 30, 5], [7.0, 40, 5]]
    rows = timeline_rows(record(events=events, timeline=points))
    assert [row["phase"] for row in rows] == ["start", "import", "import", "loop"]
    assert [row["t_s"] for row in rows] == [0.05, 0.1, 0.4999, 7.0]
    assert rows[1] | {"rss_bytes": 20, "file_bytes": None} == rows[1]
    assert {row["cell_key"] for row in rows} == {"k5"}  # a process goes by its last cell
    assert timeline_rows(record()) == []
