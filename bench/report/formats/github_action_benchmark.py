"""JSON for github-action-benchmark, tool ``customSmallerIsBetter``: name, unit, value, range.

https://github.com/benchmark-action/github-action-benchmark#examples
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.errors import RequestError
from bench.report.formats.rows import records
from bench.results.cells import KEY

_AXES = ("model", "precision", "backend", "method")
_ASKED = (
    *("iterations", "samples", "max_tokens", "seed", "runner", "allocator", "load_mode"),
    *("device", "measured_by"),
)
_MADE = ("exporter", "runtime", "rung", "torch", "machine", "threads", "build_key", "cell_key")


def to_json(table: pd.DataFrame, _conclusions: Sequence[Conclusion]) -> str:
    """Build the list of peaks, in MB (10^6 bytes); cells without a figure are left out.

    A chart continues as long as a name does. So a name says what was asked for, always by the
    same columns whatever else is in the table, and nothing that comes with a revision.

    Raises:
        RequestError: if two cells have one name, such as those of two revisions.

    """
    groups = table.groupby(list(KEY), sort=False, dropna=False).ngroup().tolist()
    cells: dict[int, list[dict[str, Any]]] = {}
    for group, row in zip(groups, records(table), strict=True):
        if row["status"] == "ok":
            cells.setdefault(group, []).append(row)
    named: dict[str, dict[str, Any]] = {}
    entries = []
    for rows in cells.values():
        entry = _entry(rows)
        if entry is None:
            continue
        other = named.setdefault(entry["name"], rows[0])
        if other is not rows[0]:
            raise RequestError(_twice(entry["name"], other, rows[0]))
        entries.append(entry)
    return json.dumps(entries, indent=1, allow_nan=False) + "\n"


def _twice(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    differ = next((field for field in _MADE if one.get(field) != other.get(field)), "nothing")
    both = f"{one.get(differ, 'none')}, {other.get(differ, 'none')}"
    mend = (
        f"give {differ}=, or commit=" if differ in ("exporter", "runtime") else "give one of them"
    )
    return f"a chart takes one figure for {name!r}, the table has two, by {differ} ({both}): {mend}"


def _name(cell: Mapping[str, Any]) -> str:
    words = [str(cell[axis]) for axis in _AXES if axis in cell]
    return " ".join([*words, *(f"{field}={cell[field]}" for field in _ASKED if field in cell)])


def _entry(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    first = rows[0]
    column = "peak_delta_bytes" if "peak_delta_bytes" in first else "peak_bytes"
    values = [row[column] / 1e6 for row in rows if column in row]
    if not values:
        return None
    kind = "above baseline" if column == "peak_delta_bytes" else "total"
    entry: dict[str, Any] = {
        "name": f"{_name(first)} peak ({kind})",
        "unit": "MB",
        "value": round(median(values), 3),
    }
    if len(values) > 1:
        entry["range"] = f"± {(max(values) - min(values)) / 2:.3f}"
    extra = ("exporter", "runtime", "rung", "torch", "allocator", "device", "machine")
    entry["extra"] = "\n".join(f"{name}: {first[name]}" for name in extra if name in first)
    return entry
