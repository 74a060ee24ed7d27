"""Published figures with our own of the same program beside them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.analysis.cells import cells, text
from bench.report.grid import Grid
from bench.values import format_size

_PROGRAM = ["model", "precision", "backend"]


def beside(theirs: pd.DataFrame, ours: Sequence[pd.DataFrame]) -> Grid | None:
    """Set each published cell against ours of the same program; None where there is none.

    A program's file is compared wherever it was exported; a peak only with the same method. The
    peaks stand side by side and are not subtracted: device, counter and runner are others.
    """
    if theirs["device"].isna().all() or not ours:
        return None
    own = cells(pd.concat(list(ours), ignore_index=True))
    own = own[own["device"].isna() & (own["status"] == "ok")]
    sizes = own.dropna(subset=["pte_bytes"]).groupby(_PROGRAM)["pte_bytes"].median()
    peaks = own.dropna(subset=["value"]).groupby([*_PROGRAM, "method"])["value"].max()
    rows = []
    for cell in cells(theirs).itertuples():
        program = tuple(text(getattr(cell, axis)) for axis in _PROGRAM)
        size, peak = sizes.get(program), peaks.get((*program, text(cell.method)))
        if size is None and peak is None:
            continue
        rows.append(
            (
                *program,
                text(cell.method),
                text(cell.place),
                (">= " if text(cell.status) == "over_memory" else "") + _size(cell.value),
                _size(peak),
                _size(cell.pte_bytes),
                _size(size),
            )
        )
    if not rows:
        return None
    header = (*_PROGRAM, "method", "device", "peak", "our peak", ".pte", "our .pte")
    unique = tuple(dict.fromkeys(rows))
    return Grid(header, unique, frozenset(header[5:])).without_empty()


def _size(value: object) -> str:
    return "" if value is None or pd.isna(value) else format_size(float(value))  # type: ignore
