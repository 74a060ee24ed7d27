"""What kind of figure a cell holds, of what counter, and where it was measured. Pure."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from bench.results.cells import reduce_repeats
from bench.results.schema import MEASUREMENTS, PROVENANCE

COLUMNS = (*MEASUREMENTS, *PROVENANCE)
"""The columns of every table analysed here: our own, and those of rows from elsewhere."""

_FIRST_WORD = re.compile("[,: ]")


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """Reduce rows to cells (:func:`bench.results.cells.reduce_repeats`) and say what they hold.

    Adds to what that adds:

    * ``kind``: ``delta`` (above a baseline), ``total`` (with it) or empty, of ``value``;
    * ``value``: the peak in bytes, above the baseline where that is known;
    * ``steady``: RSS after the last execution, on the same scale;
    * ``time_s``: seconds of the median execution, or of a whole export; nothing stands in;
    * ``place``: the device, or the machine; ``counter``: ``rss`` or ``footprint``.
    """
    return _derived(reduce_repeats(table))


def _derived(frame: pd.DataFrame) -> pd.DataFrame:
    delta, total = frame["peak_delta_bytes"], frame["peak_bytes"]
    kind = pd.Series("", index=frame.index, dtype="string")
    kind = kind.mask(total.notna(), "total").mask(delta.notna(), "delta")
    stated = frame["metric_kind"].fillna("")
    frame["kind"] = kind.mask((stated == "total") & total.notna(), "total")
    frame["value"] = delta.where(frame["kind"] == "delta", total)
    above = frame["baseline_bytes"].where(frame["kind"] == "delta", 0.0)
    frame["steady"] = frame["steady_bytes"] - above
    frame["time_s"] = frame["exec_median_s"].where(frame["method"] != "export", frame["total_s"])
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
