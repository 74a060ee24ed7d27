"""A bisection's verdict.json as a plot and as facts to read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from bench.values import format_mb, format_probability, format_seconds

_SAID = {
    "found": "{metric} changed with {first}",
    "narrowed": "{metric} changed with {first}",
    "unconfirmed": "{metric} changed; the search points to {suspect}, which is NOT confirmed",
    "no_difference": "{metric} does not differ between {good} and {bad} beyond the noise",
    "opposite": "{metric} changed the other way between {good} and {bad}: are they swapped?",
    "unmeasurable": "{metric} can't be measured at an endpoint ({good}, {bad})",
    "undecided": "{metric} changed between {good} and {bad}; which commit did it is not decided",
}


def headline(verdict: Mapping[str, Any]) -> str:
    """Say the result in one line, as the bisection did; older ones have no such line."""
    if "headline" in verdict:
        return str(verdict["headline"])
    named = {
        "first": _title(verdict["culprits"]),
        "suspect": _title(verdict.get("suspects", [])),
    }
    words = {key: str(verdict.get(key, "")) for key in ("metric", "good", "bad")}
    more = len(verdict["culprits"]) - 1
    also = f", and {more} other{'s' * (more > 1)}" if more > 0 else ""
    return _SAID.get(verdict["status"], _SAID["undecided"]).format(**named, **words) + also


def facts(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say besides the headline, as (term, text)."""
    unit = verdict["unit"]
    found: list[tuple[str, str]] = [("range", f"{verdict['good']} to {verdict['bad']}")]
    if verdict.get("difference") is not None:
        found.append(
            ("whole difference", _change(verdict, "difference", "difference_interval", unit))
        )
    for culprit in (*verdict["culprits"], *verdict.get("suspects", [])):
        sure = "confirmed" if culprit["confirmed"] else "NOT confirmed"
        text = (
            f"{_change(culprit, 'step', 'step_interval', unit)}, {culprit['share']:.0%} of the "
            f"whole difference; confidence {format_probability(culprit['confidence'])}, "
            f"{sure} against {culprit['parent'][:10]}"
        )
        found.append((f"step at {culprit['name'][:10]}", text))
        names = culprit["credible_set"]
        if len(names) > 1:
            found.append(("credible set", ", ".join(name[:10] for name in names)))
    found.append(
        (
            "candidates",
            f"{verdict['candidates_total']}, of which {verdict['candidates_relevant']} can matter; "
            f"{verdict['measurements']} measurements besides those of the endpoints",
        )
    )
    return found


def plot_content(verdict: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return points, levels and steps along the commits; None where no positions are recorded.

    ``x`` is the index in the range, good being 0; a change *at* commit ``i`` lies between ``i - 1``
    and ``i``. Values are MB (10^6 bytes), seconds or counts, as ``unit`` says.
    """
    measured = verdict.get("values")
    if not measured:
        return None
    scale = 1e6 if verdict["unit"] == "bytes" else 1.0
    points = [
        {"x": m["index"], "name": m["name"], "title": _words(m), "y": value / scale}
        for m in measured
        for value in m["values"]
    ]
    shown = [c for c in (*verdict["culprits"], *verdict.get("suspects", [])) if "index" in c]
    shown.sort(key=lambda culprit: int(culprit["index"]))
    edges = [0, *(int(culprit["index"]) for culprit in shown), verdict["candidates_total"] + 1]
    levels = [
        {"x": low, "x2": high - 1, "y": median(inside)}
        for low, high in pairwise(edges)
        if (inside := [p["y"] for p in points if low <= p["x"] < high])
    ]
    steps = []
    for culprit in shown:
        before = [level["y"] for level in levels if level["x2"] < culprit["index"]]
        low, high = (value / scale for value in culprit["step_interval"])
        steps.append(
            {
                "x": culprit["index"] - 0.5,
                "low": min(culprit["credible_indices"]) - 1,
                "high": max(culprit["credible_indices"]),
                "name": culprit["name"][:10],
                "title": _words(culprit),
                "text": _change(culprit, "step", "step_interval", verdict["unit"]),
                "y": before[-1] + low if before else None,
                "y2": before[-1] + high if before else None,
            }
        )
    return {
        "points": points,
        "levels": levels,
        "steps": steps,
        "last": verdict["candidates_total"],
        "title": f"{verdict['metric']}, {_unit(verdict['unit'])}",
        "command": verdict["command"],
    }


def _title(culprits: Sequence[Mapping[str, Any]]) -> str:
    return _words(culprits[0]) if culprits else "no commit"


def _words(named: Mapping[str, Any]) -> str:
    return f"{named['name'][:10]} {named.get('subject') or ''}".strip()


def _unit(unit: str) -> str:
    return {"bytes": "MB above the baseline", "seconds": "s"}.get(unit, unit)


def _change(found: Mapping[str, Any], value: str, interval: str, unit: str) -> str:
    low, high = (_signed(v, unit) for v in found[interval])
    return f"{_signed(found[value], unit)} (95%: {low} to {high})"


def _signed(value: float, unit: str) -> str:
    if unit == "seconds":
        return f"{'−' if value < 0 else '+'}{format_seconds(abs(value))}"
    size = f"{format_mb(abs(value))} MB" if unit == "bytes" else f"{abs(value):g}"
    return f"{'−' if value < 0 else '+'}{size}"
