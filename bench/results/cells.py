"""From rows, one per repeat, to cells: the medians of the repeats that count. Pure.

Everything works on whole columns: a hundred thousand rows take a second.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from bench.results.schema import PROVENANCE
from bench.results.tables import IDENTITY

KEY = (*IDENTITY, *(column.name for column in PROVENANCE))
"""What makes two rows repeats of one measurement, wherever it was taken."""

NUMBERS = (
    *("baseline_bytes", "load_bytes", "first_peak_bytes", "peak_bytes", "peak_delta_bytes"),
    *("steady_bytes", "total_s", "exec_median_s", "pte_bytes", "planned_bytes"),
    *("delegates", "delegated_nodes", "undelegated_nodes"),
)
"""Columns reduced to the median of a cell's repeats."""


def reduce_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Reduce rows of ``measurements.csv`` to one per cell; the order of the cells is kept.

    The repeats that are ``ok`` count, or all where none is. Each of :data:`NUMBERS` becomes the
    median of those; all else is of the cell's first repeat, but ``status`` is ``ok`` only if
    all repeats are, else the first other one, with its ``reason``. Of a cell that is
    ``over_memory`` the repeats that are count instead, and the largest of their peaks is its
    bound. Columns added:

    * ``n``: repeats that count; ``repeats``: all of them;
    * ``lowest``, ``highest``: of the peaks above the baseline of those that count, in bytes.
    """
    table = table.reindex(columns=list(dict.fromkeys([*table.columns, *KEY])))
    table = table.reset_index(drop=True)
    group = table[list(KEY)].replace("", pd.NA).groupby(list(KEY), dropna=False, sort=False)
    number = group.ngroup()
    ok = table["status"].eq("ok").fillna(False).astype(bool)
    counts = ok | ~ok.groupby(number).transform("any")
    cells = table[~number.duplicated()].set_axis(range(int(number.max() + 1) if len(table) else 0))
    numbers = table[list(NUMBERS)].astype("float64").where(counts)
    bad = table.loc[~ok, ["status", "reason"]].set_axis(number[~ok])
    bad = bad[~bad.index.duplicated()]
    cells.loc[bad.index, ["status", "reason"]] = bad
    numbers, counts = _bounds(table, numbers, counts, number, cells["status"])
    cells[list(NUMBERS)] = numbers.groupby(number).median()
    peaks = numbers["peak_delta_bytes"].groupby(number)
    return cells.assign(
        n=counts.groupby(number).sum(),
        repeats=number.value_counts(),
        lowest=peaks.min(),
        highest=peaks.max(),
    )


_PEAKS = ["first_peak_bytes", "peak_bytes", "peak_delta_bytes"]


def _bounds(
    table: pd.DataFrame,
    numbers: pd.DataFrame,
    counts: pd.Series[bool],
    number: pd.Series[int],
    status: pd.Series[str],
) -> tuple[pd.DataFrame, pd.Series[bool]]:
    """Let of each cell that is over memory the repeats count that are, at their largest peak."""
    over = number.map(status.eq("over_memory").fillna(False)).astype(bool)
    if not over.any():
        return numbers, counts
    ended = table["status"].eq("over_memory").fillna(False).astype(bool)
    counts = counts.where(~over, ended)
    numbers = table[list(NUMBERS)].astype("float64").where(counts)
    largest = numbers[_PEAKS].groupby(number).transform("max").where(counts)
    numbers[_PEAKS] = numbers[_PEAKS].mask(over, largest)
    return numbers, counts


def as_list(column: pd.Series[Any]) -> list[Any]:
    """Return a column's values, None for a missing one: a list is fast to go through."""
    return list(column.astype("object").where(column.notna(), None))
