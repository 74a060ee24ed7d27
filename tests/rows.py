"""Rows of measurements, small and readable."""

from itertools import product
from typing import Any

from bench.analysis.cells import COLUMNS
from bench.results.tables import frame

MB = 10**6


def row(**changes: Any) -> dict[str, Any]:
    base = {
        "model": "tiny",
        "precision": "fp32",
        "backend": "xnnpack",
        "method": "encode",
        "iterations": 1,
        "samples": 480000,
        "exporter": "v1.4.1",
        "runtime": "v1.4.1",
        "rung": "wheel",
        "torch": "2.13.0+cpu",
        "allocator": "default",
        "load_mode": "mmap",
        "status": "ok",
        "repeat": 0,
        "baseline_bytes": 240 * MB,
        "peak_delta_bytes": 160 * MB,
        "total_s": 9.0,
        "exec_median_s": 0.4,
        "pte_bytes": 80 * MB,
        "delegates": 13,
        "delegated_nodes": 118,
        "undelegated_nodes": 16,
        "output_sha": "aa",
        "machine": "one",
        "build_key": "b",
    } | changes
    base.setdefault("peak_bytes", _total(base))
    names = ("model", "precision", "backend", "method", "iterations", "exporter", "runtime")
    base.setdefault("cell_key", " ".join(str(base[name]) for name in names))
    return base


def _total(base: dict[str, Any]) -> int | None:
    if base["peak_delta_bytes"] is None or base["baseline_bytes"] is None:
        return None
    return base["peak_delta_bytes"] + base["baseline_bytes"]


def table(*rows: dict[str, Any]):
    return frame(rows, COLUMNS)


def matrix(value, **axes: Any):
    """One row per combination of the axes; `value` gives its delta in MB."""
    rows = []
    for levels in product(*axes.values()):
        cell = dict(zip(axes, levels, strict=True))
        rows.append(row(**cell, peak_delta_bytes=round(value(**cell) * MB)))
    return table(*rows)


def texts(conclusions, kind: str | None = None, axis: str | None = None) -> list[str]:
    return [
        one.text for one in conclusions if kind in (None, one.kind) and axis in (None, one.axis)
    ]
