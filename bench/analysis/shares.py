"""Is it the precision, is it that method? Judged by what is paid without it. Pure.

Both use figures above a baseline only: a whole-process total has the imports on both sides, and
whatever is changed, most of it is still paid.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.conclusion import Conclusion
from bench.analysis.observations import Observation, Stratum, notable, reach, strata
from bench.values import format_percent, format_size

# Paid at every precision: the axis explains at most a third, so what is searched for is elsewhere.
_PAID_ANYWAY = 2 / 3
# An excess is about the extra bytes of the file if it differs by no more than that.
_ABOUT = 0.35
# A method is free if it takes at most this share of what another one takes.
_FREE = 0.01


def precision(found: Sequence[Observation]) -> list[Conclusion]:
    """Conclude on precision, place by place."""
    big = notable(found)
    groups = strata(found, "precision", lambda one: one.kind == "delta" and one.method != "export")
    said = []
    for place in _places(groups):
        every = [g for g in groups if g.high.place == place and big(g.high)]
        here = [group for group in every if not _undecided(group)]
        bounds = [group for group in every if _undecided(group)]
        if bounds:
            said.append(_bounds(bounds, place))
        if not here:
            continue
        largest = max(here, key=lambda group: group.high.value)
        low, high = largest.low, largest.high
        paid = [group for group in here if _least_share(group) >= _PAID_ANYWAY]
        evidence = tuple(one.key for group in here for one in group.levels.values())
        if len(paid) == len(here) and bounds:
            continue  # what was not decided may be where precision matters
        if len(paid) == len(here):
            text = (
                f"not precision: {low.precision} pays {low.shown} for the same {high.method} too "
                f"({_of(largest)}); {_excess(low, high)}"
            )
            said.append(Conclusion("rules_out", "precision", f"{text}; {place}", evidence))
        else:
            scope = "" if not paid else f" in {len(here) - len(paid)} of {len(here)} cells"
            worst = min(here, key=_least_share)
            low, high = worst.low, worst.high
            text = (
                f"precision matters{scope}: {low.precision} takes {low.shown} where "
                f"{high.precision} takes {high.shown} for {high.model} {high.method}; "
                f"{_excess(low, high)}; {place}"
            )
            said.append(Conclusion("finding", "precision", text, evidence))
    return said


def method(found: Sequence[Observation]) -> list[Conclusion]:
    """Conclude on which method the memory is in, place by place."""
    run = [o for o in found if o.kind == "delta" and o.method not in ("export", "pipeline")]
    groups = strata(run, "method")
    big = notable(run)
    said = []
    for place in _places(groups):
        here = [g for g in groups if g.high.place == place and big(g.high)]
        names = dict.fromkeys(name for group in here for name in group.levels)
        free = [name for name in names if _is_free(name, here)]
        evidence = tuple(one.key for group in here for one in group.levels.values())
        for name in free:
            group = max(here, key=lambda g: g.high.value)
            most = max(g.levels[name].value for g in here if name in g.levels)
            each = ", ".join(
                f"{g.levels[name].precision} {g.levels[name].shown}"
                for g in here
                if name in g.levels
            )
            text = (
                f"not {name}: it is free to within {most / 1e6:.2f} MB ({each}); the memory is in "
                f"{group.high.method}, {group.high.shown} for {group.high.precision}; {place}"
            )
            said.append(Conclusion("rules_out", "method", text, evidence))
        if here and not free:
            group = max(here, key=lambda g: g.high.value)
            shown = ", ".join(f"{name} {one.shown}" for name, one in group.levels.items())
            text = (
                f"both methods pay: {shown} for {group.high.model} {group.high.precision}; {place}"
            )
            said.append(Conclusion("finding", "method", text, evidence))
    return said


def _undecided(group: Stratum) -> bool:
    """Tell whether the share that is paid anyway may be anything, since a figure is a bound."""
    low, high = group.low, group.high
    return low.censored or (high.censored and low.value >= _PAID_ANYWAY * high.value)


def _bounds(groups: Sequence[Stratum], place: str) -> Conclusion:
    largest = max(groups, key=lambda group: group.high.value)
    shown = ", ".join(f"{name} {one.shown}" for name, one in largest.levels.items())
    more = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    text = (
        f"precision is not decided for {largest.high.model} {largest.high.method}{more}: {shown}; "
        f"a process that was ended gives a bound only; {place}"
    )
    evidence = tuple(one.key for group in groups for one in group.levels.values())
    return Conclusion("open", "precision", text, evidence)


def _least_share(group: Stratum) -> float:
    """Return the share that is paid at the cheapest level, less the noise of both figures."""
    low, high = group.low, group.high
    if low.censored or high.censored or high.value <= 0:
        return 0.0  # a bound: the share may be anything below
    return low.value / high.value * (1 - reach(low, high))


def _of(group: Stratum) -> str:
    return (
        f"{group.low.value / group.high.value:.0%} of {group.high.precision}'s {group.high.shown}"
    )


def _excess(low: Observation, high: Observation) -> str:
    """Say how much more the one takes, and whether its file is as much larger."""
    excess = high.value - low.value
    width = reach(low, high) * high.value
    bound = "at least " if high.censored else ""
    words = (
        f"{high.precision}'s excess over {low.precision} is {bound}{format_size(excess)} "
        f"(±{width / 1e6:.1f} by noise)"
    )
    if low.pte is None or high.pte is None:
        return words
    extra = high.pte - low.pte
    if not high.censored and extra > 0 and abs(excess - extra) <= _ABOUT * max(excess, extra):
        return f"{words}, about its extra weight bytes ({format_size(extra)})"
    smaller = "smaller" if extra < 0 else "larger"
    return f"{words}, and its file is {format_size(abs(extra))} {smaller}"


def _is_free(name: str, groups: Sequence[Stratum]) -> bool:
    own = [(group.levels[name], group.high) for group in groups if name in group.levels]
    if any(one.censored for one, _ in own):  # what is only a bound may be anything
        return False
    shares = [one.value / high.value for one, high in own if high.value > 0]
    return bool(shares) and max(shares) <= _FREE


def _places(groups: Sequence[Stratum]) -> list[str]:
    return list(dict.fromkeys(group.high.place for group in groups))


def change(before: Observation, after: Observation) -> str:
    """Print the relative difference of two figures of the same kind."""
    return format_percent(after.value / before.value - 1)
