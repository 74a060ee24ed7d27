"""Before against after, cell by cell, with a verdict that the noise allows. Pure.

With a and b the medians before and after, a difference d = b - a is beyond the noise where

    |d| > max(floor |a|,  |a| sqrt(reach^2 + between^2),  least)

``reach`` is what the noise of single processes explains (:class:`bench.analysis.noise.Scale`) at
a level shared by all cells compared (Bonferroni: 0.05 over all of them, so that a table of two
equal runs has any false alarm in one case of twenty), ``between`` what two environments alone
make, and ``least`` bytes that are never a difference (:func:`least_bytes`). Beyond it the cell
is ``regressed`` or ``improved``. Within it, it is ``same``, or
``noisy`` where the difference is notable and only the noise forbids to call it one.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.cells import cells
from bench.analysis.comparable import (
    CONTEXT,
    differences,
    lost_delegation,
    program_changes,
    program_differs,
)
from bench.analysis.noise import LEAST_BYTES, Noise, between_environments
from bench.analysis.pairing import AXES, Pairing, pair

Numbers = NDArray[np.float64]
VerdictName = Literal["regressed", "improved", "same", "noisy", "incomparable"]
FLOOR = 0.02
"""Relative difference that is never called one, unless the user sets another: two runs of one
cell on one machine have read 2.0% apart (tiny fp32 encode, five runs: 160.0 to 163.3 MB)."""
_NOTABLE = 0.03
_ORDER: tuple[VerdictName | None, ...] = ("regressed", "noisy", "improved", "same", None)
"""Of the verdicts on the metrics of one pair the first is the pair's; None: not measured."""
_LEVEL = 0.05


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


@dataclass(frozen=True, slots=True)
class Line:
    """One pair of cells.

    Attributes:
        pair: its columns, ``before_X`` and ``after_X``.
        figures: every metric that either side has.
        verdict: of the metrics that are judged, the status and the delegation.
        reasons: why it can't be compared, or what else decided the verdict.
        notes: what else changed in the program.
        forced: reasons not to compare it that the user overrode.

    """

    pair: Any
    figures: dict[str, Figure]
    verdict: VerdictName
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """All pairs of two tables, and the cells that have no counterpart."""

    lines: tuple[Line, ...]
    pairing: Pairing
    floor: float

    def count(self, verdict: VerdictName) -> int:
        """Return how many cells have a verdict."""
        return sum(line.verdict == verdict for line in self.lines)

    @property
    def decided(self) -> bool:
        """Whether every cell before was compared, by figures that the noise lets tell.

        Cells that are new after have nothing that they could have regressed from.
        """
        open_ones = self.count("incomparable") + self.count("noisy")
        left = len(self.pairing.only_before) + len(self.pairing.ambiguous)
        return bool(self.lines) and not open_ones and not left


def compare(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    floor: float = FLOOR,
    force: Collection[str] = (),
    judged: Collection[str] = JUDGED,
    earlier: Iterable[pd.DataFrame] = (),
) -> Comparison:
    """Compare two tables of measurements.

    Args:
        before: rows, with the columns of :data:`bench.analysis.cells.COLUMNS`.
        after: the same.
        floor: relative difference that is never called one.
        force: reasons (:data:`bench.analysis.comparable.REASONS`) not to refuse a pair for, or
            ``all``.
        judged: names of the metrics that the verdict is about.
        earlier: tables with repeats of this kind of measurement, to know the noise from.

    """
    noise = Noise([before, after, *earlier])
    pairing = pair(cells(before), cells(after))
    pairs = pairing.pairs
    level = 1 - _LEVEL / max(len(pairs) * len(judged), 1)
    figures = {
        name: _figures(pairs, metric, _reaches(pairs, metric, noise, level), floor)
        for name, metric in METRICS.items()
    }
    changed = program_differs(pairs)
    lines = []
    for row, why, differs, *own in zip(
        _plain(pairs), differences(pairs), changed, *figures.values(), strict=True
    ):
        named = {
            name: f for name, f in zip(figures, own, strict=True) if not f.before is f.after is None
        }
        refused = [words for name, words in why if name not in force and "all" not in force]
        forced = tuple(words for name, words in why if words not in refused)
        notes = tuple(program_changes(row)) if differs else ()
        if refused:
            shown = {name: figure._replace(verdict=None) for name, figure in named.items()}
            lines.append(Line(row, shown, "incomparable", tuple(refused), notes, forced))
            continue
        verdict, reasons = _judge(row, named, judged, lost_delegation(row) if differs else "")
        lines.append(Line(row, named, verdict, reasons, notes, forced))
    return Comparison(tuple(lines), pairing, floor)


