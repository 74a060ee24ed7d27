"""Agrees, differs, or can't be said."""

import pytest

from bench.analysis.cells import COLUMNS
from bench.analysis.compare import compare
from bench.analysis.figures import JUDGED
from bench.errors import Exit
from bench.rerun.verdict import OUTPUTS, figures, judge
from bench.results.rows import measurement_rows
from bench.results.tables import frame
from tests.results.test_rows import record

PEAK = 100_000_000


def verdict(otherwise=(), **changes):
    (row, *_) = measurement_rows(record())
    row |= {"machine": "m", "torch": "t", "output_sha": "abc", "peak_delta_bytes": PEAK}
    before, after = (frame([each], COLUMNS) for each in (row, {**row, **changes}))
    comparison = compare(before, after, force=(OUTPUTS,))
    return comparison, judge(comparison, JUDGED, otherwise)


def peak(factor: float) -> dict[str, int]:
    return {"peak_delta_bytes": round(PEAK * factor)}


@pytest.mark.parametrize(
    ("changes", "otherwise", "code", "said"),
    [
        ({}, (), Exit.OK, "agrees within noise: peak "),
        (peak(1.01), (), Exit.OK, "(+1.0%), noise ±2.0%"),
        (peak(1.01), ("other packages: a 1 -> 2",), Exit.OK, "(other packages: a 1 -> 2)"),
        (peak(1.2), (), Exit.FOUND, "differs: peak "),
        (peak(0.8), (), Exit.FOUND, "(-20%)"),
        (peak(1.2), ("other packages: a 1 -> 2",), Exit.UNDECIDED, "not all is as it was"),
        ({"output_sha": "xyz"}, (), Exit.FOUND, "outputs abc against xyz"),
        ({"machine": "n"}, (), Exit.UNDECIDED, "undecided: machine m against n"),
        ({"torch": "u"}, (), Exit.UNDECIDED, "torch build t against u"),
        ({"status": "untestable"}, (), Exit.UNDECIDED, "untestable: no figure to compare"),
        ({"status": "failed", "reason": "it broke"}, (), Exit.FOUND, "failed: it broke"),
    ],
)
def test_a_verdict(changes, otherwise, code, said) -> None:
    found = verdict(otherwise, **changes)[1]
    assert found.code == code
    assert said in found.text
    assert "\n" not in found.text


def test_two_rows_that_are_no_pair_are_undecided() -> None:
    assert verdict(method="decode")[1].code == Exit.UNDECIDED


def test_both_values_of_each_metric_are_shown() -> None:
    comparison = verdict(**peak(1.1))[0]
    grid = figures(comparison.lines[0])
    shown = {row[0]: row[1:] for row in grid.rows}
    assert shown["peak"][2] == "+10%"
    assert shown["peak"][0] != shown["peak"][1]
    assert {"steady", "time"} <= set(shown)
