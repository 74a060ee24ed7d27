"""The tables under a verdict: parent against culprit, phase by phase, and what else changed."""

from __future__ import annotations

from bisect.metrics import Metric
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.results.rows import measurement_rows, phase_rows
from bench.values import format_mb, format_seconds

Record = Mapping[str, Any]

_COMPARED = {
    "total_s": "seconds of the process",
    "exec_median_s": "seconds of an execution",
    "pte_bytes": "program file",
    "planned_bytes": "planned buffers",
    "delegates": "delegates",
    "delegated_nodes": "nodes in delegates",
    "undelegated_nodes": "operators outside",
}
_NOISY = ("total_s", "exec_median_s")


def before_and_after(
    parent: Sequence[Record], culprit: Sequence[Record], metric: Metric
) -> list[str]:
    """Compare the measurement of median value of either side, as Markdown tables.

    Peaks are above the baseline of their own process, as the step is. What is the same on both
    sides stands in one line, so that the tables fit a terminal.
    """
    sides = [[r for r in side if r["status"] == "ok"] for side in (parent, culprit)]
    if not all(sides):
        return []
    before, after = (_typical(side, metric) for side in sides)
    return [*_phase_table(before, after), "", *_other_table(before, after)]


def _typical(records: Sequence[Record], metric: Metric) -> Record:
    """Return the record whose value is the median one."""
    known = [(value, i) for i, r in enumerate(records) if (value := metric.value(r)) is not None]
    return records[sorted(known)[len(known) // 2][1]] if known else records[-1]


def _phase_table(before: Record, after: Record) -> list[str]:
    lines = ["| peak MB in phase | before | after | change |", "| --- | ---: | ---: | ---: |"]
    old, new = _phases(before), _phases(after)
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name), new.get(name)
        change = "" if a is None or b is None else signed(b - a)
        lines.append(f"| {name} | {_mb(a)} | {_mb(b)} | {change} |")
    return lines


def _phases(record: Record) -> dict[str, float]:
    baseline = measurement_rows(record)[-1]["baseline_bytes"] or 0
    peaks = {row["phase"]: row["peak_bytes"] for row in phase_rows(record)}
    return {phase: peak - baseline for phase, peak in peaks.items() if peak is not None}


def _other_table(before: Record, after: Record) -> list[str]:
    old, new = (measurement_rows(record)[-1] for record in (before, after))
    changed, same = [], []
    for key, title in _COMPARED.items():
        a, b = old.get(key), new.get(key)
        if a is None and b is None:
            continue
        if a == b:
            same.append(f"{title} {_value(key, a)}")
        else:
            changed.append(f"| {title} | {_value(key, a)} | {_value(key, b)} |")
    for name, a, b in _operators(old["undelegated_ops"], new["undelegated_ops"]):
        changed.append(f"| {name} outside | {a} | {b} |")
    if old["output_sha"] and new["output_sha"]:
        equal = old["output_sha"] == new["output_sha"]
        (same if equal else changed).append("outputs" if equal else "| outputs | | differ |")
    lines = ["| what else changed | before | after |", "| --- | ---: | ---: |", *changed]
    if same:
        lines += ["", f"The same on both sides: {', '.join(same)}."]
    return lines


def _operators(old: str, new: str) -> Iterable[tuple[str, int, int]]:
    """Return the operators whose number of calls outside delegates differs."""
    before, after = _counts(old), _counts(new)
    for name in sorted({*before, *after}):
        a, b = before.get(name, 0), after.get(name, 0)
        if a != b:
            yield name, a, b


def _counts(text: str) -> dict[str, int]:
    pairs = (word.rpartition(":") for word in (text or "").split())
    return {name: int(count) for name, _, count in pairs}


def _value(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key.endswith("_bytes"):
        return f"{value / 1e6:.3f} MB"
    return format_seconds(value) if key in _NOISY else str(value)


def signed(value: float) -> str:
    """Print a difference in bytes as MB with its sign; what rounds to nothing has none."""
    text = format_mb(abs(value))
    return text if float(text) == 0 else f"{'+' if value > 0 else '-'}{text}"


def _mb(value: float | None) -> str:
    # A few pages below the baseline are no negative peak.
    return "" if value is None else format_mb(max(value, 0))
