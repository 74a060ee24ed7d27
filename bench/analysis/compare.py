"""Before against after, cell by cell, with a verdict that the noise allows. Pure.

What one metric alone says is :mod:`bench.analysis.figures`'. The level of its noise is shared by
all cells compared (Bonferroni: 0.05 over all of them, so that a table of two equal runs has any
false alarm in one case of twenty).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench.analysis.cells import cells
from bench.analysis.comparable import (
    CONTEXT,
    differences,
    lost_delegation,
    program_changes,
    program_differs,
)
from bench.analysis.figures import FLOOR, JUDGED, METRICS, Figure, VerdictName, figures
from bench.analysis.noise import Noise
from bench.analysis.pairing import AXES, Pairing, pair

_ORDER: tuple[VerdictName | None, ...] = ("regressed", "noisy", "improved", "same", None)
"""Of the verdicts on the metrics of one pair the first is the pair's; None: not measured."""
_LEVEL = 0.05


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
    judgements = {
        name: figures(pairs, metric, noise, level, floor) for name, metric in METRICS.items()
    }
    changed = program_differs(pairs)
    lines = []
    for row, why, differs, *own in zip(
        _plain(pairs), differences(pairs), changed, *judgements.values(), strict=True
    ):
        named = {
            name: figure
            for name, figure in zip(judgements, own, strict=True)
            if not figure.before is figure.after is None
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
