"""Which revision to measure next, how often, and when to stop.

A bisection is a loop around three pure functions:

>>> history = [100.0] * 700 + [130.0] * 301              # candidate 700 is the culprit
>>> problem = Problem(last=1000, direction="increase")
>>> ends = [(0, 99.9), (1000, 130.1), (0, 100.1), (1000, 129.9), (0, 100.0), (1000, 130.0)]
>>> state = State(problem, tuple(Observation(i, v) for i, v in ends))
>>> probes = 0
>>> while (probe := next_probe(state)) is not None:
...     state = state.observe(probe.index, *[history[probe.index]] * probe.repeats)
...     probes += 1
>>> probes <= 14
True
>>> found = verdict(state)
>>> found.status, found.culprit, round(found.step, 1), found.credible_set
('found', 700, 30.0, (700,))

The rule is greedy: the probe with the most expected information about the
culprit for its cost. For questions of this kind ("is the culprit at or before
i?") with independent noise, greedy in entropy is optimal (Jedynak, Frazier and
Sznitman 2012); the probabilistic bisection algorithm, always measuring at the
posterior's median, is the same rule with equal costs (Waeber, Frazier and
Henderson 2013). Each revision costs what it takes to reach it and one for each run;
one that may not give a value counts by its chance. Without noise it is binary
search, weighted by the prior. Bounds: Karp and Kleinberg 2007; Dereniowski et al.,
arXiv 2107.05753.

A block of r runs tells the levels apart with an error of about
Phi(-step sqrt(r) / (2 sigma)), so that ceil((4 sigma / step)^2) runs err in one
case of 44; no block is longer. The posterior takes a block's values one by one,
with outliers in the model: that does what a median does, with weights.

Several revisions can be measured side by side: they are chosen for what they tell
together (:mod:`bisect.joint`). When to stop, and what is named, follows from the
observations alone, however they were chosen: the posterior does not ask.

With a strong prior a commit can be named by elimination, without having been
measured. Measuring it against its parent in the end is up to the caller: observe
both, and where they contradict the prior the search goes on.
"""

from __future__ import annotations

import math
from bisect.decision import PROBE, Verdict, block, short_blocks, status_of, verdict
from bisect.joint import Joint
from bisect.posterior import Posterior, posterior
from bisect.problem import Floats, Observation, Problem, State, relevance_prior
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Observation",
    "Posterior",
    "Probe",
    "Problem",
    "State",
    "Verdict",
    "next_probe",
    "next_probes",
    "posterior",
    "relevance_prior",
    "verdict",
]

_SWEEPS = 8  # over the probes of a round; each at least halves how far they are off
_REACH = 1.0  # what it costs to reach a revision, in runs, on top of one for each run
_LEAST_INFORMATION = 1e-3  # bits per probe; below it nothing is left to learn


@dataclass(frozen=True)
class Probe:
    """Measure revision `index`, `repeats` times."""

    index: int
    repeats: int


def next_probe(state: State) -> Probe | None:
    """Choose the best next measurement, or None when there is nothing more to do."""
    probes = next_probes(state, 1)
    return probes[0] if probes else None


def next_probes(state: State, count: int) -> tuple[Probe, ...]:
    """Choose up to `count` probes of different revisions, to be measured side by side.

    None when there is nothing more to do.
    """
    belief = posterior(state)
    if status_of(state, belief) != "undecided":
        return ()
    if short := short_blocks(state, belief):
        # A few at a time: more runs may show that fewer are needed.
        return tuple(Probe(index, min(runs, 2)) for index, runs in short[:count])
    return _Round(state, belief).choose(count)