_READ = tuple(
    dict.fromkeys(
        (
            *AXES,
            *CONTEXT.values(),
            *(metric.column for metric in METRICS.values()),
            *("status", "reason", "n", "cell_key", "exporter", "runtime", "undelegated_ops"),
            *("delegates", "delegated_nodes", "undelegated_nodes"),
        )
    )
)


def _plain(pairs: pd.DataFrame) -> Iterator[Any]:
    """Give the pairs as objects of plain values, None where there is none.

    Iterating over the columns of pandas boxes each value anew, ten times as slowly.
    """
    names = [f"{side}_{column}" for side in ("before", "after") for column in _READ]
    make = namedtuple("Pair", names)  # type: ignore[misc]
    columns = [
        pairs[name].astype("object").where(pairs[name].notna(), None).tolist() for name in names
    ]
    return map(make._make, zip(*columns, strict=True))


def _reaches(pairs: pd.DataFrame, metric: Metric, noise: Noise, level: float) -> Numbers:
    """Return for each pair what the noise alone may make of a metric, relative to before."""
    if metric.what == "exact":
        return np.zeros(len(pairs))
    names = ("method", "backend", "precision", "allocator", "n")
    kinds = pairs[[*(f"before_{name}" for name in names), "after_n"]]
    kinds = kinds.fillna(dict.fromkeys(kinds.columns[:4], ""))
    # Few pairs are of another kind than all others: each kind is worked out once.
    kind = kinds.groupby(list(kinds.columns), sort=False).ngroup().to_numpy()
    reaches = []
    for (
        method,
        backend,
        precision,
        allocator,
        n_before,
        n_after,
    ) in kinds.drop_duplicates().itertuples(index=False, name=None):
        scale = noise.scale(metric.what, method, backend, precision)
        between = (
            between_environments(method, backend, allocator) if metric.what == "memory" else 0.0
        )
        reaches.append(math.hypot(scale.reach(n_before, n_after, level), between))
    return np.array(reaches, dtype=float)[kind]


def least_bytes(floor: float, metric: Metric | None = None) -> float:
    """Return the difference in bytes that is never called one, however small the figures are.

    A floor is taken of 50 MB at least, but counts for no more than 1 MB then: so it is 1 MB by
    default, and less where the user asks for a smaller floor. Zero for what is no memory.
    """
    if metric is not None and metric.what != "memory":
        return 0.0
    return min(LEAST_BYTES, LEAST_BYTES * floor / FLOOR)


def _figures(pairs: pd.DataFrame, metric: Metric, noise: Numbers, floor: float) -> list[Figure]:
    """Judge one metric of all pairs."""
    before, after = (
        pairs[f"{side}_{metric.column}"].to_numpy("float64", na_value=np.nan)
        for side in ("before", "after")
    )
    difference, size, notable = after - before, np.abs(before), max(_NOTABLE, floor)
    bound = np.maximum(np.maximum(noise, floor) * size, least_bytes(floor, metric))
    limit = np.divide(bound, size, out=np.zeros(len(pairs)), where=size > 0)
    verdict = np.select(
        [
            np.isnan(difference),
            difference > bound,
            difference < -bound,
            (np.abs(difference) > notable * size) & (noise > notable),
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


def _judge(
    row: Any, figures: Mapping[str, Figure], judged: Collection[str], lost: str
) -> tuple[VerdictName, tuple[str, ...]]:
    """Return the verdict on a pair that may be compared, with what else than figures decided it."""
    reasons: list[str] = []
    verdict = _worst([figures[name].verdict for name in judged if name in figures])
    lacking = [name for name in judged if name in figures and figures[name].verdict is None]
    if lacking and verdict != "regressed":
        verdict = "incomparable"
        reasons.append(f"{', '.join(lacking)}: measured on one side only")
    elif verdict == "incomparable":
        reasons.append(f"{', '.join(judged)}: not measured")
    if row.before_status == "ok" != row.after_status:
        verdict, reasons = "regressed", [f"{row.after_status}: {row.after_reason}"]
    elif row.after_status == "ok" != row.before_status:
        verdict, reasons = "improved", [f"was {row.before_status}: {row.before_reason}"]
    if lost:
        verdict = "regressed"
        reasons.append(lost)
    return verdict, tuple(reasons)


def _worst(verdicts: Collection[VerdictName | None]) -> VerdictName:
    return min(verdicts, key=_ORDER.index, default=None) or "incomparable"


def _without_nan(values: Numbers) -> list[float | None]:
    found = values.astype(object)
    found[np.isnan(values)] = None
    return list(found)
