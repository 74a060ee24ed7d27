"""From rows (one per repeat) to cells: medians, how many repeats, what kind of figure it is."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from bench.results.schema import MEASUREMENTS, PROVENANCE
from bench.results.tables import IDENTITY

COLUMNS = (*MEASUREMENTS, *PROVENANCE)
"""The columns of every table analysed here: our own, and those of rows from elsewhere."""

KEY = (*IDENTITY, "device", "metric_kind", "measured_by", "source")
"""What makes two rows repeats of one measurement, wherever it was taken."""

NUMBERS = (
    *("peak_bytes", "peak_delta_bytes", "baseline_bytes", "load_bytes", "first_peak_bytes"),
    *("steady_bytes", "total_s", "exec_median_s", "pte_bytes", "planned_bytes"),
    *("delegates", "delegated_nodes", "undelegated_nodes"),
)

_FIRST_WORD = re.compile("[,: ]")


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """Reduce the repeats of each cell to their medians; the order of the rows is kept.

    Adds to the columns of ``table``:

    * ``n``: repeats that count: those that are ``ok``, or all where none is;
    * ``kind``: ``delta`` (above a baseline), ``total`` (with it) or empty, of ``value``;
    * ``value``: the peak in bytes, above the baseline where that is known;
    * ``steady``: RSS after the last execution, on the same scale;
    * ``time_s``: median execution, or the whole export, in seconds;
    * ``place``: the device, or the machine; ``counter``: ``rss`` or ``footprint``.

    ``status`` is ``ok`` if all repeats are, else the first other one, with its ``reason``.
    """
    table = table.reset_index(drop=True)
    keys = table[list(KEY)].replace("", pd.NA)
    group = keys.groupby(list(KEY), dropna=False, sort=False).ngroup()
    ok = table["status"] == "ok"
    counts = ok | ~ok.groupby(group).transform("any")
    numbers = table[list(NUMBERS)].astype("float64").where(counts)
    # A bad repeat first, so that its status and reason are those of the cell.
    order = ok.groupby(group).cumsum().where(ok, -1).sort_values(kind="stable").index
    reduced = table.loc[order].groupby(group.loc[order], sort=True).head(1)
    reduced = reduced.set_index(group.loc[reduced.index]).sort_index()
    reduced[list(NUMBERS)] = numbers.groupby(group).median()
    reduced["n"] = counts.groupby(group).sum()
    return _derived(reduced.reset_index(drop=True))


def _derived(frame: pd.DataFrame) -> pd.DataFrame:
    delta, total = frame["peak_delta_bytes"], frame["peak_bytes"]
    kind = pd.Series("", index=frame.index, dtype="string")
    kind = kind.mask(total.notna(), "total").mask(delta.notna(), "delta")
    stated = frame["metric_kind"].fillna("")
    frame["kind"] = kind.mask((stated == "total") & total.notna(), "total")
    frame["value"] = delta.where(frame["kind"] == "delta", total)
    above = frame["baseline_bytes"].where(frame["kind"] == "delta", 0.0)
    frame["steady"] = frame["steady_bytes"] - above
    frame["time_s"] = frame["exec_median_s"].fillna(frame["total_s"])
    frame["place"] = frame["device"].fillna(frame["machine"]).fillna("")
    # "footprint, sampled in an app" is the counter and the way it was read.
    measured = frame["measured_by"].fillna("rss")
    frame["counter"] = measured.map(
        {text: _FIRST_WORD.split(text)[0] for text in measured.unique()}
    )
    return frame


def name(cell: Any, without: tuple[str, ...] = ()) -> str:
    """Name a cell as a person does: ``small bf16 mlx encode``, its iterations if above one."""
    axes = ("model", "precision", "backend", "method")
    words = [text(getattr(cell, axis)) for axis in axes if axis not in without]
    return " ".join(word for word in words if word)


def text(value: Any) -> str:
    """Print a value of a table; '' for a missing one."""
    return "" if pd.isna(value) else str(value)