class _Round:
    """Chooses what is measured side by side, each for its information per cost beside the others.

    Args:
        state: what was measured so far.
        belief: what that says.
    """

    def __init__(self, state: State, belief: Posterior) -> None:
        self._after = _chance_after(belief)
        self._free = _free_runs(state, belief)
        self._errors = {r: _block_error(belief, r) for r in _block_sizes(state, belief)}
        self._chance = _chance_testable(state)

    def choose(self, count: int) -> tuple[Probe, ...]:
        """Choose up to `count` probes of different revisions."""
        chosen: list[Probe] = []
        while len(chosen) < count:
            information = self._information(chosen, list(self._errors))
            rate = information * self._chance / (np.array([*self._errors])[:, None] + _REACH)
            row, index = (int(i) for i in np.unravel_index(np.argmax(rate.round(12)), rate.shape))
            if information[row, index] < _LEAST_INFORMATION:
                break
            chosen.append(Probe(index, [*self._errors][row]))
        return self._exchanged(chosen)

    def _exchanged(self, chosen: Sequence[Probe]) -> tuple[Probe, ...]:
        """Move each probe to where it tells most beside the others, until none is better elsewhere.

        One by one, the first of two halves the range and the second a half of it; together they
        cut it in three.
        """
        now = list(chosen)
        for _sweep in range(_SWEEPS if len(now) > 1 else 0):
            before = list(now)
            for number, probe in enumerate(before):
                others = [*now[:number], *now[number + 1 :]]
                information = self._information(others, [probe.repeats])[0]
                rate = (information * self._chance / (probe.repeats + _REACH)).round(12)
                if rate.max() > rate[probe.index]:
                    now[number] = Probe(int(np.argmax(rate)), probe.repeats)
            if now == before:
                break
        return tuple(now)

    def _information(self, beside: Sequence[Probe], sizes: Sequence[int]) -> Floats:
        """Return the bits of one more probe, by its runs and its revision."""
        joint = Joint.nothing_chosen(self._after)
        for probe in beside:
            joint = joint.with_one_more(probe.index, self._errors[probe.repeats])
        gains = [np.where(self._free >= r, joint.gain(self._errors[r]), 0.0) for r in sizes]
        information = np.array(gains)
        information[:, [probe.index for probe in beside]] = 0.0
        return information


def _chance_after(belief: Posterior) -> Floats:
    """Return the probability that a revision has the level after.

    Where nothing changed, the one level is as likely to be either.
    """
    return np.asarray(np.cumsum(belief.probabilities) + belief.no_change / 2)


def _free_runs(state: State, belief: Posterior) -> Floats:
    """Count how many more runs each revision may get; none outside the stretch."""
    free = np.full(state.problem.last + 1, float(state.problem.max_repeats))
    for index, values in state.groups:
        free[index] -= len(values)
    free[: belief.low] = 0
    free[belief.high + 1 :] = 0
    free[list(state.problem.untestable)] = 0
    return free


def _chance_testable(state: State) -> Floats:
    """Return the probability that a revision gives a value.

    Breakage comes in stretches: at a distance x from the nearest broken revision,
    with k broken ones within 2x, it is x / (x + k). So a broken stretch is left by
    steps that grow with it, not walked.
    """
    chance = np.ones(state.problem.last + 1)
    if not state.problem.untestable:
        return chance
    broken = np.array(sorted(state.problem.untestable))
    here = np.arange(state.problem.last + 1)
    right = np.minimum(np.searchsorted(broken, here), broken.size - 1)
    left = np.maximum(right - 1, 0)
    x = np.minimum(np.abs(here - broken[left]), np.abs(here - broken[right]))
    k = np.searchsorted(broken, here + 2 * x, "right") - np.searchsorted(broken, here - 2 * x)
    chance = x / (x + k)
    chance[[index for index, _ in state.groups]] = 1.0
    return np.asarray(chance)


def _block_sizes(state: State, belief: Posterior) -> list[int]:
    step = abs(belief.after - belief.before)
    longest = block(PROBE * belief.sigma, step, state.problem.max_repeats)
    return [r for r in (1, 2, 3, 4, 6, 8, 12) if r < longest] + [longest]


def _block_error(belief: Posterior, runs: int) -> float:
    step = abs(belief.after - belief.before)
    return 0.5 * math.erfc(step * math.sqrt(runs) / (2 * belief.sigma) / math.sqrt(2))
