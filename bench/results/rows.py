"""From a record (one process) to rows of the tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# psutil and rusage see the same counter as the worker, in pages: more than this above the
# worker's own peak means that the worker missed something.
_TOLERANCE = 0.01
LOWER_BOUND = "the peak is a lower bound, sampled: the process is smaller than its watcher"
"""Of a process whose ``ru_maxrss`` is its watcher's: see ``et_worker/outside.py``."""


def measurement_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per cell of a record; a cell that was not reached says why in its status."""
    events = record["events"]
    result = _last(events, "result") or {}
    baseline = _last(events, "baseline") or {}
    marks = {event["iterations"]: event for event in events if event["event"] == "mark"}
    program = record.get("program") or (result if "methods" in result else {})
    rows = []
    for cell in record["cells"]:
        row = {key: cell.get(key) for key in _CELL_COLUMNS}
        row |= {key: record.get(key) for key in _RECORD_COLUMNS}
        row["cell_key"] = cell["key"]
        row["baseline_bytes"] = baseline.get("rss_bytes")
        row["threads"] = baseline.get("threads") if cell["runner"] != "native" else None
        row |= _dtypes(program, result)
        row["load_mode"] = result.get("load_mode") or cell["load_mode"]
        row["output_sha"] = result.get("output_sha")
        if cell["iterations"] is None:
            row |= _export_values(events, result)
            row |= delegation(program, None)
            row |= _guards(program)
            row["total_s"] = result.get("total_s", row["total_s"])  # without the guards
        else:
            mark = marks.get(cell["iterations"])
            row |= _mark_values(mark) if mark else {"peak_bytes": _peak(events)}
            row |= delegation(program, cell["method"])
            if mark and _within_cap(mark, record) and not _wrong_output(events):
                # The mark was reached: what ended the process later is not about this cell.
                row["status"], row["reason"] = "ok", ""
        if row["status"] == "over_memory":  # a censored value: the cap is its lower bound
            row["peak_bytes"] = max(row["peak_bytes"] or 0, _least(record)) or None
        if row["peak_bytes"] is not None and row["baseline_bytes"] is not None:
            row["peak_delta_bytes"] = row["peak_bytes"] - row["baseline_bytes"]
        row["crosscheck"] = crosscheck(record, _peak(events)) if events else None
        if not _timed(record):
            row |= {"total_s": None, "exec_median_s": None}
        rows.append(row)
    return rows


def phase_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per phase that the process went through, each followed by its steps.

    A step's row is named ``phase/step`` and sums up all of its calls; those of MLX's own profile
    are named ``memprofile/...`` and are of physical footprint.
    """
    base = _process(record)
    rows = []
    for event in record["events"]:
        if event["event"] == "phase":
            rows.append({**base, "phase": event["name"]} | _picked(event, _PHASE_COLUMNS))
        elif event["event"] == "step":
            name = f"{event['phase']}/{event['name']}"
            rows.append({**base, "phase": name} | _picked(event, _STEP_COLUMNS))
        elif event["event"] == "memprofile":
            name = f"memprofile/{event['name']}"
            rows.append({**base, "phase": name} | _picked(event, _PROFILE_COLUMNS))
    return rows if _timed(record) else [{**row, "seconds": None} for row in rows]


def timeline_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per change of RSS that was seen, with the phase it was in."""
    points = record.get("timeline") or ()
    entered = [(e["t"], e["phase"]) for e in record["events"] if e["event"] == "enter"][::-1]
    base = _process(record) if points else {}
    rows = []
    for t_s, rss_bytes, file_bytes in points:
        phase = next((name for began, name in entered if began <= t_s), "start")
        row = {"t_s": t_s, "rss_bytes": rss_bytes, "file_bytes": file_bytes, "phase": phase}
        rows.append(base | row)
    return rows


def _process(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the tables of a process say of it: it goes by its last cell."""
    cell = record["cells"][-1]
    axes = ("model", "precision", "backend", "method", "exporter", "runtime")
    return {key: cell[key] for key in axes} | {"cell_key": cell["key"], "repeat": record["repeat"]}


def crosscheck(record: Mapping[str, Any], peak: int | None) -> str:
    """Compare the worker's own peak with what was seen from outside.

    Both outside figures are lower bounds of the true peak (psutil samples; rusage forgets what
    the worker's resets of the high-water mark took away), so only a higher one contradicts. They
    are RSS: beside a footprint, which leaves out what is mapped from files and counts what is
    compressed, they are given for what they are.
    """
    outside_names = ("rusage_peak_bytes", "sampled_peak_bytes")
    start: Mapping[str, Any] = next(
        (event for event in record.get("events", ()) if event["event"] == "start"), {}
    )
    if str(start.get("peak_source")).startswith("phys_footprint"):
        rss = max(record.get(name) or 0 for name in outside_names)
        return f"RSS reached {rss} bytes beside the footprint" if rss else "ok"
    for name in outside_names:
        outside = record.get(name)
        if outside and peak and outside > peak * (1 + _TOLERANCE):
            return f"{name.removesuffix('_peak_bytes')} saw {outside} bytes"
    return "ok"


