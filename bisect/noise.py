"""The noise of repeated measurements, and whether two groups of them differ.

Everything here is pure arithmetic on numbers that were already measured.

Sources: Welch 1947 (the interval of a difference with unequal variances);
Rousseeuw and Croux 1993 (scale from pairwise differences, robust to outliers).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

import numpy as np

from bench.statistics import t_quantile

Direction = Literal["increase", "decrease", "any"]
EndpointVerdict = Literal["differs", "no_difference", "below_floor", "opposite"]

# The median of |x - y| for independent x, y ~ N(0, 1).
_MEDIAN_DIFFERENCE = 0.9539
_CLEARLY = 0.99
WILD = 5.0
"""A run so many sigma from its like says nothing of a level."""


@dataclass(frozen=True)
class Noise:
    """The spread of repeats of one revision, and how many degrees of freedom told it."""

    sigma: float
    freedom: int

    @property
    def cautious(self) -> float:
        """Sigma, with a margin for the few repeats that told it (half of it after 3 + 3)."""
        return self.sigma * (1 + 2 / max(self.freedom, 1))


@dataclass(frozen=True)
class Interval:
    """A difference between two groups of values, bad minus good."""

    difference: float
    low: float
    high: float
    sigma: float


@dataclass(frozen=True)
class Endpoint:
    """What the repeats at both ends say, before anything is searched.

    `below_floor` is a difference that is there, and too small to matter.
    `no_difference` means "not shown", not "shown to be none": where `interval`
    is much wider than the effect that matters, measure the endpoints again.
    """

    difference: float
    interval: tuple[float, float]
    sigma: float
    verdict: EndpointVerdict


def endpoint_check(
    good_values: Sequence[float],
    bad_values: Sequence[float],
    direction: Direction = "any",
    floor: float = 0.0,
    level: float = 0.95,
) -> Endpoint:
    """Say whether the endpoints differ, by at least `floor`, in the direction asked.

    >>> endpoint_check([100.0, 100.2, 99.9], [130.1, 129.8, 130.0]).verdict
    'differs'
    >>> endpoint_check([100.0, 104.0, 96.0], [101.0, 98.0, 103.0]).verdict
    'no_difference'
    >>> endpoint_check([100.0, 100.1], [90.0, 90.2], direction="increase").verdict
    'opposite'
    >>> endpoint_check([100.0, 100.2, 99.9], [100.9, 100.8, 101.0], floor=5.0).verdict
    'below_floor'
    """
    if floor < 0:
        raise ValueError(f"floor must not be negative: {floor}")
    return _judged(robust_interval(good_values, bad_values, level=level), direction, floor)


def exact_check(good: float, bad: float, direction: Direction, floor: float) -> Endpoint:
    """Say the same of numbers without noise, of which one run tells each.

    >>> exact_check(3, 5, "increase", 0)
    Endpoint(difference=2, interval=(2, 2), sigma=0.0, verdict='differs')
    """
    difference = bad - good
    return _judged(Interval(difference, difference, difference, 0.0), direction, floor)


def _judged(gap: Interval, direction: Direction, floor: float) -> Endpoint:
    verdict: EndpointVerdict = "no_difference"
    if not gap.low <= 0.0 <= gap.high:
        verdict = "differs" if agrees(gap.difference, direction) else "opposite"
        if abs(gap.difference) < floor:
            verdict = "below_floor"
    return Endpoint(gap.difference, (gap.low, gap.high), gap.sigma, verdict)


def one_run_hides_it(good_values: Sequence[float], bad_values: Sequence[float]) -> bool:
    """Whether the sides would clearly differ if just one of their runs had not been taken.

    Then it is one run that decides, and more should be asked. Clearly (at 99%): a second look at
    whatever nearly differs would find differences where there are none.

    >>> one_run_hides_it([100.0, 100.5, 99.5], [110.0, 109.5, 113.5])
    False
    >>> one_run_hides_it([100.0, 101.5, 98.5], [112.0, 110.5, 123.0])
    True
    >>> one_run_hides_it([100.0, 104.0, 96.0], [101.0, 98.0, 103.0])
    False
    """
    if endpoint_check(good_values, bad_values).verdict != "no_difference":
        return False
    good, bad = list(good_values), list(bad_values)
    fewer = [(good[:i] + good[i + 1 :], bad) for i in range(len(good)) if len(good) > 2]
    fewer += [(good, bad[:i] + bad[i + 1 :]) for i in range(len(bad)) if len(bad) > 2]
    looked = (robust_interval(*sides, level=_CLEARLY) for sides in fewer)
    return any(not gap.low <= 0.0 <= gap.high for gap in looked)


def agrees(difference: float, direction: Direction) -> bool:
    """Whether a difference has the sign that was asked about."""
    if direction == "any":
        return difference != 0
    return difference > 0 if direction == "increase" else difference < 0


def welch_interval(
    good_values: Sequence[float], bad_values: Sequence[float], level: float = 0.95
) -> Interval:
    """Estimate the difference of two means and its interval; each side needs two values."""
    sides = [np.asarray(v, dtype=float) for v in (good_values, bad_values)]
    if min(len(side) for side in sides) < 2:
        raise ValueError("at least two values on each side are needed to know the noise")
    if not all(np.isfinite(side).all() for side in sides):
        raise ValueError("values must be finite numbers")
    good, bad = sides
    difference = float(bad.mean() - good.mean())
    # Rounding, not noise: what is left of the digits of a double.
    rounding = 1e-14 * max(abs(float(good.mean())), abs(float(bad.mean())))
    errors = [float(side.var(ddof=1)) / len(side) + rounding**2 for side in sides]
    error = sum(errors)
    sigma = math.sqrt(
        sum(float(side.var(ddof=1)) * (len(side) - 1) for side in sides)
        / (len(good) + len(bad) - 2)
    )
    if error == 0:
        return Interval(difference, difference, difference, sigma)
    # As shares of the whole: the square of a tiny variance would be zero.
    shares = [(e / error) ** 2 / (len(s) - 1) for e, s in zip(errors, sides, strict=True)]
    freedom = 1 / sum(shares)
    reach = t_quantile(0.5 + level / 2, freedom) * math.sqrt(error)
    return Interval(difference, difference - reach, difference + reach, sigma)


def robust_interval(
    good_values: Sequence[float],
    bad_values: Sequence[float],
    noise: Noise | None = None,
    level: float = 0.95,
) -> Interval:
    """Estimate the difference as :func:`welch_interval` does, wild runs left out.

    Args:
        good_values: two or more.
        bad_values: the same.
        noise: of one run, where more is known of it than these values tell.
        level: of the interval.

    >>> wild = robust_interval([100.0, 100.2, 99.9], [130.1, 129.8, 190.0])
    >>> round(wild.difference)
    30
    """
    noise = noise or noise_of((good_values, bad_values))
    return welch_interval(_tame(good_values, noise), _tame(bad_values, noise), level)


def _tame(values: Sequence[float], noise: Noise) -> Sequence[float]:
    """Return the values without wild ones: those far from the median that two others agree on."""
    center = median(values)
    kept = [v for v in values if abs(v - center) <= WILD * noise.cautious]
    return kept if len(kept) > len(values) / 2 and len(kept) > 1 else values


def noise_of(groups: Iterable[Sequence[float]]) -> Noise:
    """Estimate the noise within groups of repeats, whatever the groups' levels.

    The median of the pairwise differences, so one wild repeat does not set it;
    but never below a quarter of their root mean square, which is what is left to
    go by where most repeats are equal (values rounded to pages, say).

    >>> noise_of([[10.0, 10.0, 10.0], [20.0]])
    Noise(sigma=0.0, freedom=2)
    """
    kept = [group for group in groups if len(group) > 1]
    differences = np.array([a - b for group in kept for a, b in combinations(group, 2)])
    if differences.size == 0:
        return Noise(0.0, 0)
    typical = median(np.abs(differences).tolist()) / _MEDIAN_DIFFERENCE
    spread = math.sqrt(float(np.mean(differences**2)) / 2)
    return Noise(max(typical, spread / 4), sum(len(group) - 1 for group in kept))
