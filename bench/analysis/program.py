"""Is it the exported program? The same file in two places says, if the figures can. Pure.

Figures of one kind and counter compare as they are. A total in one place and a delta in the other
do not subtract, but they can be ordered: a process's delta is never above its total, so a total
that is below the other's delta is a gap of at least their difference. A counter that was seen to
miss memory in a place proves nothing there.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

from bench.analysis.conclusion import Conclusion
from bench.analysis.noise import LEAST_BYTES
from bench.analysis.observations import Observation, reach
from bench.values import format_size

# A gap that is no matter of a page or an allocator.
_GAP = 1.5
# Two counters of one measurement that differ by more do not see the same memory.
_BLIND = 1.5


def program(found: Sequence[Observation]) -> list[Conclusion]:
    """Conclude on the exported program, and on what two figures of one may be used for."""
    blind = _blind(found)
    said = [_blindness(low, high) for low, high in blind]
    missed = {(low.place, low.backend, low.counter) for low, _ in blind}
    gaps: list[tuple[Observation, Observation]] = []
    flat: list[tuple[Observation, Observation]] = []
    for same in _by_program(found):
        for low, high in permutations(same, 2):
            if low.place == high.place or not _same_file(low, high):
                continue
            if low.kind == high.kind and low.counter == high.counter:
                pair = gaps if _beyond(low, high) else flat
                if pair is gaps or low.place < high.place:
                    pair.append((low, high))
            elif low.kind == "total" and high.kind == "delta" and high.value > low.value * _GAP:
                gaps.append((low, high))
    for low, high in _strongest(gaps):
        if (low.place, low.backend, low.counter) in missed:
            said.append(_withdrawn(low, high))
            continue
        said.append(_elsewhere(low, high))
        if low.kind != high.kind or low.counter != high.counter:
            said.append(_caveat(low, high))
    if flat and not gaps:
        said.append(_agrees(flat))
    return said


def _by_program(found: Sequence[Observation]) -> list[list[Observation]]:
    groups: dict[tuple[Any, ...], list[Observation]] = defaultdict(list)
    for one in found:
        if one.method != "export" and one.exporter:
            key = (one.model, one.precision, one.backend, one.method, one.exporter, one.samples)
            groups[key].append(one)
    return list(groups.values())


def _same_file(one: Observation, other: Observation) -> bool:
    return one.pte is None or other.pte is None or one.pte == other.pte


def _beyond(low: Observation, high: Observation) -> bool:
    enough = max(low.value * max(_GAP, 1 + reach(low, high)), low.value + LEAST_BYTES)
    return not low.censored and high.value > enough


def _strongest(
    gaps: Sequence[tuple[Observation, Observation]],
) -> list[tuple[Observation, Observation]]:
    """Keep one gap per pair of places: the largest."""
    best: dict[tuple[str, str], tuple[Observation, Observation]] = {}
    for low, high in gaps:
        old = best.get((low.place, high.place))
        if old is None or high.value - low.value > old[1].value - old[0].value:
            best[(low.place, high.place)] = (low, high)
    return list(best.values())


def _elsewhere(low: Observation, high: Observation) -> Conclusion:
    size = "" if low.pte is None or high.pte is None else f" ({format_size(low.pte)})"
    gap = high.value - low.value
    least = "" if low.kind == high.kind and low.counter == high.counter else "at least "
    text = (
        f"not the exported program: the same file{size} peaks at {_said(low)} for {low.name} on "
        f"{low.place} and at {_said(high)} on {high.place}, {least}{format_size(gap)} more; "
        f"what is left is the runtime, the system or the app on {high.place}"
    )
    return Conclusion("rules_out", "program", text, (low.key, high.key))


def _caveat(low: Observation, high: Observation) -> Conclusion:
    counters = low.counter != high.counter
    unlike = (
        f"{low.shown} on {low.place} is a {low.kind} by {low.counter}, {high.shown} on "
        f"{high.place} a {high.kind} by {high.counter}"
    )
    text = f"caveat: {unlike}: they may be ordered, their difference is not the gap"
    if counters:
        text += (
            f"; and nothing here shows that {low.counter} on {low.place} sees all the memory that "
            f"{high.counter} sees on {high.place}"
        )
    return Conclusion("open", "metric_kind", text, (low.key, high.key), _measure(low, high))


def _withdrawn(low: Observation, high: Observation) -> Conclusion:
    text = (
        f"whether it is the exported program can't be told from {_said(low)} on {low.place} "
        f"against {_said(high)} on {high.place}: {low.counter} on {low.place} was seen to miss "
        f"most of {low.backend}'s memory"
    )
    return Conclusion("open", "program", text, (low.key, high.key), _measure(low, high))


def _agrees(flat: Sequence[tuple[Observation, Observation]]) -> Conclusion:
    low, high = max(
        flat, key=lambda pair: abs(pair[1].value - pair[0].value) / max(pair[0].value, LEAST_BYTES)
    )
    text = (
        f"the place makes no difference that matters: {low.name} takes {low.shown} on {low.place} "
        f"and {high.shown} on {high.place}, the farthest apart of {len(flat)}"
    )
    evidence = tuple(one.key for pair in flat for one in pair)
    return Conclusion("rules_out", "place", text, evidence)


def _blind(found: Sequence[Observation]) -> list[tuple[Observation, Observation]]:
    """Return pairs of one measurement by two counters, of which the first misses memory."""
    groups: dict[tuple[Any, ...], list[Observation]] = defaultdict(list)
    for one in found:
        groups[(one.place, one.key)].append(one)
    pairs = []
    for same in groups.values():
        for one, other in combinations(same, 2):
            low, high = sorted((one, other), key=lambda o: o.value)
            # What a total misses is certain where even a part of it is larger; a delta that is
            # below another counter's total misses nothing by that.
            like = low.kind == high.kind or (low.kind == "total" and high.kind == "delta")
            beyond = high.value > max(low.value * _BLIND, low.value + LEAST_BYTES)
            if low.counter != high.counter and like and beyond:
                pairs.append((low, high))
    return pairs


def _blindness(low: Observation, high: Observation) -> Conclusion:
    times = f", {high.value / low.value:.1f}x" if low.value else ""
    text = (
        f"{low.counter} misses memory on {low.place}: for {low.name} it says {low.shown} where "
        f"{high.counter} says {high.shown}{times}; nothing is ruled out "
        f"by {low.counter} of {low.backend} there"
    )
    return Conclusion("finding", "counter", text, (low.key, high.key))


def _said(one: Observation) -> str:
    return f"{one.shown} ({one.kind}, {one.counter})"


def _measure(low: Observation, high: Observation) -> str | None:
    """Return the command that takes the missing figure in, once somebody has measured it."""
    kind = f"kind={high.counter}_{high.kind}"
    said = shlex.join(["nox", "-s", "ingest", "--", "FILE", f"device={low.place}", kind])
    return said if said.isprintable() else None
