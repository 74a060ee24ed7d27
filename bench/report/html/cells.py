"""Measurements reduced to one line per cell, with what the page needs to show and group them. Pure.

Everything works on whole columns: a hundred thousand rows take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench.order import ORDER
from bench.report.table import AXES
from bench.results.cells import NUMBERS, as_list, reduce_repeats
from bench.results.reproduce import ASKED, command
from bench.results.schema import PROVENANCE
from bench.results.tables import in_order

TEXTS = (
    *("model", "precision", "backend", "method", "exporter", "runtime", "runner", "allocator"),
    *("load_mode", "stored_dtype", "compute_dtype", "rung", "exporter_rung", "why", "torch"),
    *("machine", "crosscheck", "undelegated_ops", "output_sha"),
    *(column.name for column in PROVENANCE),
)
"""Columns of text, the same for all repeats of a cell."""
_AXES = (*AXES, "device", "metric_kind", "measured_by")
_COUNTS = ("iterations", "samples", "max_tokens", "seed")
_PROCESS = (
    *("model", "precision", "backend", "method", "exporter", "runtime", "samples", "max_tokens"),
    *("seed", "runner", "allocator", "load_mode", "machine", "build_key", "exporter_build_key"),
    *("device", "metric_kind", "measured_by", "source"),
)
"""What the cells of one process share: all but the number of executions."""
_REVISIONS = ("exporter", "runtime", "build_key", "exporter_build_key")
_TOP = ("method", "backend", "exporter", "runtime")
"""Axes at the top of the matrix; the others are at its side."""


@dataclass(frozen=True)
class Cells:
    """The cells of a report.

    Attributes:
        table: one row per cell, in the order of a person. Besides :data:`NUMBERS` and
            :data:`TEXTS`: ``iterations``, ``samples``, ``max_tokens``, ``seed``, ``cell_key``,
            ``status``, ``reason``, ``repeats`` (how many), ``lowest`` and ``highest`` (of the
            peaks above the baseline, bytes), ``revision``, ``name``, ``side`` and ``top`` (labels
            in the matrix), ``process`` and ``pair`` (equal numbers: one process; one cell but for
            the revision), ``last`` (most executions of its process) and ``command``.
        revisions: each revision once, in the order it was measured.

    """

    table: pd.DataFrame
    revisions: tuple[str, ...]


def reduce_cells(rows: pd.DataFrame) -> Cells:
    """Reduce rows of ``measurements.csv`` to one per cell: medians of the repeats that are ok.

    Where no repeat of a cell is ok, the median of what they had got to.
    """
    revisions = tuple(dict.fromkeys(_revisions(rows)))
    cells = reduce_repeats(in_order(rows))
    kept = (*TEXTS, *_COUNTS, *NUMBERS, "cell_key", "status", "reason", "repeats")
    table = cells[[*kept, "lowest", "highest"]].copy()
    table["reason"] = table["reason"].where(table["status"] != "ok").fillna("")
    # An empty column is one of numbers to pandas, whatever it would hold.
    table[list(TEXTS)] = table[list(TEXTS)].astype(object).fillna("")
    table["revision"] = _revisions(table)
    table["process"] = _number(cells[list(_PROCESS)])
    pair = [*(name for name in _PROCESS if name not in _REVISIONS), "iterations"]
    table["pair"] = _number(cells[pair])
    counts = table["iterations"].astype("float64").fillna(0)
    table["last"] = counts.eq(counts.groupby(table["process"]).transform("max"))
    _label(table)
    asked = [as_list(table[name]) for name in ASKED]
    rows_of = (dict(zip(ASKED, values, strict=True)) for values in zip(*asked, strict=True))
    # What was measured elsewhere is not ours to measure again.
    table["command"] = [
        "" if device else command(row) for row, device in zip(rows_of, table["device"], strict=True)
    ]
    return Cells(table.reset_index(drop=True), revisions)


def ranked(values: Sequence[str], revisions: Sequence[str] = ()) -> list[str]:
    """Sort the values of an axis as a person would: tiny before base, 1 before 20, old first."""
    order = {name: rank for rank, name in enumerate([*ORDER, *revisions])}

    def key(value: str) -> tuple[int, float, str]:
        if value in order:
            return (0, order[value], value)
        return (1, float(value), value) if value.isdecimal() else (2, 0.0, value)

    return sorted(values, key=key)


def tops(cells: Cells) -> list[str]:
    """Return the labels at the top of the matrix: methods apart, the revisions of one together."""
    found = cells.table.drop_duplicates("top")
    axes = ("method", "backend", "revision")
    ranks = {axis: ranked(list(found[axis].unique()), cells.revisions) for axis in axes}
    place = {
        str(row.top): [ranks[a].index(getattr(row, a)) for a in axes] for row in found.itertuples()
    }
    return sorted(place, key=place.__getitem__)


def varying(table: pd.DataFrame) -> list[str]:
    """Return the axes on which cells differ; a missing value is no value."""
    return [axis for axis in _AXES if table[axis].replace("", pd.NA).nunique() > 1]


def _revisions(table: pd.DataFrame) -> pd.Series[str]:
    exporter, runtime = (table[side].fillna("").astype(str) for side in ("exporter", "runtime"))
    one = runtime.eq("") | runtime.eq(exporter)
    return exporter.where(one, exporter + " on " + runtime)


def _number(columns: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Give equal rows equal numbers."""
    return columns.groupby(list(columns), sort=False, dropna=False).ngroup().to_numpy()


def _label(table: pd.DataFrame) -> None:
    """Name each cell by model, precision and method, and by whatever else tells it from others."""
    axes = varying(table)
    backend = ["backend"] if "backend" in axes else []
    revision = ["revision"] if {"exporter", "runtime"} & set(axes) else []
    told = ["model", "precision", "backend", "method", "revision", "iterations"]
    extra: list[str] = []
    for axis in (axis for axis in axes if axis not in (*told, *_TOP)):
        groups = table.groupby([*told, *extra], dropna=False, sort=False)[axis]
        if groups.nunique().max() > 1:
            extra.append(axis)
    again = table.groupby([*told, *extra], dropna=False, sort=False).cumcount().add(1).astype(str)
    table["again"] = ("#" + again).where(again.ne("1"), "")  # two builds of one revision
    extra.append("again")
    table["side"] = _joined(table, ["model", "precision", *extra], " ")
    table["top"] = _joined(table, ["method", *backend, *revision], "\n")
    runs = table["iterations"].map(lambda n: "" if pd.isna(n) else f"×{n}").astype(str)
    whole = _joined(table, ["model", "precision", *extra, "backend", "method", *revision], " ")
    table["name"] = (whole + " " + runs).str.strip()


def _joined(table: pd.DataFrame, columns: Sequence[str], between: str) -> pd.Series[str]:
    parts = [table[column].astype("string").fillna("").to_list() for column in columns]
    joined = [between.join(filter(None, words)) for words in zip(*parts, strict=True)]
    return pd.Series(joined, index=table.index, dtype="str")
