"""Where two axes matter together: the effect of one depends on the level of the other. Pure.

For two neighbouring levels of each, the difference of log ratios is

    L = log(y11 y00 / (y10 y01)),

zero where each axis multiplies the memory by a factor of its own. It counts where it is beyond
the noise of its four figures and above log 1.25.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.analysis.observations import (
    AXES,
    LEVEL,
    Observation,
    identity,
    notable,
    rank,
)
from bench.analysis.shares import change
from bench.statistics import t_quantile

_LEAST = math.log(1.25)
_MOST = 3
# Ratios of figures far below the largest are still ratios, down to a hundredth of it.
_NOTABLE = 1 / 100
Square = tuple[Observation, Observation, Observation, Observation]


def interactions(found: Sequence[Observation]) -> list[Conclusion]:
    """Name the strongest interaction of each pair of axes, the strongest pairs first."""
    big = notable(found, _NOTABLE)
    usable = [o for o in found if o.kind == "delta" and o.value > 0 and big(o)]
    # Without a crossing, exporter and runtime say what commit does.
    crossing = any(not one.commit for one in usable)
    axes = [axis for axis in AXES if crossing or axis not in ("exporter", "runtime")]
    varied = [axis for axis in axes if len({getattr(one, axis) for one in usable}) > 1]
    best: list[tuple[float, str, str, Square]] = []
    for first, second in combinations(varied, 2):
        square = None if "place" in (first, second) else _strongest(usable, first, second)
        if square is not None:
            best.append((abs(_size(square)), first, second, square))
    best.sort(key=lambda item: -item[0])
    return [_conclusion(first, second, square) for _, first, second, square in best[:_MOST]]


def _strongest(found: Sequence[Observation], first: str, second: str) -> Square | None:
    """Return the square of neighbouring levels with the largest L that counts."""
    frame = pd.DataFrame(
        {
            "rest": pd.factorize(pd.Series([identity(one, first, second) for one in found]))[0],
            "a": _codes([str(getattr(one, first)) for one in found]),
            "b": _codes([str(getattr(one, second)) for one in found]),
            "log": [math.log(one.value) for one in found],
            "at": range(len(found)),
        }
    )
    frame = frame[(frame["a"] >= 0) & (frame["b"] >= 0)].drop_duplicates(["rest", "a", "b"])
    frame = frame.sort_values(["rest", "a", "b"])
    later = frame.groupby(["rest", "a"])[["at", "b", "log"]].shift(-1)
    frame = frame.assign(at1=later["at"], b1=later["b"], change=later["log"] - frame["log"])
    frame = frame.dropna(subset=["at1"]).sort_values(["rest", "b", "b1", "a"])
    later = frame.groupby(["rest", "b", "b1"])[["at", "at1", "change"]].shift(-1)
    frame = frame.assign(at2=later["at"], at3=later["at1"])
    frame["size"] = (later["change"] - frame["change"]).abs()
    frame = frame[frame["size"] > _LEAST].sort_values("size", ascending=False)
    for row in frame[["at", "at1", "at2", "at3"]].itertuples(index=False, name=None):
        square = (found[int(row[0])], found[int(row[1])], found[int(row[2])], found[int(row[3])])
        if _counts(square):
            return square
    return None


def _codes(levels: Sequence[str]) -> list[int]:
    """Number levels in a person's order; -1 for none."""
    ordered = sorted(dict.fromkeys(level for level in levels if level), key=rank)
    number = {level: place for place, level in enumerate(ordered)}
    return [number.get(level, -1) for level in levels]


def _size(square: Square) -> float:
    y00, y01, y10, y11 = (one.value for one in square)
    return math.log(y11 * y00 / (y10 * y01))


def _counts(square: Square) -> bool:
    y00, y01, y10, y11 = square
    # A figure that is only a lower bound may make L larger, never smaller.
    size = _size(square)
    if (size > 0 and (y01.censored or y10.censored)) or (
        size < 0 and (y00.censored or y11.censored)
    ):
        return False
    noise = math.sqrt(sum(one.scale.sigma**2 / one.n + one.between**2 for one in square))
    freedom = min(one.scale.freedom for one in square)
    return abs(_size(square)) > max(_LEAST, t_quantile(0.5 + LEVEL / 2, freedom) * noise)


def _conclusion(first: str, second: str, square: Square) -> Conclusion:
    y00, y01, y10, y11 = square
    text = (
        f"{first} and {second} matter together: from {getattr(y00, second)} to "
        f"{getattr(y01, second)} the peak changes by {change(y00, y01)} at {getattr(y00, first)} "
        f"but by {change(y10, y11)} at {getattr(y10, first)} "
        f"({y00.shown} -> {y01.shown}, {y10.shown} -> {y11.shown})"
    )
    return Conclusion("finding", f"{first}*{second}", text, tuple(one.key for one in square))
