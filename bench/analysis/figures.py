"""One metric of cells before and after, and whether the noise lets tell them apart. Pure.

With a and b the medians before and after, a difference d = b - a is beyond the noise where

    |d| > max(floor |a|,  |a| sqrt(reach^2 + between^2),  least)

``reach`` is what the noise of single processes explains (:class:`bench.analysis.noise.Scale`) at
the level asked for, ``between`` what two environments alone make, and ``least`` bytes that are
never a difference (:func:`least_bytes`). Beyond it the cell is ``regressed`` or ``improved``.
Within it, it is ``same``, or ``noisy`` where the difference is notable and only the noise forbids
to call it one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.noise import LEAST_BYTES, Noise, between_environments

Numbers = NDArray[np.float64]
VerdictName = Literal["regressed", "improved", "same", "noisy", "incomparable"]
FLOOR = 0.02
"""Relative difference that is never called one, unless the user sets another: two runs of one
cell on one machine have read 2.0% apart (tiny fp32 encode, five runs: 160.0 to 163.3 MB)."""
_NOTABLE = 0.03


@dataclass(frozen=True)
class Metric:
    """A figure that is compared.

    Attributes:
        name: as on the command line.
        column: of :func:`bench.analysis.cells.cells`.
        what: memory, time, or exact: the same program always gives the same number.

    """

    name: str
    column: str
    what: Literal["memory", "time", "exact"]


METRICS = {
    metric.name: metric
    for metric in (
        Metric("peak", "value", "memory"),
        Metric("steady", "steady", "memory"),
        Metric("time", "time_s", "time"),
        Metric("pte", "pte_bytes", "exact"),
    )
}
JUDGED = ("peak",)
"""What a verdict is about unless the user names more: times of one run are noise on most machines,
and a file's size is not memory."""


class Figure(NamedTuple):
    """One metric of one pair.

    Attributes:
        before: median before, bytes or seconds; None if it was not measured.
        after: median after.
        limit: difference, relative to before, that the noise or the floor explains; 0 where
            before is 0.
        verdict: by this metric alone.

    """

    before: float | None
    after: float | None
    limit: float
    verdict: VerdictName | None

    @property
    def difference(self) -> float | None:
        """After minus before."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def relative(self) -> float | None:
        """The difference relative to before; None where that is zero."""
        return (
            self.difference / self.before if self.before and self.difference is not None else None
        )


def figures(
    pairs: pd.DataFrame, metric: Metric, noise: Noise, level: float, floor: float
) -> list[Figure]:
    """Judge one metric of all pairs, each for itself.

    Args:
        pairs: cells before and after, columns ``before_X`` and ``after_X``.
        metric: what is compared.
        noise: of single processes.
        level: probability at which the noise alone stays within its reach, such as 0.95.
        floor: relative difference that is never called one.
    """
    reach = _reaches(pairs, metric, noise, level)
    before, after = (
        pairs[f"{side}_{metric.column}"].to_numpy("float64", na_value=np.nan)
        for side in ("before", "after")
    )
    difference, size, notable = after - before, np.abs(before), max(_NOTABLE, floor)
    bound = np.maximum(np.maximum(reach, floor) * size, least_bytes(floor, metric))
    limit = np.divide(bound, size, out=np.zeros(len(pairs)), where=size > 0)
    verdict = np.select(
        [
            np.isnan(difference),
            difference > bound,
            difference < -bound,
            (np.abs(difference) > notable * size) & (reach > notable),
        ],
        ["", "regressed", "improved", "noisy"],
        "same",
    )
    limit[np.isnan(difference)] = 0.0
    return list(
        map(
            Figure,
            *map(_without_nan, (before, after)),
            limit.tolist(),
            (v or None for v in verdict.tolist()),
        )
    )


def _reaches(pairs: pd.DataFrame, metric: Metric, noise: Noise, level: float) -> Numbers:
    """Return for each pair what the noise alone may make of a metric, relative to before."""
    if metric.what == "exact":
        return np.zeros(len(pairs))
    names = ("method", "backend", "precision", "allocator", "n")
    kinds = pairs[[*(f"before_{name}" for name in names), "after_n"]]
    kinds = kinds.fillna(dict.fromkeys(kinds.columns[:4], ""))
    # Few pairs are of another kind than all others: each kind is worked out once.
    kind = kinds.groupby(list(kinds.columns), sort=False).ngroup().to_numpy()
    found = []
    for each in kinds.drop_duplicates().itertuples(index=False, name=None):
        method, backend, precision, allocator, n_before, n_after = each
        scale = noise.scale(metric.what, method, backend, precision)
        memory = metric.what == "memory"
        between = between_environments(method, backend, allocator) if memory else 0.0
        found.append(math.hypot(scale.reach(n_before, n_after, level), between))
    return np.array(found, dtype=float)[kind]


def least_bytes(floor: float, metric: Metric | None = None) -> float:
    """Return the difference in bytes that is never called one, however small the figures are.

    A floor is taken of 50 MB at least, but counts for no more than 1 MB then: so it is 1 MB by
    default, and less where the user asks for a smaller floor. Zero for what is no memory.
    """
    if metric is not None and metric.what != "memory":
        return 0.0
    return min(LEAST_BYTES, LEAST_BYTES * floor / FLOOR)


def _without_nan(values: Numbers) -> list[float | None]:
    found = values.astype(object)
    found[np.isnan(values)] = None
    return list(found)
