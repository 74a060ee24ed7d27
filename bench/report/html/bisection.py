"""A bisection's verdict.json as a plot and as facts to read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from bench.values import format_bytes, format_probability, format_seconds

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
    shown = _Shown.of(verdict)
    found: list[tuple[str, str]] = [("range", f"{verdict['good']} to {verdict['bad']}")]
    if verdict.get("difference") is not None:
        whole = shown.change(verdict["difference"], verdict["difference_interval"])
        found.append(("whole difference", whole))
    for culprit in (*verdict["culprits"], *verdict.get("suspects", [])):
        sure = "confirmed" if culprit["confirmed"] else "NOT confirmed"
        text = (
            f"{shown.change(culprit['step'], culprit['step_interval'])}, {culprit['share']:.0%} "
            f"of the whole difference; confidence {format_probability(culprit['confidence'])}, "
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
    unit = _Shown.of(verdict)
    scale = 1e6 if unit.unit == "bytes" else 1.0
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
                "text": unit.change(culprit["step"], culprit["step_interval"]),
                "y": before[-1] + low if before else None,
                "y2": before[-1] + high if before else None,
            }
        )
    return {
        "points": points,
        "levels": levels,
        "steps": steps,
        "last": verdict["candidates_total"],
        "title": f"{verdict['metric']}, {unit.axis}",
        "command": verdict["command"],
    }


def _title(culprits: Sequence[Mapping[str, Any]]) -> str:
    return _words(culprits[0]) if culprits else "no commit"


def _words(named: Mapping[str, Any]) -> str:
    return f"{named['name'][:10]} {named.get('subject') or ''}".strip()


@dataclass(frozen=True)
class _Shown:
    """How values of the bisected metric are shown."""

    unit: str
    exact: bool

    @classmethod
    def of(cls, verdict: Mapping[str, Any]) -> _Shown:
        return cls(verdict["unit"], verdict.get("exact", False))

    @property
    def axis(self) -> str:
        if self.unit == "bytes":
            return "MB" if self.exact else "MB above the baseline"
        return {"seconds": "s"}.get(self.unit, self.unit)

    def change(self, value: float, interval: Sequence[float]) -> str:
        """Print a difference with its 95% interval, which an exact one has not."""
        if self.exact:
            return self._signed(value)
        low, high = (self._signed(end) for end in interval)
        return f"{self._signed(value)} (95%: {low} to {high})"

    def _signed(self, value: float) -> str:
        size = abs(value)
        if self.unit == "seconds":
            text = format_seconds(size)
        elif self.unit == "bytes":
            text = format_bytes(size, exact=self.exact)
        else:
            text = f"{size:g}"
        return f"{'−' if value < 0 else '+'}{text}"
