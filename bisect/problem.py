"""What is searched, and what was measured so far: plain frozen data.

Revisions are numbered 0 (the good endpoint) to `last` (the bad endpoint).
Candidate i, 1 <= i <= last, is the culprit when every revision before i has the
level before, and i and every later one have the level after.
"""

from __future__ import annotations

import math
from bisect.noise import Direction
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

_EXACT = 3
"""An exact value counts as so many runs: no outlier, and a level of its own where it differs."""
_ALIKE = 1e-9
"""The weight of a candidate that can't have changed a thing, next to one of the others' 1."""
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Observation:
    """One measurement of one revision. The same index may come many times."""

    index: int
    value: float


@dataclass(frozen=True)
class Problem:
    """A range of revisions and what is known of it before measuring.

    prior       weight of candidate i at position i - 1; empty: all alike
    untestable  revisions known not to give a value; they may still be culprits
    confidence  how sure to be before a commit is named
    max_repeats the most runs that one revision may get
    minor_share steps below this share of the endpoint difference are not chased
    exact       the metric has no noise: one run at each endpoint is enough
    around      the candidate whose step is looked at where several are seen; None: the biggest's
    """

    last: int
    direction: Direction = "any"
    prior: tuple[float, ...] = ()
    untestable: frozenset[int] = frozenset()
    confidence: float = 0.95
    max_repeats: int = 16
    minor_share: float = 0.1
    exact: bool = False
    around: int | None = None

    def __post_init__(self) -> None:
        if self.last < 1:
            raise ValueError(f"a range needs two revisions, last must be 1 or more: {self.last}")
        if self.prior and len(self.prior) != self.last:
            raise ValueError(f"prior has {len(self.prior)} weights for {self.last} candidates")
        if self.prior and not (min(self.prior) >= 0 and 0 < sum(self.prior) < math.inf):
            raise ValueError("prior weights must be finite, not negative, and not all zero")
        if not 0.5 <= self.confidence < 1:
            raise ValueError(f"confidence must be in [0.5, 1): {self.confidence}")
        if self.max_repeats < 1:
            raise ValueError(f"max_repeats must be 1 or more: {self.max_repeats}")
        if not 0 < self.minor_share < 1:
            raise ValueError(f"minor_share must be between 0 and 1: {self.minor_share}")
        outside = [i for i in self.untestable if not 0 < i < self.last]
        if outside:
            raise ValueError(f"untestable revisions must lie between the endpoints: {outside}")

    def stretch(self, low: int, high: int, untestable: Iterable[int]) -> Problem:
        """Return the part between two revisions as a problem of its own, numbered from 0.

        >>> part = Problem(4, prior=(1, 2, 3, 4)).stretch(1, 3, [2])
        >>> part.last, part.prior, sorted(part.untestable)
        (2, (2, 3), [1])
        """
        return replace(
            self,
            around=None,
            last=high - low,
            prior=self.prior[low:high],
            untestable=frozenset(i - low for i in untestable),
        )


@dataclass(frozen=True)
class State:
    """A problem and the observations made so far, endpoints included.

    `groups` are the values of each measured revision, both in order; an exact value is there
    several times, since it would be the same again.
    """

    problem: Problem
    observations: tuple[Observation, ...]
    groups: tuple[tuple[int, tuple[float, ...]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values: dict[int, list[float]] = {0: [], self.problem.last: []}
        for observation in self.observations:
            if not 0 <= observation.index <= self.problem.last:
                raise ValueError(f"observation outside the range: {observation}")
            if observation.index in self.problem.untestable:
                raise ValueError(f"observation of an untestable revision: {observation}")
            if not math.isfinite(observation.value):
                raise ValueError(f"observation is not a finite number: {observation}")
            values.setdefault(observation.index, []).append(observation.value)
        needed = 1 if self.problem.exact else 2
        for end in (0, self.problem.last):
            if len(values[end]) < needed:
                raise ValueError(f"endpoint {end} needs {needed} observations or more")
        if self.problem.exact:
            values = {index: seen * _EXACT for index, seen in values.items()}
        object.__setattr__(
            self, "groups", tuple((i, tuple(sorted(values[i]))) for i in sorted(values))
        )

    @property
    def difference(self) -> float:
        """The bad endpoint's median minus the good one's."""
        return median(self.groups[-1][1]) - median(self.groups[0][1])

    def observe(self, index: int, *values: float) -> State:
        """Return the state after measuring `index` once more, or several times."""
        new = tuple(Observation(index, value) for value in values)
        return replace(self, observations=self.observations + new)

    def looking_at(self, candidate: int | None) -> State:
        """Return the state with the focus on a candidate's step; None for the biggest step."""
        return replace(self, problem=replace(self.problem, around=candidate))

    def without(self, index: int) -> State:
        """Return the state after learning that `index` gives no value."""
        untestable = self.problem.untestable | {index}
        kept = tuple(o for o in self.observations if o.index != index)
        return State(replace(self.problem, untestable=untestable), kept)


def relevance_prior(
    last: int, relevant: Iterable[int], alike: Iterable[int] = (), doubt: float = 0.02
) -> tuple[float, ...]:
    """Weights for candidates of which only the `relevant` should matter.

    `doubt` is the chance that the culprit is one of the others all the same, but for those
    `alike`: what they build is what was built before them. These keep a weight next to nothing,
    so that every stretch of candidates has some.

    >>> relevance_prior(4, [3], doubt=0.03)
    (0.01, 0.01, 0.97, 0.01)
    """
    chosen = set(relevant)
    ruled_out = set(alike) - chosen
    if not all(1 <= i <= last for i in chosen | ruled_out):
        raise ValueError(f"relevant candidates, and those alike, must be in 1..{last}")
    if not 0 < doubt < 1:
        raise ValueError(f"doubt must be between 0 and 1: {doubt}")
    others = last - len(chosen) - len(ruled_out)
    inside, outside = 1.0, 1.0
    if chosen and others:
        inside, outside = (1 - doubt) / len(chosen), doubt / others
    weights = [
        inside if i in chosen else outside * _ALIKE if i in ruled_out else outside
        for i in range(1, last + 1)
    ]
    whole = sum(weights)
    return tuple(weight / whole for weight in weights)
