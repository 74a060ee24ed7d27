"""Does anything accumulate from execution to execution? Judged by a slope with its interval.

    memory after n executions = a + step [n > 1] + slope n

What the first execution leaves behind (``step``) is no accumulation, so the slope is that of the
marks after the first where there are two of them, else of the first and the one other. It is the
least-squares slope, b = sum((n - mean n) y) / S with S = sum((n - mean n)^2); its standard error
is sigma / sqrt(S), with sigma the larger of the residuals' and the known noise of one process.
The marks are memory after the executions where that was recorded, else the peak.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.conclusion import Conclusion
from bench.analysis.design import command
from bench.analysis.noise import LEAST_BYTES
from bench.analysis.observations import LEVEL, Observation
from bench.statistics import t_quantile
from bench.values import format_size

# Growth over the whole range of executions below this is none: a page here and there.
_FLAT = 0.01


@dataclass(frozen=True)
class Slope:
    """Growth of one cell's memory, in bytes per execution.

    Attributes:
        low: lower end of its 95% interval.
        high: upper end.
        span: executions between the first and the last mark it is told by.
        warm: whether the step of the first execution was told apart.

    """

    marks: tuple[Observation, ...]
    slope: float
    low: float
    high: float
    span: int
    warm: bool

    @property
    def flat(self) -> bool:
        """Whether even the upper end means nothing over the executions measured."""
        bound = max(_FLAT * self.marks[0].value, LEAST_BYTES)
        return max(abs(self.low), abs(self.high)) * self.span <= bound

    @property
    def grows(self) -> bool:
        """Whether even the lower end is growth that matters, and no step of the first execution."""
        bound = max(_FLAT * self.marks[0].value, LEAST_BYTES)
        return self.warm and self.low > 0 and self.slope * self.span > bound


def slope_of(marks: Sequence[Observation]) -> Slope | None:
    """Estimate the slope over marks with different counts; None for fewer than two of them."""
    ordered = sorted((m for m in marks if m.iterations), key=lambda m: m.iterations or 0)
    warm = [mark for mark in ordered if (mark.iterations or 0) > 1]
    used = warm if len(warm) > 1 else ordered
    if len({mark.iterations for mark in used}) < 2 or any(mark.censored for mark in used):
        return None
    counts = [float(mark.iterations or 0) for mark in used]
    steady = all(mark.steady is not None for mark in used)
    values = [float(m.steady if steady and m.steady is not None else m.value) for m in used]
    centre, level = sum(counts) / len(counts), sum(values) / len(values)
    spread = sum((count - centre) ** 2 for count in counts)
    slope = sum((c - centre) * v for c, v in zip(counts, values, strict=True)) / spread
    left = [v - level - slope * (c - centre) for c, v in zip(counts, values, strict=True)]
    freedom = len(used) - 2
    residual = math.sqrt(sum(error**2 for error in left) / freedom) if freedom else 0.0
    scale = used[0].scale
    known = scale.sigma * abs(level) / math.sqrt(used[0].n)
    told_by = scale.freedom if known >= residual else freedom
    width = t_quantile(0.5 + LEVEL / 2, told_by) * max(known, residual) / math.sqrt(spread)
    span = round(counts[-1] - counts[0])
    return Slope(tuple(ordered), slope, slope - width, slope + width, span, used is warm)


def accumulation(found: Sequence[Observation]) -> list[Conclusion]:
    """Conclude on accumulation, place by place."""
    groups: dict[tuple[str, ...], list[Observation]] = defaultdict(list)
    for one in found:
        if one.iterations:
            groups[one.where].append(one)
    slopes = [slope for marks in groups.values() if (slope := slope_of(marks)) is not None]
    said: list[Conclusion] = []
    for place in dict.fromkeys(slope.marks[0].place for slope in slopes):
        here = [slope for slope in slopes if slope.marks[0].place == place]
        growing = [slope for slope in here if slope.grows]
        said.extend(_growth(slope) for slope in growing[:3])
        flat = [slope for slope in here if slope.flat]
        if flat and len(flat) == len(here):
            said.append(_flatness(flat, place))
        unclear = [slope for slope in here if not slope.flat and not slope.grows]
        if unclear:
            said.append(_unclear(unclear, len(here)))
    return said


def _flatness(flat: Sequence[Slope], place: str) -> Conclusion:
    worst = max(flat, key=lambda slope: slope.high * slope.span)
    counts = dict.fromkeys(tuple(sorted({m.iterations or 0 for m in s.marks})) for s in flat)
    listed = ", or at ".join(f"{', '.join(map(str, c[:-1]))} and {c[-1]}" for c in counts)
    methods = ", ".join(dict.fromkeys(slope.marks[0].method for slope in flat))
    text = (
        f"not accumulation: flat at {listed} executions ({methods}, {_cells(len(flat))}): "
        f"{_rate(worst.slope)} per execution, 95% interval {_rate(worst.low)} to "
        f"{_rate(worst.high)}, in the least certain of them"
    )
    evidence = tuple(mark.key for slope in flat for mark in slope.marks)
    return Conclusion("rules_out", "iterations", f"{text}; {place}", evidence)


def _growth(slope: Slope) -> Conclusion:
    first = slope.marks[0]
    text = (
        f"{first.name} accumulates: {_rate(slope.slope)} per execution "
        f"(95% interval {_rate(slope.low)} to {_rate(slope.high)}) over {slope.span} executions"
    )
    return Conclusion("finding", "iterations", text, tuple(m.key for m in slope.marks))


def _unclear(unclear: Sequence[Slope], of: int) -> Conclusion:
    worst = max(unclear, key=lambda slope: slope.high * slope.span)
    first = worst.marks[0]
    why = "" if worst.warm else ", and the step of the first execution can't be told apart"
    text = (
        f"accumulation is not decided in {len(unclear)} of {_cells(of)}: {first.name} "
        f"{_rate(worst.slope)} per execution, 95% interval {_rate(worst.low)} to "
        f"{_rate(worst.high)}{why}"
    )
    evidence = tuple(mark.key for slope in unclear for mark in slope.marks)
    longer = command([first], {}, "iterations=1,5,20,100", "repeats=3")
    return Conclusion("open", "iterations", text, evidence, longer)


def _rate(slope: float) -> str:
    return f"{slope / 1e6:+.3f} MB" if abs(slope) < 1e6 else format_size(slope)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
