"""Exact numbers of a program that change along with a noisy metric. Pure.

The size of the file, the buffers planned for it, what is delegated: the same export gives the same
number each time. Where one of them changes between the endpoints as the metric does, it is
searched first: one run tells a revision's side, whatever the metric's noise. That both change over
the range does not say that they change at the same commit: the metric confirms it there, or is
searched itself.
"""

from __future__ import annotations

from bisect.metrics import Unit
from bisect.posterior import posterior
from bisect.problem import Observation, Problem, State
from bisect.search import Verdict, next_probes, verdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

COMPANIONS = {"planned": 1.0, "pte_size": 4096.0, "undelegated": 1.0, "delegates": 1.0}
"""Metrics that are exact, and the least change of each that counts.

Below 4096 bytes, the alignment of a segment, a file's size says nothing of memory.
"""
_IN_BYTES = ("planned", "pte_size")
_ALIKE = 4.0
"""A change of bytes within this factor of the metric's own probably is the metric's own."""
_NOTABLE = 0.1
"""A change of bytes below this share of the metric's is about something else."""


@dataclass(frozen=True)
class Companion:
    """An exact number of the program that differs between two revisions."""

    name: str
    before: float
    after: float


Outcome = Literal["parted", "narrowed", "not_compared", "not_confirmed", "confirmed"]
"""How the search by a companion ended.

parted         the metric was seen to step elsewhere
narrowed       it names no commit: it steps among some whose programs can't be made
not_compared   the commit it names and its parent could not be run in turn
not_confirmed  run in turn, the metric did not step there
confirmed      it did
"""


@dataclass(frozen=True)
class Trial:
    """A search by a companion."""

    companion: Companion
    """With its values at the ends of the stretch."""
    outcome: Outcome
    index: int | None = None
    """The commit it named; None where it named none."""
    before: float | None = None
    """Its value at the parent of that commit."""
    after: float | None = None
    """Its value at that commit."""

    @property
    def steps(self) -> bool:
        """Whether it was seen to change at the commit it named."""
        return None not in (self.before, self.after) and self.before != self.after


def choose(
    before: Mapping[str, float], after: Mapping[str, float], difference: float, unit: Unit
) -> Companion | None:
    """Return the companion to search by; None where none changes as the metric does.

    First bytes that change as much as a metric in bytes does, then counts, then other bytes.

    Args:
        before: exact numbers of the program at the good end.
        after: the same at the bad end.
        difference: the metric's, bad minus good.
        unit: the metric's.

    >>> choose({"pte_size": 9e6, "delegates": 4}, {"pte_size": 12e6, "delegates": 6}, 3e6, "bytes")
    Companion(name='pte_size', before=9000000.0, after=12000000.0)
    >>> choose({"pte_size": 9e6}, {"pte_size": 9e6 + 512}, 3e6, "bytes")
    """
    ranked = []
    for order, (name, least) in enumerate(COMPANIONS.items()):
        if name not in before or name not in after:
            continue
        change = after[name] - before[name]
        if abs(change) < least:
            continue
        rank = 1
        if name in _IN_BYTES and unit == "bytes":
            ratio = change / difference if difference else 0.0
            if abs(ratio) < _NOTABLE:
                continue
            rank = 0 if 1 / _ALIKE <= ratio <= _ALIKE else 2
        ranked.append((rank, order, Companion(name, before[name], after[name])))
    return min(ranked, default=(0, 0, None))[2]


@dataclass(frozen=True)
class Trail:
    """A search by a companion between two revisions, so far.

    Attributes:
        problem: the whole range.
        low: where the stretch begins.
        high: where it ends.
        seen: the companion's value by revision; None where it has none.
    """

    problem: Problem
    low: int
    high: int
    seen: Mapping[int, float | None]

    @property
    def state(self) -> State:
        """What the companion says, as an exact problem numbered from 0."""
        between = {i: v for i, v in self.seen.items() if self.low <= i <= self.high}
        lost = {i for i, v in between.items() if v is None}
        part = self.problem.stretch(self.low, self.high, lost)
        known = [Observation(i - self.low, v) for i, v in between.items() if v is not None]
        return State(replace(part, direction="any", exact=True), tuple(known))

    def saw(self, values: Mapping[int, float | None]) -> Trail:
        """Return the trail after more looks."""
        return replace(self, seen={**self.seen, **values})

    def next(self, count: int = 1) -> tuple[int, ...]:
        """Return up to `count` revisions to look at next; none where nothing is left to learn."""
        wanted = [self.low + probe.index for probe in next_probes(self.state, count)]
        return tuple(index for index in wanted if index not in self.seen)

    def named(self) -> Verdict | None:
        """Return what the companion names, numbered from 0; None where it names no commit."""
        found = verdict(self.state)
        return found if found.status == "found" else None

    def bracket(self) -> tuple[int, int]:
        """Return the nearest revisions seen before and after the companion's likeliest step."""
        top = self.low + posterior(self.state).top
        known = [i for i, v in self.seen.items() if v is not None]
        return max(i for i in known if i < top), min(i for i in known if i >= top)


def parted(trail: Trail, metric: State) -> bool:
    """Say whether the metric was seen to step elsewhere than its companion does.

    Where its own probability of stepping between the companion's nearest neighbours fell to a
    twentieth (at 95% confidence) of what it was before anything was measured.

    Args:
        trail: the companion's search.
        metric: what is known of the metric in the same stretch.
    """
    belief = posterior(metric)
    low, high = (end - trail.low for end in trail.bracket())
    weights = metric.problem.prior or (1.0,) * metric.problem.last
    expected = sum(weights[low:high]) / sum(weights)
    changed = float(belief.probabilities.sum())
    inside = float(belief.probabilities[low + 1 : high + 1].sum())
    return inside < (1 - metric.problem.confidence) * expected * changed
