"""How far two measurements of the same thing may differ: measured, with what we know before.

The variance of a cell's repeats, relative to its median, is pooled over all cells of one class
(memory of an export by XNNPACK, say) and moderated by what that class showed in earlier
measurements: with s0^2 on d0 degrees of freedom known before and s^2 on d of this run,

    sigma^2 = (d0 s0^2 + d s^2) / (d0 + d),    with d0 + d degrees of freedom

(Smyth 2004, "Linear models and empirical Bayes methods", eq. 3). With no repeats that is what
was known before; with many it is what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from bench.results.cells import KEY
from bench.statistics import t_quantile

# Spread ((max - min) / median) of fresh processes of one cell on one machine: `nox -s perf --
# steadiness` measures two of them. Times are those of a machine shared with other work.
_SPREADS = {
    ("memory", "run", ""): 0.0016,
    ("memory", "export", "xnnpack"): 0.006,
    ("memory", "export", "mlx"): 0.0015,
    ("memory", "export", "mlx quantised"): 0.025,
    ("memory", "export", ""): 0.025,
    ("time", "run", ""): 0.4,
    ("time", "export", ""): 0.4,
}
_RUNS = 10
# Expected range of ten normal values in sigmas (Tippett 1925).
_RANGE_OF_TEN = 3.078

# An export's peak under malloc's default settings, in environments that differ in nothing but
# their folder: 623, 669 and 690 MB for one tiny fp32 export by XNNPACK. Repeats in one
# environment don't show it, so it is added to their noise.
_BETWEEN_ENVIRONMENTS = 0.11

LEAST_BYTES = 1e6
"""A difference of memory below this is pages and arenas, whatever it is a share of."""

_PROCESS = (
    *("model", "precision", "backend", "method", "samples", "max_tokens", "seed", "runner"),
    *("exporter", "runtime", "allocator", "load_mode", "build_key", "exporter_build_key"),
    *("machine", "device", "metric_kind", "measured_by", "source", "repeat"),
)
_QUANTISED = ("int8", "int4", "q4_k", "q5_k", "q6_k")


@dataclass(frozen=True)
class Scale:
    """The noise of one class of measurements: sigma relative to the value, and how well known.

    Attributes:
        sigma: relative standard deviation of one fresh process.
        freedom: degrees of freedom that tell it.
        source: words for a person: measured in repeats, or known before.

    """

    sigma: float
    freedom: int
    source: str

    def reach(self, n_before: int, n_after: int, level: float) -> float:
        """Return how far two medians may differ, relative to the first, with probability level.

        A median of three or more has pi/2 times the variance of a mean (its asymptotic value;
        for fewer, median and mean are the same).
        """
        variance = sum((1 if n < 3 else math.pi / 2) / n for n in (n_before, n_after))
        return t_quantile(0.5 + level / 2, self.freedom) * self.sigma * math.sqrt(variance)


def noise_class(what: str, method: str, backend: str, precision: str) -> tuple[str, str, str]:
    """Return the class of a measurement; ``what`` is memory or time."""
    if method != "export":
        return (what, "run", "")
    if what == "time" or backend not in ("xnnpack", "mlx"):
        return (what, "export", "")
    quantised = backend == "mlx" and precision in _QUANTISED
    return (what, "export", f"{backend} quantised" if quantised else backend)


class Noise:
    """What is known of the noise, by class of measurement.

    Args:
        tables: rows with repeats: the runs compared, and earlier ones of the same machine.

    """

    def __init__(self, tables: Iterable[pd.DataFrame] = ()) -> None:
        self._measured: dict[tuple[str, str, str], tuple[float, int]] = {}
        for table in tables:
            self._learn(table)

    def _learn(self, table: pd.DataFrame) -> None:
        good = table[table["status"] == "ok"]
        # The marks of one process move together: the last one stands for it.
        good = good.sort_values("iterations", kind="stable", na_position="first")
        good = good.drop_duplicates(list(_PROCESS), keep="last")
        group = good.groupby(list(KEY), dropna=False, sort=False).ngroup()
        kinds = [good[column].fillna("") for column in ("method", "backend", "precision")]
        for what, column in (("memory", "peak_delta_bytes"), ("time", "total_s")):
            values = good[column].astype("float64").where(lambda v: v > 0)
            per_cell = values.groupby(group)
            relative = values / per_cell.transform("median")
            square = (relative - relative.groupby(group).transform("mean")) ** 2
            count = per_cell.transform("count")
            frame = pd.DataFrame({"square": square, "freedom": 1 - 1 / count})[count > 1]
            sums = frame.groupby([kind[frame.index] for kind in kinds]).sum()
            for labels, square_sum, freedom in sums.itertuples(name=None):
                key = noise_class(what, *labels)
                before = self._measured.get(key, (0.0, 0))
                self._measured[key] = (before[0] + square_sum, before[1] + round(freedom))

    def scale(self, what: str, method: str, backend: str, precision: str) -> Scale:
        """Return the noise of one kind of measurement."""
        key = noise_class(what, method, backend, precision)
        before = _SPREADS[key] / _RANGE_OF_TEN
        square, freedom = self._measured.get(key, (0.0, 0))
        known = _RUNS - 1
        sigma = math.sqrt((known * before**2 + square) / (known + freedom))
        source = f"repeats ({freedom} degrees of freedom)" if freedom else "known before"
        return Scale(sigma, known + freedom, source)


def between_environments(method: str, backend: str, allocator: str) -> float:
    """Return the relative difference that two environments alone can make, repeats or not."""
    heap = allocator in ("default", "")
    return _BETWEEN_ENVIRONMENTS if method == "export" and backend == "xnnpack" and heap else 0.0
