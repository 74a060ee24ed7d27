"""Memory against the size of the file: the one cell of a family that stands out. Pure.

The logarithms of peak / file of the others give a mean m and a standard deviation s; the largest
is an outlier where it is above the 99.5% prediction bound of one more of them,

    m + t(0.995, k - 1) s sqrt(1 + 1/k),    k the number of the others,

and more than 1.5 times the largest of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from bench.analysis.conclusion import Conclusion
from bench.analysis.observations import Observation, identity
from bench.statistics import t_quantile
from bench.values import format_size

_FEWEST = 4
_BOUND = 0.995
_APART = 1.5


def outliers(found: Sequence[Observation]) -> list[Conclusion]:
    """Name the cell that pays out of proportion to its file, family by family."""
    families: dict[tuple[Any, ...], list[Observation]] = defaultdict(list)
    for one in found:
        if one.kind == "delta" and one.pte and one.value > 0:
            families[identity(one, "model", "precision")].append(one)
    return [said for family in families.values() if (said := _outlier(family)) is not None]


def _outlier(family: Sequence[Observation]) -> Conclusion | None:
    ratios = [(one.value / (one.pte or 1), one) for one in family]
    ratio, worst = max(ratios, key=lambda pair: pair[0])
    others = sorted(value for value, one in ratios if one is not worst)
    if any(one.censored for one in family if one is not worst):
        return None  # a bound may be anything above it
    if len(others) < _FEWEST or ratio <= _APART * others[-1]:
        return None
    logs = [math.log(value) for value in others]
    width = t_quantile(_BOUND, len(logs) - 1) * stdev(logs) * math.sqrt(1 + 1 / len(logs))
    if math.log(ratio) <= mean(logs) + width:
        return None
    under = (math.floor(others[-1] * 2) + 1) / 2
    least = "at least " if worst.censored else ""
    text = (
        f"{worst.model} {worst.precision} is the outlier: {least}{ratio:.1f}x its file "
        f"({worst.shown} for {format_size(worst.pte)}) where the other {len(others)} stay under "
        f"{under:g}x ({others[0]:.2f}x to {others[-1]:.2f}x); {worst.method}, {worst.place}"
    )
    evidence = (worst.key, *(one.key for one in family if one is not worst))
    return Conclusion("finding", "model*precision", text, evidence)
