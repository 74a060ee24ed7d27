"""Where two axes matter together: the effect of one depends on the level of the other. Pure.

For two levels of each, the difference of log ratios is

    L = log(y11 y00 / (y10 y01)),

zero where each axis multiplies the memory by a factor of its own. It counts where it is beyond
the noise of its four figures and above log 1.25.
"""

from __future__ import annotations

import math
from bisect.noise import t_quantile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

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

_LEAST = math.log(1.25)
_PAIRS = [pair for pair in combinations(AXES, 2) if "place" not in pair]
_MOST = 3
# Ratios of figures far below the largest are still ratios, down to a hundredth of it.
_NOTABLE = 1 / 100
Square = tuple[Observation, Observation, Observation, Observation]


def interactions(found: Sequence[Observation]) -> list[Conclusion]:
    """Name the strongest interaction of each pair of axes, the strongest pairs first."""
    big = notable(found, _NOTABLE)
    usable = [o for o in found if o.kind == "delta" and o.value > 0 and big(o)]
    best: list[tuple[float, str, str, Square]] = []
    for first, second in _PAIRS:
        squares = [(abs(_size(s)), s) for s in _squares(usable, first, second) if _counts(s)]
        if squares:
            size, square = max(squares, key=lambda pair: pair[0])
            best.append((size, first, second, square))
    best.sort(key=lambda item: -item[0])
    return [_conclusion(first, second, square) for _, first, second, square in best[:_MOST]]


def _squares(found: Sequence[Observation], first: str, second: str) -> Iterator[Square]:
    groups: dict[tuple[Any, ...], dict[tuple[str, str], Observation]] = defaultdict(dict)
    for one in found:
        a, b = str(getattr(one, first)), str(getattr(one, second))
        if a and b:
            groups[_rest(one, first, second)].setdefault((a, b), one)
    for cells in groups.values():
        rows = sorted({a for a, _ in cells}, key=rank)
        columns = sorted({b for _, b in cells}, key=rank)
        for (a0, a1), (b0, b1) in (
            (pa, pb) for pa in combinations(rows, 2) for pb in combinations(columns, 2)
        ):
            corners = [cells.get(corner) for corner in ((a0, b0), (a0, b1), (a1, b0), (a1, b1))]
            if all(corner is not None for corner in corners):
                yield tuple(corners)  # type: ignore[misc]


def _rest(one: Observation, first: str, second: str) -> tuple[Any, ...]:
    gone = {first, second}
    if gone & {"commit", "exporter", "runtime"}:
        gone |= {"commit", "exporter", "runtime"} if "commit" in gone else {"commit"}
    kept = identity(one, "")
    names = (*AXES, *("kind", "counter", "runner", "allocator", "load_mode", "samples"))
    return tuple(value for name, value in zip(names, kept, strict=True) if name not in gone)


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
