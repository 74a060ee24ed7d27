"""What changing one axis alone does, over all cells in which nothing else changes. Pure.

For each such pair of cells the relative difference d = b / a - 1 is judged against what the noise
of the two (and the environments) may make of it. Of an axis that is nowhere beyond it, nothing
is left to explain; of one that is, the range over the cells is the uncertainty that matters: it
says how far the effect carries from one cell to another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from bench.analysis.conclusion import Conclusion
from bench.analysis.figures import FLOOR
from bench.analysis.observations import Observation, Stratum, notable, rank, reach, strata
from bench.values import format_percent

_MOST = 4
_NOTABLE = 0.05
"""An effect that may be this large for all that the noise allows is not ruled out."""
_GENERIC = ("commit", "exporter", "runtime", "backend")


@dataclass(frozen=True)
class Effect:
    """The change from one level to the next in one cell.

    Attributes:
        relative: b / a - 1.
        width: half the 95% interval of ``relative``.

    """

    before: Observation
    after: Observation
    relative: float
    width: float

    @property
    def beyond(self) -> bool:
        """Whether it is more than noise and more than the floor of a comparison."""
        return abs(self.relative) > max(self.width, FLOOR)


def effects(found: Sequence[Observation]) -> list[Conclusion]:
    """Conclude on each axis that has levels a person would put side by side."""
    big = notable(found)
    usable = [one for one in found if one.value > 0 and not one.censored and big(one)]
    said = []
    for axis in _GENERIC:
        crossing = axis in ("exporter", "runtime")
        groups = strata(usable, axis, lambda one, c=crossing: bool(one.runtime) if c else True)  # type: ignore[misc]
        steps = [_conclusion(axis, *step, pairs) for step, pairs in _steps(groups).items()]
        said += _fewest(axis, steps)
    return said + _growth(usable)


def _fewest(axis: str, steps: Sequence[tuple[float, Conclusion]]) -> list[Conclusion]:
    """Keep the largest effects and the widest of what is ruled out; say how many are left out."""
    said = []
    for kind in ("rules_out", "finding", "open"):
        own = sorted((s for s in steps if s[1].kind == kind), key=lambda step: -step[0])
        said += [conclusion for _, conclusion in own[:_MOST]]
        if len(own) > _MOST:
            last = said[-1]
            text = f"{last.text}; {len(own) - _MOST} more steps of {axis} have smaller ones"
            said[-1] = replace(last, text=text)
    return said


def _steps(groups: Sequence[Stratum]) -> dict[tuple[str, str, str], list[Effect]]:
    """Collect the effects of each step from one level to the next, by kind of figure."""
    found: dict[tuple[str, str, str], list[Effect]] = defaultdict(list)
    for group in groups:
        levels = list(group.levels)
        for first, second in pairwise(levels):
            before, after = group.levels[first], group.levels[second]
            width = math.hypot(reach(before, after), max(before.between, after.between))
            effect = Effect(before, after, after.value / before.value - 1, width)
            found[(first, second, before.kind)].append(effect)
    return found


def _conclusion(
    axis: str, first: str, second: str, kind: str, pairs: Sequence[Effect]
) -> tuple[float, Conclusion]:
    """Return the conclusion with the size of the largest effect behind it."""
    evidence = tuple(key for pair in pairs for key in (pair.before.key, pair.after.key))
    beyond = [pair for pair in pairs if pair.beyond]
    largest = max(pairs, key=lambda pair: abs(pair.relative))
    where = f"{largest.before.name} {largest.before.shown} -> {largest.after.shown}"
    of = "1 cell" if len(pairs) == 1 else f"{len(pairs)} cells"
    scale = " (whole-process totals)" if kind == "total" else ""
    if not beyond and any(abs(p.relative) + p.width > _NOTABLE for p in pairs):
        widest = max(pairs, key=lambda pair: abs(pair.relative) + pair.width)
        text = (
            f"{axis}: whether {first} and {second} differ is not decided in {of}{scale}: "
            f"{widest.before.name} {widest.before.shown} -> {widest.after.shown} is within a "
            f"noise of ±{format_percent(widest.width).lstrip('+')}"
        )
        return abs(widest.relative), Conclusion("open", axis, text, evidence)
    if not beyond:
        width = max(max(pair.width for pair in pairs), FLOOR)
        text = (
            f"not the {axis}: {first} and {second} agree within "
            f"{format_percent(abs(largest.relative)).lstrip('+')} in {of}{scale} "
            f"(noise up to ±{format_percent(width).lstrip('+')}); farthest apart: {where}"
        )
        return abs(largest.relative), Conclusion("rules_out", axis, text, evidence)
    low, high = (f(pair.relative for pair in pairs) for f in (min, max))
    if len(pairs) == 1:
        size = f"{format_percent(largest.relative)} (±{largest.width * 100:.1f} points by noise)"
    else:
        middle = median(pair.relative for pair in pairs)
        size = f"{format_percent(low)} to {format_percent(high)}, median {format_percent(middle)}"
    part = "" if len(beyond) == len(pairs) else f", beyond the noise in {len(beyond)}"
    text = f"{axis}: from {first} to {second} {size} in {of}{part}{scale}; largest: {where}"
    return abs(largest.relative), Conclusion("finding", axis, text, evidence)


def _growth(found: Sequence[Observation]) -> list[Conclusion]:
    """Say how the peak grows with the file from the smallest model to the largest."""
    groups = strata(found, "model", lambda one: one.kind == "delta" and bool(one.pte))
    best: dict[str, Stratum] = {}
    for group in groups:
        name = group.high.method
        if name not in best or len(group.levels) > len(best[name].levels):
            best[name] = group
    said = []
    for name, group in best.items():
        ends = sorted(group.levels.values(), key=lambda one: rank(one.model))
        first, last = ends[0], ends[-1]
        text = (
            f"model: {name} takes {_per_file(first)} of its file at {first.model} and "
            f"{_per_file(last)} at {last.model} ({first.precision}, {first.backend}): peak "
            f"{last.value / first.value:.1f}x, file {(last.pte or 0) / (first.pte or 1):.1f}x"
        )
        said.append(Conclusion("finding", "model", text, tuple(one.key for one in ends)))
    return said


def _per_file(one: Observation) -> str:
    return f"{one.value / (one.pte or 1):.2f}x"
