"""JSON for github-action-benchmark, tool ``customSmallerIsBetter``: name, unit, value, range.

https://github.com/benchmark-action/github-action-benchmark#examples
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.report.formats.rows import records
from bench.results.cells import KEY

_AXES = ("model", "precision", "backend", "method")
_TELLING = (
    *("samples", "allocator", "load_mode", "device", "machine", "measured_by", "metric_kind"),
    *("exporter", "runtime", "rung", "build_key", "cell_key"),
)


def to_json(table: pd.DataFrame, _conclusions: Sequence[Conclusion]) -> str:
    """Build the list of peaks, in MB (10^6 bytes); cells without a figure are left out.

    A name says all that a chart must not mix; the revision is the chart's other axis.
    """
    groups = table.groupby(list(KEY), sort=False, dropna=False).ngroup().tolist()
    cells: dict[int, list[dict[str, Any]]] = {}
    for group, row in zip(groups, records(table), strict=True):
        if row["status"] == "ok":
            cells.setdefault(group, []).append(row)
    names = _names([rows[0] for rows in cells.values()])
    entries = [_entry(rows, name) for rows, name in zip(cells.values(), names, strict=True)]
    return json.dumps([e for e in entries if e is not None], indent=1, allow_nan=False) + "\n"


def _names(cells: Sequence[dict[str, Any]]) -> list[str]:
    """Name each cell, by more than its axes only where these alone would name another too."""
    names = [_name(cell) for cell in cells]
    for field in _TELLING:
        count = Counter(names)
        names = [
            f"{name} {cell[field]}" if count[name] > 1 and field in cell else name
            for name, cell in zip(names, cells, strict=True)
        ]
    return names


def _name(cell: Mapping[str, Any]) -> str:
    words = [str(cell[axis]) for axis in _AXES if axis in cell]
    if cell.get("iterations", 1) != 1:
        words.append(f"x{cell['iterations']}")
    return " ".join(words)


def _entry(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    first = rows[0]
    column = "peak_delta_bytes" if "peak_delta_bytes" in first else "peak_bytes"
    values = [row[column] / 1e6 for row in rows if column in row]
    if not values:
        return None
    kind = "above baseline" if column == "peak_delta_bytes" else "total"
    entry: dict[str, Any] = {
        "name": f"{name} peak ({kind})",
        "unit": "MB",
        "value": round(median(values), 3),
    }
    if len(values) > 1:
        entry["range"] = f"± {(max(values) - min(values)) / 2:.3f}"
    extra = ("exporter", "runtime", "rung", "torch", "allocator", "device", "machine")
    entry["extra"] = "\n".join(f"{name}: {first[name]}" for name in extra if name in first)
    return entry
