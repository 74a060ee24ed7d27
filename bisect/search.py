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

With a strong prior a commit can be named by elimination, without having been
measured. Measuring it against its parent in the end is up to the caller: observe
both, and where they contradict the prior the search goes on.
"""

from __future__ import annotations

import math
from bisect.decision import PROBE, Verdict, block, short_blocks, status_of, verdict
from bisect.posterior import Posterior, posterior
from bisect.problem import Floats, Observation, Problem, State, relevance_prior
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
    """Choose up to `count` probes of different revisions, to be measured in parallel.

    Chosen one after the other, each for what it adds to those before it.
    """
    belief = posterior(state)
    if status_of(state, belief) != "undecided":
        return ()
    if short := short_blocks(state, belief):
        # A few at a time: more runs may show that fewer are needed.
        return tuple(Probe(index, min(runs, 2)) for index, runs in short[:count])
    after = _chance_after(belief)
    free = _free_runs(state, belief)
    sizes = _block_sizes(state, belief)
    errors = np.array([_block_error(belief, r) for r in sizes])
    costs = np.array(state.problem.costs or [1.0] * (state.problem.last + 1))
    chance = _chance_testable(state)

    chosen: list[Probe] = []
    while len(chosen) < count:
        # Where the probes already chosen will have cut, each piece has its own odds.
        cuts = sorted(probe.index for probe in chosen)
        piece = np.searchsorted(cuts, np.arange(len(after)))
        floor = np.array([0.0, *after[cuts]])[piece]
        mass = np.array([*after[cuts], 1.0])[piece] - floor
        odds = np.divide(after - floor, mass, out=np.zeros_like(after), where=mass > 1e-12)
        information = np.array(
            [
                np.where(free >= r, mass * _information(odds, e), 0.0)
                for r, e in zip(sizes, errors, strict=True)
            ]
        )
        information[:, cuts] = 0.0
        rate = chance * information / (np.array(sizes)[:, None] + costs)
        row, index = np.unravel_index(int(np.argmax(np.round(rate, 12))), rate.shape)
        if information[row, index] < _LEAST_INFORMATION:
            break
        chosen.append(Probe(int(index), sizes[int(row)]))
    return tuple(chosen)


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


def _information(odds: Floats, error: float) -> Floats:
    """Bits from a binary answer that is wrong with probability `error`."""
    return _bits(odds + error - 2 * odds * error) - _bits(np.array([error]))


def _bits(p: Floats) -> Floats:
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return np.asarray(-p * np.log2(p) - (1 - p) * np.log2(1 - p))
