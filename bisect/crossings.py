"""Exporter or runtime: old and new of both, measured crosswise before anything is searched."""

from __future__ import annotations

from bisect.metrics import Metric
from bisect.rig import Rig, failure, same_torch
from bisect.sides import Crossing, Effect, Side, effects, side_to_search
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.environment import releases
from bench.request import Request


@dataclass(frozen=True)
class Crossed:
    """What the crossings said.

    Attributes:
        runtimes: those that share one torch, oldest first: they could be crossed.
        moved: the side that moves the metric as was asked; None where neither was shown to, or
            nothing was crossed.
        held: the newest runtime on which both ends ran: the one to hold still.
        notes: sentences for the verdict.
        against: a clause on the side that moved it the other way than was asked, where one did
            and none as was asked; empty otherwise.
        records: the measurements by exporter and runtime, so that none is taken again.
    """

    runtimes: tuple[str, ...]
    moved: Side | None
    held: str
    notes: tuple[str, ...]
    against: str = ""
    records: Mapping[tuple[str, str], Sequence[dict[str, Any]]] = field(default_factory=dict)


def cross(rig: Rig, releases_: Sequence[str], bench: Request) -> Crossed:
    """Measure {oldest, newest} exporter x {oldest, newest} runtime, in turn.

    Runtimes only of the torch that is held still: a release's libraries load with no other.
    """
    fit, left_out = same_torch(releases_, rig.base)
    notes = []
    if left_out:
        notes.append(
            f"Runtimes of {', '.join(left_out)} were not crossed: they need another torch than "
            f"{releases()[rig.base]}, which was held still."
        )
    old, new = fit[0], fit[-1]
    if old == new:
        return Crossed(fit, None, new, tuple(notes))
    exporters = {"old": releases_[0], "new": releases_[-1]}
    ends: dict[Crossing, tuple[str, str]] = {
        (e, r): (exporters[e], old if r == "old" else new)
        for e in ("old", "new")
        for r in ("old", "new")
    }
    values, why_not, records = _measure(rig, bench, ends)
    if why_not:
        ran = [
            runtime
            for word, runtime in (("old", old), ("new", new))
            if all(values[crossing] for crossing in ends if crossing[1] == word)
        ]
        return Crossed(fit, None, (ran or [new])[-1], (*notes, *why_not), records=records)
    found = effects(values)
    words: dict[Side, tuple[str, ...]] = {
        "exporter": tuple(exporters.values()),
        "runtime": (old, new),
    }
    notes += [effect_words(effect, words[effect.side], rig.metric) for effect in found]
    notes += interaction_words(found, words, rig.metric, rig.request.settings.floor)
    settings = rig.request.settings
    moved = side_to_search(found, settings.floor, settings.direction)
    against = "" if moved else against_words(found, words, rig.metric, settings.floor)
    return Crossed(fit, moved, new, tuple(notes), against, records)


def effect_words(effect: Effect, ends: Sequence[str], metric: Metric) -> str:
    """Say how much one side does, from its old end to its new one."""
    return (
        f"Crossed: from {ends[0]} to {ends[1]} the {effect.side} changes {metric.name} by "
        f"{metric.estimate(effect.size, effect.interval)}."
    )


def against_words(
    found: tuple[Effect, Effect],
    ends: Mapping[Side, Sequence[str]],
    metric: Metric,
    floor: float,
) -> str:
    """Say which side moved it, if not as was asked; empty where neither did at all."""
    side = side_to_search(found, floor, "any")
    if side is None:
        return ""
    effect = next(effect for effect in found if effect.side == side)
    old, new = ends[side]
    return (
        f"from {old} to {new} the {side} changes it by {metric.change(effect.size)}, "
        "which direction=any follows"
    )


def interaction_words(
    found: Sequence[Effect],
    ends: Mapping[Side, Sequence[str]],
    metric: Metric,
    floor: float,
) -> list[str]:
    """Say where one side's effect depends on the other; nothing where it does not."""
    exporter = next(effect for effect in found if effect.side == "exporter")
    on_old, on_new = exporter.each
    if not exporter.interacts or abs(on_new - on_old) < floor:
        return []
    (old, new), change = ends["runtime"], metric.change
    return [
        f"The two act together: the exporter's change is {change(on_old)} on the runtime of {old} "
        f"and {change(on_new)} on that of {new}; the figures above are means of both."
    ]


def _measure(
    rig: Rig, bench: Request, ends: dict[Crossing, tuple[str, str]]
) -> tuple[dict[Crossing, list[float]], list[str], dict[tuple[str, str], list[dict[str, Any]]]]:
    """Return the repeats of each crossing, why some can't be run, and the records of all.

    Each is tried once, so that it is known which can be run; where one can't, that is all. The
    values of one that can't are empty. Records are by exporter and runtime.
    """
    by_name = {
        f"{exporter} on {runtime}": (exporter, runtime) for exporter, runtime in ends.values()
    }
    names = list(by_name)
    listener = rig.listener(names, in_turn=True)
    asked = [end for pair in ends.values() for end in pair]
    prober = rig.prober("crossings", names, bench, lambda n: by_name[n], listener, asked)
    runs = max(2, rig.request.settings.repeats)
    values: dict[Crossing, list[float]] = {key: [] for key in ends}
    why_not: list[str] = []
    with listener:
        listener.stage("exporter or runtime: old and new of both")
        for run in range(runs):
            for number, key in enumerate(ends):
                listener.probing(number, run + 1, runs)
                (value,) = prober.measure([number])
                listener.measured(number, value)
                if value is None:
                    values[key] = []
                    why = failure(prober.records[number][-1])
                    why_not.append(f"Not crossed: {names[number]}: {why}")
                else:
                    values[key].append(value)
            if why_not:
                break
    records = {by_name[name]: prober.records[number] for number, name in enumerate(names)}
    return values, why_not, records
