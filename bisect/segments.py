"""The levels that the observations show, when there are more than two.

Penalized segmentation, solved exactly by dynamic programming over the measured
revisions (Jackson et al. 2005, optimal partitioning), with a loss that grows as
the square of the residual up to `_CLIP` sigma and no further (Fearnhead and
Rigaill 2019, change points in the presence of outliers). A new level costs
`_PENALTY`, more than one wild value can cost and less than two: so a level is
believed when two measurements agree on it.
"""

from __future__ import annotations

from bisect.noise import agrees, noise_of
from bisect.problem import State
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median

import numpy as np

_CLIP = 3.0
_PENALTY = 14.0
# What stands in for no noise at all, as a share of the endpoint difference.
SMALLEST = 1e-6


@dataclass(frozen=True)
class Segment:
    """Neighbouring measured revisions of one level."""

    first: int
    last: int
    level: float
    runs: int


@dataclass(frozen=True)
class Step:
    """A change of level: the culprit is one of `low + 1 .. high`."""

    low: int
    high: int
    size: float
    share: float


@lru_cache(maxsize=16)  # one state is asked several times in a row
def segments(state: State) -> tuple[Segment, ...]:
    """List the levels, from the good endpoint to the bad one.

    >>> from bisect.problem import Observation, Problem
    >>> seen = [(0, 10.0), (0, 10.1), (3, 19.9), (4, 20.0), (9, 50.1), (9, 50.0)]
    >>> state = State(Problem(9), tuple(Observation(i, v) for i, v in seen))
    >>> [(s.first, s.last, round(s.level)) for s in segments(state)]
    [(0, 0, 10), (3, 4, 20), (9, 9, 50)]
    """
    noise = noise_of([values for _, values in state.groups])
    sigma = max(noise.cautious, SMALLEST * abs(state.difference)) or 1.0
    levels = np.unique([median(values) for _, values in state.groups])
    loss = np.array(
        [
            np.minimum(((np.array(values)[:, None] - levels) / sigma) ** 2, _CLIP**2).sum(axis=0)
            for _, values in state.groups
        ]
    )
    total = np.concatenate([np.zeros((1, len(levels))), np.cumsum(loss, axis=0)])

    best = np.zeros(len(loss) + 1)
    start = np.zeros(len(loss) + 1, dtype=int)
    for end in range(1, len(best)):
        costs = best[:end] + (total[end] - total[:end]).min(axis=1) + _PENALTY
        start[end] = int(np.argmin(costs))
        best[end] = costs[start[end]]

    found: list[Segment] = []
    end = len(loss)
    while end > 0:
        begin = int(start[end])
        center = levels[int(np.argmin(total[end] - total[begin]))]
        values = np.array([v for _, group in state.groups[begin:end] for v in group])
        near = values[np.abs(values - center) <= _CLIP * sigma]
        found.append(
            Segment(
                state.groups[begin][0],
                state.groups[end - 1][0],
                float(near.mean()),
                len(values),
            )
        )
        end = begin
    return tuple(reversed(found))


def steps(state: State) -> tuple[Step, ...]:
    """List the changes of level between neighbouring segments, with their shares."""
    pieces = segments(state)
    whole = pieces[-1].level - pieces[0].level
    return tuple(
        Step(a.last, b.first, b.level - a.level, (b.level - a.level) / whole if whole else 0.0)
        for a, b in pairwise(pieces)
    )


@dataclass(frozen=True)
class Focus:
    """The stretch in which one step is looked for, and whether there are others.

    `before` and `after` are the levels at its ends: of all runs there that agree, since an end
    between two steps may have had one run only.
    """

    low: int
    high: int
    before: float
    after: float
    multi_step: bool


def focus(state: State) -> Focus:
    """Say where to look for one step: between the notable steps beside it.

    It is the step that may be the candidate's the problem is `around`; else the biggest.
    """
    problem = state.problem
    low, high = 0, problem.last
    before, after = median(state.groups[0][1]), median(state.groups[-1][1])
    floor = problem.minor_share * abs(state.difference)
    notable = [step for step in steps(state) if abs(step.size) >= floor]
    wanted = [i for i, step in enumerate(notable) if agrees(step.size, problem.direction)]
    if len(notable) < 2 or not wanted:
        return Focus(low, high, before, after, False)
    chosen = max(wanted, key=lambda i: abs(notable[i].size))
    if problem.around is not None:
        its = [i for i in wanted if notable[i].low < problem.around <= notable[i].high]
        chosen = its[0] if its else chosen
    pieces = segments(state)
    if chosen > 0:
        low = notable[chosen - 1].high
        before = next(piece.level for piece in pieces if piece.first == low)
    if chosen + 1 < len(notable):
        high = notable[chosen + 1].low
        after = next(piece.level for piece in pieces if piece.last == high)
    return Focus(low, high, before, after, True)
