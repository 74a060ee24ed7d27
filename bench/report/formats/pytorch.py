"""Records of PyTorch's benchmark database, schema v3: one per figure of a cell.

As ExecuTorch's own CI uploads them (``transform`` in .github/scripts/extract_benchmark_results.py
of pytorch/executorch), described at
https://github.com/pytorch/pytorch/wiki/How-to-integrate-with-PyTorch-OSS-benchmark-database
Repeats are the several ``benchmark_values`` of one record; a cell without a figure is the
``FAILURE_REPORT`` that ``transform_failure_record`` there makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.report.formats.rows import records
from bench.results.cells import KEY

_METRICS = {
    "peak_delta_bytes": "peak_memory_above_baseline(bytes)",
    "peak_bytes": "peak_memory(bytes)",
    "first_peak_bytes": "first_execution_peak_memory(bytes)",
    "steady_bytes": "steady_memory(bytes)",
    "exec_median_s": "median_execution_time(s)",
    "total_s": "process_time(s)",
    "pte_bytes": "program_size(bytes)",
    "undelegated_nodes": "undelegated_operators",
}
_ABOUT_MODEL = ("stored_dtype", "compute_dtype", "samples", "max_tokens", "seed")
_ABOUT_RUN = (
    *("iterations", "runner", "allocator", "load_mode", "rung", "exporter", "exporter_sha"),
    *("runtime", "runtime_sha", "metric_kind", "measured_by", "source", "cell_key", "build_key"),
)


def to_json(table: pd.DataFrame, _conclusions: Sequence[Conclusion]) -> str:
    """Build the list of records as JSON."""
    return json.dumps(list(_records(table)), indent=1, allow_nan=False) + "\n"


def _records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    groups = table.groupby(list(KEY), sort=False, dropna=False).ngroup().tolist()
    cells: dict[int, list[dict[str, Any]]] = {}
    for group, row in zip(groups, records(table), strict=True):
        cells.setdefault(group, []).append(row)
    for rows in cells.values():
        good = [row for row in rows if row["status"] == "ok"]
        if not good:
            yield _record(rows[0], "FAILURE_REPORT", [0])
        for column, name in _METRICS.items():
            values = [row[column] for row in good if column in row]
            if values:
                yield _record(good[0], name, values)


def _record(row: Mapping[str, Any], metric: str, values: Sequence[float]) -> dict[str, Any]:
    torch = {"torch": {"version": row["torch"]}} if "torch" in row else {}
    return {
        "benchmark": {
            "name": "ExecuTorch",
            "mode": "export" if row["method"] == "export" else "inference",
            "dtype": row.get("precision", ""),
            "extra_info": {
                "app_type": "et-peak",
                "job_conclusion": "SUCCESS" if row["status"] == "ok" else str(row["status"]),
                **_some(row, ("reason",)),
            },
        },
        "model": {
            "name": row["model"],
            "type": "OSS model",
            "backend": row.get("backend", ""),
            "origins": ["pytorch"],
            "extra_info": _some(row, _ABOUT_MODEL),
        },
        "metric": {
            "name": metric,
            "benchmark_values": list(values),
            "target_value": 0,
            "extra_info": {"method": row["method"], **_some(row, _ABOUT_RUN)},
        },
        "runners": [{"name": str(row.get("device") or row.get("machine", "")), "type": "cpu"}],
        "dependencies": torch,
    }


def _some(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return texts, since the database's maps hold nothing else."""
    return {name: str(row[name]) for name in names if name in row}
