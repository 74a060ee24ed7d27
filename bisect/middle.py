"""What endpoints that agree can hide: a level that was reached and left again in between.

Only where the person named no endpoints and asks about all releases: those are few enough to be
looked at one by one.
"""

from __future__ import annotations

from bisect.noise import Direction, agrees
from bisect.ranges import SearchRange
from bisect.rig import Rig
from bisect.stages import Searched, Stage, search
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

_CLEAR = 6.0
"""A step of so many sigma shows in one run."""


def look_between(rig: Rig, stage: Stage, ends: Searched) -> tuple[Searched, str]:
    """Measure the releases in between once each; search the largest step that was asked about.

    Returns:
        what the search between two neighbours found, or `ends` where no step shows; and a
        sentence with the level of each release.
    """
    names, last = stage.range.names, len(stage.range.names) - 1
    listener = rig.listener(names)
    prober = rig.prober("middle", names, stage.bench, stage.sides, listener)
    levels: list[float | None] = [None] * (last + 1)
    for index in (0, last):
        known = [v for r in ends.records.get(index, ()) if (v := rig.metric.value(r)) is not None]
        levels[index] = median(known) if known else None
    with listener:
        listener.stage("the releases in between, once each")
        for index in range(1, last):
            listener.probing(index, 1, 1)
            (levels[index],) = prober.measure([index])
            listener.measured(index, levels[index])
    shown = ", ".join(
        f"{name} {'not measurable' if level is None else rig.metric.show(level)}"
        for name, level in zip(names, levels, strict=True)
    )
    said = f"{rig.metric.name} by release: {shown}; those in between were run once."
    settings = rig.request.settings
    sigma = ends.finding.endpoint.sigma if ends.finding.endpoint else 0.0
    pair = largest_step(levels, settings.direction, max(settings.floor, _CLEAR * sigma))
    if pair is None:
        return ends, said
    low, high = pair
    records = {**prober.records, 0: ends.records[0], last: ends.records[last]}
    between = SearchRange(names[low : high + 1], (), {})
    return search(
        rig, replace(stage, name="neighbours", range=between, seen=_of(names, records))
    ), said


def largest_step(
    levels: Sequence[float | None], direction: Direction, least: float
) -> tuple[int, int] | None:
    """Return the neighbours with the largest step in a direction; None where none reaches `least`.

    >>> largest_step([1.0, 1.0, 9.0, None, 2.0], "increase", 0.5)
    (1, 2)
    >>> largest_step([1.0, 1.0, 9.0, None, 2.0], "decrease", 0.5)
    (2, 4)
    """
    known = [(i, level) for i, level in enumerate(levels) if level is not None]
    steps = [
        (abs(b - a), (i, j))
        for (i, a), (j, b) in pairwise(known)
        if agrees(b - a, direction) and abs(b - a) >= least
    ]
    return max(steps, default=(0.0, None))[1]


def _of(
    names: Sequence[str], records: Mapping[int, Sequence[Mapping[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    return {names[i]: [dict(record) for record in found] for i, found in records.items()}
