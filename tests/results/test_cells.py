import pandas as pd
import pytest

from bench.results.cells import KEY, as_list, reduce_repeats
from bench.results.schema import PROVENANCE
from tests.rows import MB, row, table


def reduced(*rows):
    return reduce_repeats(table(*rows))


def peaks(*sizes, **changes):
    """Repeats of one cell, by their peaks above the baseline in MB."""
    return [row(repeat=n, peak_delta_bytes=size * MB, **changes) for n, size in enumerate(sizes)]


def test_the_median_of_the_repeats_with_their_range() -> None:
    (cell,) = reduced(*peaks(160, 100, 130)).to_dict("records")
    assert cell["peak_delta_bytes"] == 130 * MB
    assert (cell["lowest"], cell["highest"]) == (100 * MB, 160 * MB)
    assert (cell["n"], cell["repeats"], cell["status"]) == (3, 3, "ok")


def test_a_repeat_that_failed_does_not_count_but_is_told() -> None:
    good, bad, last = peaks(100, 900, 120)
    bad |= {"status": "timeout", "reason": "over 1 s"}
    (cell,) = reduced(good, bad, last).to_dict("records")
    assert cell["peak_delta_bytes"] == 110 * MB
    assert (cell["n"], cell["repeats"]) == (2, 3)
    assert (cell["status"], cell["reason"]) == ("timeout", "over 1 s")


def test_where_none_is_ok_all_count_and_the_first_reason_is_given() -> None:
    rows = peaks(100, 120, status="failed")
    rows[0] |= {"reason": "one"}
    rows[1] |= {"reason": "two"}
    (cell,) = reduced(*rows).to_dict("records")
    assert (cell["peak_delta_bytes"], cell["n"], cell["reason"]) == (110 * MB, 2, "one")


@pytest.mark.parametrize("column", KEY)
def test_rows_are_repeats_only_if_all_of_the_key_agrees(column: str) -> None:
    assert len(reduced(row(**{column: "one"}), row(**{column: "two"}))) == 2


def test_a_key_that_is_empty_is_one_that_is_missing() -> None:
    assert len(reduced(row(machine=""), row(machine=None, repeat=1))) == 1


def test_the_order_of_the_cells_is_kept() -> None:
    cells = reduced(row(model="small"), row(model="base"), row(model="small", repeat=1))
    assert list(cells["model"]) == ["small", "base"]


def test_a_table_without_provenance_and_one_without_rows() -> None:
    lacking = table(row()).drop(columns=[column.name for column in PROVENANCE])
    assert len(reduce_repeats(lacking)) == 1
    assert reduce_repeats(lacking.head(0)).empty


def test_a_list_has_none_where_a_value_is_missing() -> None:
    assert as_list(pd.Series([1, None], dtype="Int64")) == [1, None]
    assert as_list(pd.Series(["a", None], dtype="string")) == ["a", None]


def test_a_cell_that_was_ended_once_has_the_largest_of_those_peaks_as_its_bound() -> None:
    rows = peaks(100, 8000, 100, 9000)
    for bad in rows[1::2]:
        bad |= {"status": "over_memory", "reason": "cap"}
    other = row(model="base", peak_delta_bytes=7 * MB)
    cell, untouched = reduced(*rows, other).to_dict("records")
    assert (cell["status"], cell["n"], cell["repeats"]) == ("over_memory", 2, 4)
    assert (cell["peak_delta_bytes"], cell["highest"]) == (9000 * MB, 9000 * MB)
    assert (untouched["peak_delta_bytes"], untouched["n"]) == (7 * MB, 1)
