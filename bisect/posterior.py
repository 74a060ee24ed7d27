"""The probability that each candidate is the culprit.

The model. In the stretch searched there are two levels: revisions before the
culprit c have level b, the culprit and later ones have level a. An observation
has the density, around its level,

    f(x) = [ (1 - w - e) normal(x / s) / s  +  w t4(x / r) / r  +  e / width ] ^ T

that is: noise; with weight w, a wider spread r with heavy tails, for noise that
is not normal and for drift within a side (steps too small to matter, builds that
differ a little); and with weight e an outlier that tells nothing (Box and Tiao
1968). So one measurement never convinces alone, however far apart the levels are.
The power T < 1 discounts all evidence, because none of this is exactly true
(Miller and Dunson 2019, coarsened posteriors; `docs/calibration.md` shows that
it is enough).

b, a and s are unknown and integrated out. Given s and c the sides are
independent, so the marginal likelihood of c is a product of two sums (Smith
1975, a Bayesian approach to inference about a change-point):

    p(y | c) = sum over s of p(s)  *  [mean over b of prod_{i < c} f(y_i | b, s)]
                                   *  [mean over a of prod_{i >= c} f(y_i | a, s)]

b and a run over grids around the endpoints' medians in steps of s, s over a
logarithmic grid around the estimate from repeats, p(s) flat in log s. The
products are running sums of logarithms over the measured revisions. Candidates
between the same two measured revisions share one likelihood, and are told apart
by their prior alone.

"No change at all" is c = low (everything is after) or c = high + 1 (everything is
before): two more gaps, no other formula. It keeps a lucky difference between the
endpoints from being pinned on a commit.
"""

from __future__ import annotations

import math
from bisect.noise import noise_of
from bisect.problem import Floats, Integers, State
from bisect.segments import SMALLEST, focus
from dataclasses import dataclass

import numpy as np

_TEMPER = 0.8
_OUTLIER_WEIGHT = 0.02
_DRIFT_WEIGHT = 0.08
_DRIFT_SHARE = 0.1  # of the difference between the levels
_NO_CHANGE = 0.1  # prior probability
_LEVELS = np.linspace(-3.0, 3.0, 41)  # around the endpoint's median, in sigma
_SCALES = np.geomspace(1 / 4, 8.0, 16)  # around the estimated sigma


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the observations say.

    probabilities[i] is the probability that candidate i is the culprit; position 0
    is always 0; `no_change` is the rest, the probability that nothing changed
    between `low` and `high`, the stretch that was searched. `multi_step` says that
    there are other notable steps outside of it.
    """

    probabilities: Floats
    no_change: float
    before: float
    after: float
    sigma: float
    low: int
    high: int
    multi_step: bool

    @property
    def top(self) -> int:
        """The most probable culprit."""
        return int(np.argmax(self.probabilities))


def posterior(state: State) -> Posterior:
    """Weigh every candidate against the observations.

    >>> from bisect.problem import Observation, Problem
    >>> seen = [(0, 10.0), (0, 10.1), (0, 9.9), (4, 20.1), (8, 20.0), (8, 20.1), (8, 19.9)]
    >>> belief = posterior(State(Problem(8), tuple(Observation(i, v) for i, v in seen)))
    >>> bool(belief.probabilities[1:5].sum() > 0.98)
    True
    """
    problem = state.problem
    stretch = focus(state)
    groups = [g for g in state.groups if stretch.low <= g[0] <= stretch.high]
    measured = np.array([index for index, _ in groups])
    before, after = stretch.before, stretch.after
    difference = abs(after - before)
    sigma = noise_of([values for _, values in state.groups]).sigma
    sigma = max(sigma, SMALLEST * difference) or 1.0

    starts = np.cumsum([0, *(len(values) for _, values in groups[:-1])])
    values = np.array([value for _, group in groups for value in group])
    scales = sigma * _SCALES
    likelihood = _gap_likelihood(
        _log_density(values, before, scales, difference),
        _log_density(values, after, scales, difference),
        starts,
    )

    weights = np.zeros(problem.last + 1)
    weights[1:] = problem.prior or 1.0
    weights[: stretch.low + 1] = 0.0
    weights[stretch.high + 1 :] = 0.0
    weights *= (1 - _NO_CHANGE) / (weights.sum() or 1.0)
    gap = np.searchsorted(measured, np.arange(problem.last + 1))
    evidence = np.exp(likelihood - likelihood.max())
    mass = weights * evidence[gap]
    no_change = _NO_CHANGE / 2 * (evidence[0] + evidence[-1])
    total = mass.sum() + no_change
    return Posterior(
        mass / total,
        float(no_change / total),
        before,
        after,
        sigma,
        stretch.low,
        stretch.high,
        stretch.multi_step,
    )


def _log_density(values: Floats, level: float, scales: Floats, difference: float) -> Floats:
    """Return log f(value), by value, scale, and offset of the level from its center."""
    off = (values - level)[:, None]
    wide = np.maximum(_DRIFT_SHARE * difference, 3 * scales)
    width = 3 * difference + 10 * scales
    q = 1 + (off / wide) ** 2 / 4
    drift = 0.375 / (q * q * np.sqrt(q)) / wide  # t with 4 degrees of freedom
    x = (off / scales)[:, :, None] - _LEVELS
    core = np.exp(-x * x / 2) / (math.sqrt(2 * math.pi) * scales[:, None])
    other = _DRIFT_WEIGHT * drift + _OUTLIER_WEIGHT / width
    return np.asarray(
        _TEMPER * np.log((1 - _DRIFT_WEIGHT - _OUTLIER_WEIGHT) * core + other[:, :, None])
    )


def _gap_likelihood(before: Floats, after: Floats, starts: Integers) -> Floats:
    """Return log p(y | c) for c in each gap; gap k is after k measured revisions."""
    shape = (len(starts) + 1, *before.shape[1:])
    left, right = np.zeros(shape), np.zeros(shape)
    left[1:] = np.cumsum(np.add.reduceat(before, starts), axis=0)
    right[:-1] = np.cumsum(np.add.reduceat(after, starts)[::-1], axis=0)[::-1]
    both = _log_mean(left) + _log_mean(right)
    return _log_mean(both)


def _log_mean(logs: Floats) -> Floats:
    """Return the log of the mean of exp, over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    mean = np.exp(logs - top).mean(axis=-1)
    return np.asarray(np.log(mean) + top[..., 0])


def credible_set(belief: Posterior, mass: float = 0.95) -> tuple[int, ...]:
    """Return the fewest candidates that hold `mass`, in order of their index.

    With all that are as probable as the least of them. Probabilities are relative to
    there being a change.
    """
    ranked = np.sort(belief.probabilities)[::-1]
    held = np.cumsum(ranked)
    least = ranked[int(np.searchsorted(held, mass * held[-1] * (1 - 1e-12)))]
    return tuple(np.flatnonzero(belief.probabilities >= least * (1 - 1e-9)).tolist())
