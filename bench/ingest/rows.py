"""From checked values to rows of our tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.analysis.cells import COLUMNS
from bench.errors import RequestError
from bench.ingest.fields import KINDS
from bench.jobs import digest
from bench.results.cells import KEY

_REQUIRED = ("model", "method")
_MEMORY = ("peak", "delta", "baseline", "load", "first_peak", "steady")
_FIGURES = ("peak", "delta", "steady", "total", "exec_median", "pte")
_CELL = (
    *("model", "precision", "backend", "method", "iterations", "samples", "max_tokens", "seed"),
    *("runner", "exporter", "runtime", "allocator", "load_mode"),
)
_KEY = tuple(dict.fromkeys((*KEY, "repeat")))


def build(
    rows: Iterable[tuple[int, Mapping[str, Any]]], common: Mapping[str, Any], unit: str = "line"
) -> list[dict[str, Any]]:
    """Turn values into rows of :data:`bench.analysis.cells.COLUMNS`.

    Args:
        rows: number and values by field, as :func:`bench.ingest.fields.value_of` gives them.
        common: values of every row that has none of its own, such as the device and the ``kind``
            (one of :data:`bench.ingest.fields.KINDS`) of its memory.
        unit: what the numbers count: ``line``, or the ``row`` of a JSON list.

    Raises:
        RequestError: naming the line or row of a row that lacks something or repeats another.

    """
    found: list[dict[str, Any]] = []
    lines: dict[tuple[Any, ...], int] = {}
    for line, values in rows:
        try:
            row = _row({**common, **{k: v for k, v in values.items() if v is not None}})
        except RequestError as error:
            raise RequestError(f"{unit} {line}: {error}") from None
        key = tuple(row.get(name) for name in _KEY)
        if key in lines:
            raise RequestError(
                f"{unit} {line}: the same measurement as {unit} {lines[key]}; number repeated ones "
                "in a column repeat"
            )
        lines[key] = line
        found.append(row)
    if not found:
        raise RequestError("there is no row in it")
    return found


def _row(values: Mapping[str, Any]) -> dict[str, Any]:
    for name in _REQUIRED:
        if values.get(name) is None:
            raise RequestError(f"{name} is missing")
    if values.get("device") is None:  # what makes a row one from elsewhere
        raise RequestError('device is missing: where was it measured? (device="iPhone 16")')
    status = values.get("status") or "ok"
    if status == "ok" and all(values.get(name) is None for name in _FIGURES):
        raise RequestError(f"there is no figure: {', '.join(_FIGURES[:-1])} or {_FIGURES[-1]}")
    row = {column.name: values.get(column.name) for column in COLUMNS}
    row |= {f"{name}_bytes": values.get(name) for name in ("load", "first_peak", "steady")}
    row |= {f"{name}_bytes": values.get(name) for name in ("pte", "planned", "baseline")}
    row |= {"total_s": values.get("total"), "exec_median_s": values.get("exec_median")}
    row |= {"status": status, "repeat": values.get("repeat") or 0}
    row |= _memory(values)
    # The device and the counter are not part of what was asked for; they are in the row.
    row["cell_key"] = digest([values.get(name) for name in _CELL])
    return row


def _memory(values: Mapping[str, Any]) -> dict[str, Any]:
    kind = values.get("kind")
    peak, delta, base = (values.get(name) for name in ("peak", "delta", "baseline"))
    if all(values.get(name) is None for name in _MEMORY):
        return {}
    if kind is None:
        raise RequestError(f"kind= is missing: what is the memory? ({', '.join(KINDS)})")
    counter, _, scale = kind.partition("_")
    said = values.get("measured_by")
    row: dict[str, Any] = {"measured_by": f"{counter}, {said}" if said else counter}
    if peak is None and delta is None:
        return row  # what there is of memory is a total, whatever a peak would be
    if scale == "delta":
        if delta is not None and peak is not None:
            raise RequestError("peak and delta are both given, and kind= says that peak is one")
        return row | {"metric_kind": "delta", "peak_delta_bytes": peak if delta is None else delta}
    if peak is None:
        raise RequestError("a delta without its total: say kind=..._delta")
    if base is not None and base > peak:
        raise RequestError("the baseline is above the peak")
    if base is not None:
        if delta is None:
            delta = peak - base
        elif abs(peak - base - delta) > values.get("rounding", 0):
            raise RequestError(
                f"peak, delta and baseline contradict each other: {peak} - {base} is not {delta}"
            )
    if delta is not None and delta > peak:
        raise RequestError("the delta is above the total")
    row |= {"peak_bytes": peak, "peak_delta_bytes": delta}
    if delta is not None:
        row["baseline_bytes"] = peak - delta if base is None else base
    return row | {"metric_kind": "total" if delta is None else ""}
