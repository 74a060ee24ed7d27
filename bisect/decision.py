"""Whether enough was measured to name a commit, and what it did.

A commit is named when its probability is high enough, and then only when three
plain things hold too, so that not all rests on the model:

- each endpoint has had a whole block of runs: a small difference that just passed
  the endpoint check is probably smaller than it looked, and its noise larger;
- so have the measured revisions on both sides of it;
- its step is large enough for blocks of the size allowed to tell apart.
"""

from __future__ import annotations

import math
from bisect.noise import noise_of
from bisect.posterior import Posterior, credible_set, posterior
from bisect.problem import State
from bisect.segments import steps
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.statistics import t_quantile

Status = Literal["found", "narrowed", "no_change", "undecided"]

PROBE = 4.0  # a block of ceil((4 sigma / step)^2) runs errs in one case of 44
_PROOF = 6.0  # the same for what everything else is compared with: one in 740
_WILD = 5.0  # residuals beyond so many sigma do not enter the size of a step


@dataclass(frozen=True)
class Verdict:
    """What can be said now.

    found      one candidate has the confidence asked for
    narrowed   the credible set is as small as testable revisions can make it
    no_change  the endpoints' difference did not stand up to further runs
    undecided  none of these (yet): go on, or say so when the budget is spent

    `step`, `step_interval` (95%) and `share` are those of `culprit`, the most
    probable candidate, whatever the status; `held` is the probability of the credible set
    together.
    """

    status: Status
    culprit: int
    confidence: float
    credible_set: tuple[int, ...]
    held: float
    step: float
    step_interval: tuple[float, float]
    share: float


def verdict(state: State) -> Verdict:
    """Say who did it, how sure that is, and how much of the difference it explains."""
    belief = posterior(state)
    culprit = belief.top
    step, interval = step_of(state, culprit)
    members = credible_set(belief, state.problem.confidence)
    return Verdict(
        status=status_of(state, belief),
        culprit=culprit,
        confidence=float(belief.probabilities[culprit]),
        credible_set=members,
        held=float(belief.probabilities[list(members)].sum()),
        step=step,
        step_interval=interval,
        share=step / state.difference if state.difference else 0.0,
    )


def status_of(state: State, belief: Posterior) -> Status:
    """Say where the search stands."""
    if short_blocks(state, belief):
        return "undecided"
    if belief.no_change >= state.problem.confidence:
        return "no_change"
    named = _named(state, belief)
    if named is None or not _resolvable(state, belief.top):
        return "undecided"
    return "found" if named[0] == named[1] else "narrowed"


def _named(state: State, belief: Posterior) -> tuple[int, int] | None:
    """Return the first and last candidate of what has the confidence asked for.

    One candidate; or some with no testable revision between them, which nothing
    can tell apart.
    """
    sure = state.problem.confidence
    if belief.probabilities[belief.top] >= sure:
        return belief.top, belief.top
    testable = np.ones(state.problem.last + 1, dtype=bool)
    testable[list(state.problem.untestable)] = False
    group = np.cumsum(testable) - testable  # a group ends at each testable revision
    mass = np.bincount(group, weights=belief.probabilities)
    if mass.max() < sure:
        return None
    members = np.flatnonzero(group == mass.argmax())
    return int(members[0]), int(members[-1])


def short_blocks(state: State, belief: Posterior) -> list[tuple[int, int]]:
    """List (index, runs missing) of revisions that must have a whole block and do not.

    Those with the fewest runs first.
    """
    noise = noise_of([values for _, values in state.groups])
    longest = state.problem.max_repeats
    runs = {index: len(values) for index, values in state.groups}
    need = dict.fromkeys(
        (0, state.problem.last), block(_PROOF * noise.cautious, abs(state.difference), longest)
    )
    if named := _named(state, belief):
        size, _ = step_of(state, belief.top)
        enough = _resolvable(state, belief.top)
        each = block(PROBE * noise.cautious, size, longest) if enough else longest
        for index in _neighbours(runs, named):
            need[index] = max(need.get(index, 0), each)
    missing = {index: need[index] - runs.get(index, 0) for index in need}
    return sorted(
        ((index, runs) for index, runs in missing.items() if runs > 0),
        key=lambda item: (need[item[0]] - item[1], item[0]),
    )


def _neighbours(measured: Iterable[int], named: tuple[int, int]) -> tuple[int, int]:
    """Return the revisions that show the level before and after what is named.

    The nearest measured ones; and for several candidates, which are not to be named
    for their number, the nearest that can be measured.
    """
    first, last = named
    if first < last:
        return first - 1, last
    return max(i for i in measured if i < first), min(i for i in measured if i >= last)


def _resolvable(state: State, culprit: int) -> bool:
    """Say whether the longest block tells the step apart, at the near end of its interval.

    What is smaller can look like a step in the wrong place.
    """
    size, (low, high) = step_of(state, culprit)
    least = low if size > 0 else -high
    noise = noise_of([values for _, values in state.groups])
    return _PROOF * noise.sigma <= least * math.sqrt(state.problem.max_repeats)


def block(noise: float, step: float, longest: int) -> int:
    """Return ceil((noise / step)^2), at least one run and at most `longest`."""
    if noise == 0:
        return 1
    return longest if noise**2 >= longest * step**2 else max(1, math.ceil((noise / step) ** 2))


def step_of(state: State, culprit: int) -> tuple[float, tuple[float, float]]:
    """Estimate the size of the culprit's step and its 95% interval.

    From the revisions of the nearest level on each side, wild values left out,
    with one spread for both sides, not below that of the repeats (Student's interval).
    """
    changes = steps(state)
    low = max([s.high for s in changes if s.high < culprit], default=0)
    high = min([s.low for s in changes if s.low >= culprit], default=state.problem.last)
    noise = noise_of([values for _, values in state.groups])
    sides = []
    for first, last in ((low, culprit - 1), (culprit, high)):
        values = np.array([v for i, group in state.groups if first <= i <= last for v in group])
        off = np.abs(values - np.median(values))
        sides.append(values[off <= max(_WILD * noise.cautious, 2 * float(np.median(off)))])
    left, right = sides
    size = float(right.mean() - left.mean())
    freedom = len(left) + len(right) - 2
    squares = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    variance = max(squares / max(freedom, 1), noise.sigma**2)
    freedom = freedom or noise.freedom
    if variance == 0 or freedom == 0:
        return size, (size, size)
    reach = t_quantile(0.975, freedom) * math.sqrt(variance * (1 / len(left) + 1 / len(right)))
    return size, (size - reach, size + reach)