def _timed(record: Mapping[str, Any]) -> bool:
    """Say whether its seconds mean something: not where others ran beside it."""
    return bool(record.get("timed", True))


def _picked(event: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: event[name] for name in names}


def _last(events: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    return next((event for event in reversed(events) if event["event"] == name), None)


def _peak(events: list[dict[str, Any]]) -> int | None:
    """Return the peak since the baseline, as for a process that came to its end.

    Where it did not even come to its baseline, the peak of the imports.
    """
    start = next((n for n, event in enumerate(events) if event["event"] == "baseline"), -1)
    later = events[start + 1 :]
    peaks = [event["peak_bytes"] for event in later if event.get("peak_bytes") is not None]
    if not peaks and start >= 0:
        return int(events[start]["rss_bytes"])
    return max(peaks, default=None)


def _within_cap(mark: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    cap, peak = record.get("memory_cap"), mark["peak_bytes"]
    return not cap or peak is None or bool(peak <= cap)


def _least(record: Mapping[str, Any]) -> int:
    """Return what the peak of a worker that ran out of memory is at least.

    That is the cap, unless the worker alone was below it: its children then took the rest, or the
    machine had no more.
    """
    alone, cap = int(record.get("sampled_peak_bytes") or 0), int(record.get("memory_cap") or 0)
    return alone if 0 < alone < cap else cap


def _wrong_output(events: list[dict[str, Any]]) -> bool:
    """Tell whether what was computed can't be right: then no mark of the process counts."""
    return any(event["event"] == "error" and event.get("kind") == "output" for event in events)


def _export_values(events: list[dict[str, Any]], result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "peak_bytes": result.get("peak_bytes", _peak(events)),
        "load_bytes": None,
        "first_peak_bytes": None,
        "steady_bytes": None,
        "exec_median_s": None,
    }


def _guards(program: Mapping[str, Any]) -> dict[str, Any]:
    found = program.get("program") or {}
    check = program.get("check") or {}
    errors = check.get("errors", {}).values()
    why = [f"not compared with the model: {check['note']}"] if "note" in check else []
    return {
        "check_error": f"{max(errors):.1e}" if errors else "",
        "constant_bytes": found.get("constant_bytes"),
        "duplicate_bytes": found.get("duplicate_bytes"),
        "notes": "; ".join([*found.get("notes", []), *why]),
    }


def _mark_values(mark: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "peak_bytes": mark["peak_bytes"],
        "load_bytes": mark["load_rss_bytes"],
        "first_peak_bytes": mark["first_peak_bytes"],
        "steady_bytes": mark["rss_bytes"],
        "exec_median_s": mark["exec_median_s"],
        "notes": None if mark.get("exact", True) else LOWER_BOUND,
    }


def _dtypes(program: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: result.get(key) or program.get(key) for key in ("stored_dtype", "compute_dtype")}


def delegation(program: Mapping[str, Any], method: str | None) -> dict[str, Any]:
    """Return the delegation of one method, or of all together for the export."""
    methods: Mapping[str, Mapping[str, Any]] = program.get("methods") or {}
    chosen = [m for name, m in methods.items() if method in (None, name)]
    row: dict[str, Any] = {key: program.get(key) for key in ("pte_bytes", "pte_sha256")}
    for key in ("delegates", "delegated_nodes", "undelegated_nodes", "planned_bytes"):
        # Of a program from elsewhere the nodes inside delegates are not known.
        known = [m[key] for m in chosen if m.get(key) is not None]
        row[key] = sum(known) if known else None
    ops: dict[str, int] = {}
    for m in chosen:
        for name, count in m["undelegated_ops"].items():
            ops[name] = ops.get(name, 0) + count
    row["undelegated_ops"] = " ".join(f"{name}:{ops[name]}" for name in sorted(ops))
    return row


_PHASE_COLUMNS = ("seconds", "rss_bytes", "peak_bytes")
_PROFILE_COLUMNS = (*_PHASE_COLUMNS, "raised_bytes")
_STEP_COLUMNS = ("seconds", "peak_bytes", "calls", "raised_bytes")
_CELL_COLUMNS = (
    *("model", "precision", "backend", "method", "iterations", "samples"),
    *("max_tokens", "seed", "runner", "exporter", "runtime", "allocator"),
)
_RECORD_COLUMNS = (
    *("exporter_sha", "runtime_sha", "rung", "why", "torch", "status", "reason", "repeat"),
    *("exporter_rung", "exporter_why", "exporter_build_key"),
    *("total_s", "machine", "started_at", "build_key", "packages_hash"),
)
