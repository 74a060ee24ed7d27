"""The tables under a verdict."""

from __future__ import annotations

from bisect.evidence import before_and_after, signed
from bisect.metrics import metric_of
from typing import Any

import pytest

from tests.bisect.test_metrics import EXPORT
from tests.results.test_rows import record

ENCODE = {
    "delegates": 2,
    "delegated_nodes": 10,
    "undelegated_nodes": 3,
    "planned_bytes": 7_000_000,
    "undelegated_ops": {"aten.mm.default": 1, "aten.add.Tensor": 2},
}


def one(lower: int, **program: Any) -> dict[str, Any]:
    methods = {"encode": {**ENCODE, **program}}
    events = [
        {"event": "baseline", "rss_bytes": 50 * 10**6, "peak_bytes": 0},
        {"event": "phase", "name": "import", "seconds": 1, "rss_bytes": 0, "peak_bytes": 49990000},
        {"event": "phase", "name": "lower", "seconds": 1, "rss_bytes": 0, "peak_bytes": lower},
        {"event": "result", "peak_bytes": lower, "output_sha": None},
    ]
    return record(
        cells=[EXPORT], events=events, total_s=12.0,
        program={"pte_bytes": 25_000_000, "methods": methods},
    )  # fmt: skip


def test_what_changed_stands_in_tables_and_what_did_not_in_a_line() -> None:
    after = one(300_000_000, delegates=1, undelegated_ops={"aten.mm.default": 4})
    lines = before_and_after([one(150_000_000)], [after], metric_of("export_peak"))
    assert lines == [
        "| peak MB in phase | before | after | change |",
        "| --- | ---: | ---: | ---: |",
        "| import | 0.0 | 0.0 | 0.0 |",
        "| lower | 100.0 | 250.0 | +150.0 |",
        "",
        "| what else changed | before | after |",
        "| --- | ---: | ---: |",
        "| delegates | 2 | 1 |",
        "| aten.add.Tensor outside | 2 | 0 |",
        "| aten.mm.default outside | 1 | 4 |",
        "",
        "The same on both sides: seconds of the process 12 s, program file 25.000 MB, planned "
        "buffers 7.000 MB, nodes in delegates 10, operators outside 3.",
    ]


def test_tables_fit_a_terminal() -> None:
    many = {f"aten.some_long_operator_{i}.default": i for i in range(60)}
    lines = before_and_after(
        [one(150_000_000)], [one(300_000_000, undelegated_ops=many)], metric_of("export_peak")
    )
    assert max(len(line) for line in lines if line.startswith("|")) < 80


def test_the_median_run_speaks_for_its_side() -> None:
    wild = [one(300_000_000), one(900_000_000), one(301_000_000)]
    lines = before_and_after([one(150_000_000)], wild, metric_of("export_peak"))
    assert "| lower | 100.0 | 251.0 | +151.0 |" in lines


def test_a_side_that_gave_nothing_has_no_tables() -> None:
    failed = record(cells=[EXPORT], status="failed")
    assert before_and_after([failed], [one(1)], metric_of("export_peak")) == []
    assert before_and_after([one(1)], [], metric_of("export_peak")) == []


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0.0"), (-40, "0.0"), (2.5e6, "+2.5"), (-2.5e6, "-2.5")]
)
def test_what_rounds_to_nothing_has_no_sign(value: float, text: str) -> None:
    assert signed(value) == text
