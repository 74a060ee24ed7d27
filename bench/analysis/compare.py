"""Before against after, cell by cell, with a verdict that the noise allows. Pure.

With a and b the medians before and after, a difference d = b - a is beyond the noise where

    |d| > max(floor |a|,  |a| sqrt(reach^2 + between^2))

``reach`` is what the noise of single processes explains (:class:`bench.analysis.noise.Scale`) at
a level shared by all cells compared (Bonferroni: 0.05 over all of them, so that a table of two
equal runs has any false alarm in one case of twenty), ``between`` what two environments alone
make. Beyond it the cell is ``regressed`` or ``improved``. Within it, it is ``same``, or
``noisy`` where the difference is notable and only the noise forbids to call it one.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bench.analysis.cells import cells
from bench.analysis.comparable import CONTEXT, differences, lost_delegation, program_changes
from bench.analysis.noise import Noise, between_environments
from bench.analysis.pairing import AXES, Pairing, pair

VerdictName = Literal["regressed", "improved", "same", "noisy", "incomparable"]
FLOOR = 0.02
"""Relative difference that is never called one, unless the user sets another: two runs of one
cell on one machine have read 2.0% apart (tiny fp32 encode, five runs: 160.0 to 163.3 MB)."""
_NOTABLE = 0.03
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


@dataclass(frozen=True)
class Figure:
    """One metric of one pair.

    Attributes:
        before: median before, bytes or seconds; None if it was not measured.
        after: median after.
        limit: difference, relative to before, that the noise or the floor explains.
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


@dataclass(frozen=True)
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
    judge = _Judge(noise, floor, tuple(judged), 1 - _LEVEL / max(len(pairs) * len(judged), 1))
    lines = []
    for row, why in zip(_plain(pairs), differences(pairs), strict=True):
        refused = [words for name, words in why if name not in force and "all" not in force]
        forced = [words for name, words in why if words not in refused]
        lines.append(judge.line(row, refused, forced))
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


class _Judge:
    def __init__(self, noise: Noise, floor: float, judged: tuple[str, ...], level: float) -> None:
        self._noise = noise
        self._floor = floor
        self._judged = judged
        self._level = level

    def line(self, row: Any, refused: list[str], forced: list[str]) -> Line:
        figures = {name: self._figure(row, metric) for name, metric in METRICS.items()}
        figures = {name: f for name, f in figures.items() if not f.before is f.after is None}
        notes = tuple(program_changes(row))
        if refused:
            shown = {n: Figure(f.before, f.after, f.limit, None) for n, f in figures.items()}
            return Line(row, shown, "incomparable", tuple(refused), notes, tuple(forced))
        reasons: list[str] = []
        verdicts = [figures[name].verdict for name in self._judged if name in figures]
        verdict = _worst([v for v in verdicts if v is not None])
        if row.before_status == "ok" != row.after_status:
            verdict = "regressed"
            reasons.append(f"{row.after_status}: {row.after_reason}")
        elif row.after_status == "ok" != row.before_status:
            verdict = "improved"
            reasons.append(f"was {row.before_status}: {row.before_reason}")
        lost = lost_delegation(row)
        if lost:
            verdict = "regressed"
            reasons.append(lost)
        return Line(row, figures, verdict, tuple(reasons), notes, tuple(forced))

    def _figure(self, row: Any, metric: Metric) -> Figure:
        before = _number(getattr(row, f"before_{metric.column}"))
        after = _number(getattr(row, f"after_{metric.column}"))
        if before is None or after is None:
            return Figure(before, after, 0.0, None)
        noise = 0.0 if metric.what == "exact" else self._reach(row, metric)
        limit = max(self._floor, noise)
        return Figure(before, after, limit, _verdict(before, after, limit, noise, self._floor))

    def _reach(self, row: Any, metric: Metric) -> float:
        method, backend = str(row.before_method), str(row.before_backend)
        scale = self._noise.scale(metric.what, method, backend, str(row.before_precision))
        reach = scale.reach(int(row.before_n), int(row.after_n), self._level)
        between = between_environments(method, backend, row.before_allocator or "")
        return math.hypot(reach, between if metric.what == "memory" else 0.0)


def _verdict(before: float, after: float, limit: float, noise: float, floor: float) -> VerdictName:
    difference = after - before
    if abs(difference) > limit * abs(before):
        return "regressed" if difference > 0 else "improved"
    notable = max(_NOTABLE, floor)
    return "noisy" if abs(difference) > notable * abs(before) and noise > notable else "same"


def _worst(verdicts: Collection[VerdictName]) -> VerdictName:
    order: tuple[VerdictName, ...] = ("regressed", "noisy", "improved", "same")
    return next((verdict for verdict in order if verdict in verdicts), "incomparable")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
