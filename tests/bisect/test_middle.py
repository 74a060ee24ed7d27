"""The largest step between neighbours."""

from __future__ import annotations

from bisect.middle import largest_step
from bisect.noise import Direction

import pytest


@pytest.mark.parametrize(
    ("levels", "direction", "pair"),
    [
        ([1.0, 1.0, 1.0], "any", None),
        ([1.0, 4.0, 1.0], "increase", (0, 1)),
        ([1.0, 4.0, 1.0], "decrease", (1, 2)),
        ([1.0, 1.4, 1.0], "any", None),  # below what counts
        ([1.0, None, 4.0, 9.0], "any", (2, 3)),
        ([9.0, None, 1.0], "increase", None),
        ([None, None], "any", None),
    ],
)
def test_the_neighbours(
    levels: list[float | None], direction: Direction, pair: tuple[int, int] | None
) -> None:
    assert largest_step(levels, direction, 0.5) == pair
