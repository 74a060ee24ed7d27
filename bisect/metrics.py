"""What can be bisected on, and how it is read off a measurement. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bench.errors import RequestError, choices
from bench.results.rows import measurement_rows, phase_rows
from bench.values import format_bytes, format_seconds, parse_int, parse_seconds, parse_size

Unit = Literal["bytes", "seconds", "count"]

EXPORT_PHASES = ("import", "build", "quantize", "torch.export", "lower", "to_executorch", "write")
RUN_PARTS = ("load", "first", "steady")


@dataclass(frozen=True)
class Metric:
    """One number of one method's measurement.

    Attributes:
        name: as on the command line, such as ``export_peak.lower``.
        method: the method whose process is measured.
        column: column of ``measurements.csv``; for a phase, the phase's name.
        unit: bytes, seconds or a count.
        meaning: one line for ``--list``.
        exact: the same program always gives the same number: one run tells.
        is_phase: whether ``column`` names a phase of ``phases.csv``.
    """

    name: str
    method: str
    column: str
    unit: Unit
    meaning: str
    exact: bool = False
    is_phase: bool = False

    def value(self, record: Mapping[str, Any]) -> float | None:
        """Read the metric off a record; None where the measurement does not have it.

        Memory is above the baseline of the same process, in bytes.
        """
        if record["cells"][-1]["method"] != self.method:
            return None  # another process's: an export that was run for its program, say
        row = measurement_rows(record)[-1]
        if row["status"] != "ok":
            return None
        if self.is_phase:
            peaks = [r["peak_bytes"] for r in phase_rows(record) if r["phase"] == self.column]
            return float(max(peaks) - row["baseline_bytes"]) if peaks else None
        found = row.get(self.column)
        if found is None:
            return None
        above = self.column in ("load_bytes", "first_peak_bytes", "steady_bytes")
        return float(found - row["baseline_bytes"]) if above else float(found)

    def parse(self, name: str, text: str) -> float:
        """Read a value of this metric that a person typed for the option `name`.

        Raises:
            RequestError: if it is none of the metric's unit.
        """
        if self.unit == "bytes":
            return float(parse_size(name, text))
        return (
            parse_seconds(name, text) if self.unit == "seconds" else float(parse_int(name, text, 0))
        )

    def show(self, value: float) -> str:
        """Print a value with its unit."""
        if self.unit == "bytes":
            return format_bytes(value, exact=self.exact)
        return format_seconds(value) if self.unit == "seconds" else f"{value:g}"

    def change(self, value: float) -> str:
        """Print a difference with its sign and its unit."""
        return f"{'+' if value > 0 else '-' if value < 0 else ''}{self.show(abs(value))}"

    def estimate(self, value: float, interval: tuple[float, float]) -> str:
        """Print a difference with its 95% interval, which an exact one has not."""
        if self.exact:
            return self.change(value)
        low, high = (self.change(end) for end in interval)
        return f"{self.change(value)} (95%: {low} to {high})"


_METRICS = (
    Metric(
        "export_peak",
        "export",
        "peak_delta_bytes",
        "bytes",
        "peak RSS of the export process above its baseline",
    ),
    Metric("export_time", "export", "total_s", "seconds", "seconds of the whole export process"),
    Metric(
        "encode_peak",
        "encode",
        "peak_delta_bytes",
        "bytes",
        "peak RSS above the baseline of a process that loads the program and runs encode only",
    ),
    Metric(
        "decode_peak",
        "decode",
        "peak_delta_bytes",
        "bytes",
        "peak RSS above the baseline of a process that loads the program and runs decode only",
    ),
    Metric("encode_time", "encode", "exec_median_s", "seconds", "median seconds of an encode"),
    Metric("decode_time", "decode", "exec_median_s", "seconds", "median seconds of a decode"),
    Metric("pte_size", "export", "pte_bytes", "bytes", "size of the program file", exact=True),
    Metric(
        "planned", "export", "planned_bytes", "bytes", "memory-planned buffers, all methods", True
    ),
    Metric("delegates", "export", "delegates", "count", "delegate calls, all methods", True),
    Metric(
        "undelegated",
        "export",
        "undelegated_nodes",
        "count",
        "operator calls outside delegates, all methods",
        True,
    ),
)
METRICS = {metric.name: metric for metric in _METRICS}
_MODEL_METHOD = "encode"  # what is measured of it is measured of any method that a user names


def metrics_of(methods: Sequence[str]) -> dict[str, Metric]:
    """Return the metrics of a program of the user's with these methods, by name."""
    ours = {name: metric for name, metric in METRICS.items() if metric.method == "export"}
    runs = {name: metric for name, metric in METRICS.items() if metric.method == _MODEL_METHOD}
    for method in methods:
        for name, metric in runs.items():
            own = name.replace(_MODEL_METHOD, method, 1)
            meaning = metric.meaning.replace(_MODEL_METHOD, method)
            ours[own] = replace(metric, name=own, method=method, meaning=meaning)
    return ours


def metric_of(name: str, metrics: Mapping[str, Metric] = METRICS) -> Metric:
    """Return the metric of a name such as ``encode_peak`` or ``export_peak.lower``.

    Args:
        name: as typed.
        metrics: those there are; see :func:`metrics_of` for a program of the user's.

    Raises:
        RequestError: if there is none of that name.
    """
    root, dot, part = name.partition(".")
    if root not in metrics:
        raise choices("metric", name, list(metrics))
    metric = metrics[root]
    if not dot:
        return metric
    parts = parts_of(metric)
    if part not in parts:
        if not parts:
            raise RequestError(f"metric: {root} has no phases (given: {name!r})")
        raise choices(f"metric {root}", part, parts)
    if metric.method == "export":
        meaning = f"peak RSS during phase {part} above the baseline"
        return Metric(name, "export", part, "bytes", meaning, is_phase=True)
    column = {"load": "load_bytes", "first": "first_peak_bytes", "steady": "steady_bytes"}[part]
    meaning = {
        "load": "RSS after loading program and method, above the baseline",
        "first": "peak RSS during the first execution, above the baseline",
        "steady": "RSS after the last execution, above the baseline",
    }[part]
    return Metric(name, metric.method, column, "bytes", meaning)


def watched_until(metric: Metric) -> str | None:
    """Return the phase up to which its high-water mark is watched; None for the whole process.

    Raises:
        RequestError: if the metric is no high-water mark above the baseline.
    """
    root, _, part = metric.name.partition(".")
    if not root.endswith("_peak") or part in ("import", "load", "steady"):
        raise RequestError(
            f"explain: memray tells who held a peak; {metric.name} is none (such as export_peak, "
            "export_peak.lower, encode_peak, encode_peak.first)"
        )
    return part or None


def parts_of(metric: Metric) -> list[str]:
    """Return the phases that can be bisected on by themselves: ``metric.phase``."""
    if not metric.name.endswith("_peak"):
        return []
    return list(EXPORT_PHASES if metric.method == "export" else RUN_PARTS)
