"""Exporter or runtime: what the four crossings of old and new say. Pure."""

from __future__ import annotations

import math
from bisect.noise import Direction, agrees, welch_interval
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Side = Literal["exporter", "runtime"]
Crossing = tuple[Literal["old", "new"], Literal["old", "new"]]
"""(exporter, runtime)."""


@dataclass(frozen=True)
class Effect:
    """How much a metric changes from old to new on one side, the other held still.

    Attributes:
        size: mean over both settings of the other side, in the metric's unit.
        interval: its 95% interval, of both settings' intervals (Welch) as independent errors.
        each: the difference with the other side old, and with it new.
        interacts: whether these two disagree beyond the noise: then the mean is that of neither.
    """

    side: Side
    size: float
    interval: tuple[float, float]
    each: tuple[float, float]
    interacts: bool

    def moved(self, floor: float) -> bool:
        """Say whether it is a change: beyond the noise, and not below the floor."""
        low, high = self.interval
        return abs(self.size) >= floor and not low <= 0 <= high


def effects(values: Mapping[Crossing, Sequence[float]]) -> tuple[Effect, Effect]:
    """Return the exporter's and the runtime's effect.

    Args:
        values: repeats of each of the four crossings; two or more each.
    """
    return (
        _effect("exporter", [(values["old", r], values["new", r]) for r in ("old", "new")]),
        _effect("runtime", [(values[e, "old"], values[e, "new"]) for e in ("old", "new")]),
    )


def _effect(side: Side, pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Effect:
    gaps = [welch_interval(before, after) for before, after in pairs]
    old, new = (gap.difference for gap in gaps)
    size = (old + new) / 2
    both = math.hypot(*(gap.high - gap.difference for gap in gaps))
    return Effect(side, size, (size - both / 2, size + both / 2), (old, new), abs(new - old) > both)


def side_to_search(found: tuple[Effect, Effect], floor: float, direction: Direction) -> Side | None:
    """Return the side that changes it more in the direction asked about; None where neither does.

    Two sides that moved it against each other can leave little to see between the endpoints.
    """
    moved = [e for e in found if e.moved(floor) and agrees(e.size, direction)]
    return max(moved, key=lambda effect: abs(effect.size)).side if moved else None
