"""What a commit that the search settled on and its parent say, run in turn. Pure.

How a search ends is one rule. What it settles on is run against its parent, anew; then

- the two bear the step out, and the search, these runs among its observations, still settles on
  the same two: the commit is named, with the confidence that it has by then;
- one of the two can't be run: it is untestable from here on, and the search goes on;
- they do not bear it out: they are observations like all others, and the search goes on.

What was run in turn so often without being borne out is a suspect. So a lucky run, or a wild one,
neither names a commit nor costs one.
"""

from __future__ import annotations

from bisect.noise import WILD, Direction, Noise, agrees, robust_interval
from bisect.problem import State
from bisect.search import Verdict
from collections.abc import Sequence
from dataclasses import dataclass

TRIES = 3
"""So often two revisions are run in turn before what they do not bear out is a suspect."""

Bracket = tuple[int, int]
"""Two revisions to run in turn: before and after all that is named."""
Pair = tuple[Sequence[float], Sequence[float]]
"""Their values; more than one each, unless the metric is exact."""


@dataclass(frozen=True)
class Judged:
    """The step from one revision to another, by their runs in turn.

    Attributes:
        step: after minus before, wild runs left out.
        interval: its 95% interval (Welch).
        borne_out: whether it is the step that the search saw.
        clear: whether no side has two runs only of which one is wild.
    """

    step: float
    interval: tuple[float, float]
    borne_out: bool
    clear: bool


def bracket(state: State, found: Verdict) -> Bracket:
    """Return the nearest revisions that can be measured before and after all that is named.

    >>> from bisect.problem import Observation, Problem
    >>> from bisect.search import verdict
    >>> seen = [(0, 1.0), (0, 1.0), (2, 1.0), (2, 1.0), (5, 2.0), (5, 2.0), (6, 2.0), (6, 2.0)]
    >>> problem = Problem(6, untestable=frozenset({3, 4}))
    >>> state = State(problem, tuple(Observation(i, v) for i, v in seen))
    >>> bracket(state, verdict(state))
    (2, 5)
    """
    named = {found.culprit, *found.credible_set}
    untestable = state.problem.untestable
    before = (i for i in range(min(named) - 1, -1, -1) if i not in untestable)
    after = (i for i in range(max(named), state.problem.last + 1) if i not in untestable)
    return next(before), next(after)


def judge(pair: Pair, searched: float, direction: Direction, noise: Noise, exact: bool) -> Judged:
    """Say whether two revisions, run in turn, differ as the search said.

    With the sign that the search saw, which is the one asked about; beyond the noise; and by half
    of what it saw or more.

    Args:
        pair: values of the revision before and of the one after.
        searched: the step by all that the search measured.
        direction: that was asked about.
        noise: of one run, by all that was measured.
        exact: whether the metric has none.

    >>> quiet = Noise(0.1, 20)
    >>> judge(([1.0, 1.1], [5.0, 5.1]), 4.1, "any", quiet, exact=False).borne_out
    True
    >>> judge(([5.0, 5.1], [1.0, 1.1]), 4.1, "any", quiet, exact=False).borne_out
    False
    """
    before, after = pair
    if exact:
        step = after[0] - before[0]
        low = high = step
    else:
        gap = robust_interval(before, after, noise)
        step, low, high = gap.difference, gap.low, gap.high
    shown = agrees(step, direction) and not low <= 0 <= high
    alike = step * searched > 0 and abs(step) >= abs(searched) / 2
    width = WILD * noise.cautious
    clear = exact or all(len(side) > 2 or max(side) - min(side) <= width for side in pair)
    return Judged(step, (low, high), shown and alike, clear)
