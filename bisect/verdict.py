"""The verdict: what is written to verdict.json, and as Markdown to paste into an issue. Pure."""

from __future__ import annotations

from bisect.finding import Culprit, Finding
from bisect.metrics import Metric
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.results.rows import measurement_rows, phase_rows
from bench.values import format_mb, format_seconds


@dataclass(frozen=True)
class Named:
    """A revision of the range, as a verdict names it."""

    name: str
    sha: str | None = None
    subject: str = ""
    author: str = ""
    date: str = ""
    files: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return `4753d75e2b subject`, or the release's name."""
        return f"{self.sha[:10]} {self.subject}".strip() if self.sha else self.name


@dataclass(frozen=True)
class Context:
    """All that a verdict says besides the finding itself."""

    metric: Metric
    revisions: Sequence[Named]
    """The range, good first, bad last."""
    relevant: int
    """Candidates that can matter at all; all of them where relevance is off."""
    why_relevant: str
    varied: str
    """What the revisions were used as: ``exporter`` or ``runtime``."""
    held: str
    """The revision that was the other side throughout; empty where there is no other side."""
    moved: str | None
    """The side that the crossings of old and new said moved it; None where they did not say."""
    cell: Mapping[str, Any]
    records: Mapping[int, Sequence[Mapping[str, Any]]]
    """The measurements of each revision by its index."""
    command: str
    wall_s: float
    worker_s: float
    environment: str
    confidence: float = 0.95
    """How sure the person asked to be."""
    notes: tuple[str, ...] = field(default=())


def as_json(finding: Finding, context: Context) -> dict[str, Any]:
    """Build verdict.json. Sizes are in the metric's unit: bytes, seconds or a count.

    Keys: status (found, narrowed, unconfirmed, no_difference, opposite, undecided, unmeasurable),
    culprit (the first of culprits, or null), culprits, suspects (named by the search, not borne out
    by the confirmation), confidence, credible_set, step_bytes, step_interval, share_explained, side
    (that was varied), moved (the side that moved it, where that was found out), held (the other
    side), candidates_total, candidates_relevant, probes (revisions measured), measurements (besides
    the endpoint check's), wall_s, worker_s, cell, good, bad, metric, command.
    """
    culprits = [_culprit_json(culprit, context) for culprit in finding.culprits]
    first = culprits[0] if culprits else None
    return {
        "status": finding.status,
        "metric": context.metric.name,
        "unit": context.metric.unit,
        "culprit": first,
        "culprits": culprits,
        "suspects": [_culprit_json(suspect, context) for suspect in finding.suspects],
        "confidence": first["confidence"] if first else None,
        "credible_set": first["credible_set"] if first else [],
        "step_bytes": first["step"] if first else None,
        "step_interval": first["step_interval"] if first else None,
        "difference": finding.endpoint.difference if finding.endpoint else None,
        "difference_interval": list(finding.endpoint.interval) if finding.endpoint else None,
        "sigma": finding.endpoint.sigma if finding.endpoint else None,
        "share_explained": finding.share_explained if culprits else None,
        "side": context.varied,
        "moved": context.moved,
        "held": context.held or None,
        "candidates_total": len(context.revisions) - 1,
        "candidates_relevant": context.relevant,
        "relevance_undone": finding.relevance_undone,
        "probes": len(context.records),
        "measurements": finding.measurements,
        "wall_s": round(context.wall_s, 1),
        "worker_s": round(context.worker_s, 1),
        "cell": dict(context.cell),
        "good": context.revisions[0].name,
        "bad": context.revisions[-1].name,
        "command": context.command,
    }


def _culprit_json(culprit: Culprit, context: Context) -> dict[str, Any]:
    named, found = context.revisions[culprit.index], culprit.verdict
    return {
        "name": named.name,
        "sha": named.sha,
        "subject": named.subject,
        "author": named.author,
        "date": named.date,
        "files": list(named.files),
        "confidence": found.confidence,
        "credible_set": [context.revisions[i].name for i in found.credible_set],
        "step": culprit.step,
        "step_interval": list(culprit.step_interval),
        "share": culprit.share,
        "confirmed": culprit.confirmed,
        "compared": culprit.compared,
        "parent": context.revisions[culprit.parent].name,
    }


def as_markdown(finding: Finding, context: Context) -> str:
    """Build verdict.md: the verdict first, its evidence after it."""
    lines = [f"## {headline(finding, context)}", ""]
    lines += _range_lines(finding, context)
    for culprit in (*finding.culprits, *finding.suspects):
        lines += ["", *_culprit_lines(culprit, context)]
    if finding.culprits:
        explained = f"{finding.share_explained:.0%} of the whole difference is explained"
        lines += ["", explained + " by what is named here."]
    lines += [f"\n{note}" for note in context.notes]
    lines += ["", f"Environment: {context.environment}", "", "Reproduce with:", ""]
    lines += [f"    {context.command}", ""]
    return "\n".join(lines)


def headline(finding: Finding, context: Context) -> str:
    """Say the result in one line."""
    metric, good, bad = context.metric.name, context.revisions[0].name, context.revisions[-1].name
    match finding.status:
        case "found" | "narrowed":
            first = finding.culprits[0]
            more = len(finding.culprits) - 1
            also = f", and {more} other{'s' * (more > 1)}" if more else ""
            return f"{metric} changed with {context.revisions[first.index].title}{also}"
        case "unconfirmed":
            suspect = context.revisions[finding.suspects[0].index].title
            return (
                f"{metric} changed between {good} and {bad}; the search points to {suspect}, "
                "which is NOT confirmed"
            )
        case "no_difference":
            return f"{metric} does not differ between {good} and {bad} beyond the noise"
        case "opposite":
            return f"{metric} changed the other way between {good} and {bad}: are they swapped?"
        case "unmeasurable":
            return f"{metric} can't be measured at an endpoint ({good}, {bad})"
        case _:
            return f"{metric} changed between {good} and {bad}; which commit did it is not decided"


def _range_lines(finding: Finding, context: Context) -> list[str]:
    total = len(context.revisions) - 1
    lines = [
        f"{total} candidates between {context.revisions[0].name} and {context.revisions[-1].name}"
        f"; {context.relevant} of them can matter ({context.why_relevant}).",
        f"{finding.measurements} measurements of {len(context.records)} revisions besides the "
        f"endpoint check, {format_seconds(context.wall_s)}.",
    ]
    if finding.endpoint:
        show, ends = context.metric.show, finding.endpoint
        lines.append(
            f"Whole difference: {show(ends.difference)} "
            f"(95%: {show(ends.interval[0])} to {show(ends.interval[1])}); "
            f"noise of one run: {show(ends.sigma)}."
        )
    if context.held:
        lines.append(_side_line(finding, context))
    return lines


def _side_line(finding: Finding, context: Context) -> str:
    """Say which side was varied; and that it moved it, only where that was found out."""
    programs = {"exporter": "programs ran on", "runtime": "programs were exported by"}
    still = f"{programs[context.varied]} {context.held}"
    if context.moved == context.varied and finding.status in ("found", "narrowed"):
        return f"It is the {context.moved} that moved it; {still} throughout."
    return f"Only the {context.varied} was varied; {still}."


def _culprit_lines(culprit: Culprit, context: Context) -> list[str]:
    named, found, show = context.revisions[culprit.index], culprit.verdict, context.metric.show
    before = _level(context, culprit.parent)
    relative = f" ({culprit.step / before:+.1%})" if before else ""
    low, high = culprit.step_interval
    how = "confirmed" if culprit.confirmed else "NOT confirmed"
    lines = [
        f"### {named.title}{'' if culprit.confirmed else ' (suspect)'}",
        "",
        *([f"{named.author}, {named.date}"] if named.author else []),
        f"- step {show(culprit.step)}{relative}, 95%: {show(low)} to {show(high)}; "
        f"{culprit.share:.0%} of the whole difference",
        f"- confidence {found.confidence:.1%}, {how} against "
        + context.revisions[culprit.parent].name[:10]
        + (", run in turn" if culprit.compared else ": the two could not be run in turn"),
    ]
    others = [context.revisions[i].title for i in found.credible_set if i != culprit.index]
    if others:
        lines.append(
            f"- other candidates of the {100 * context.confidence:g}% set: {'; '.join(others[:10])}"
        )
    if named.files:
        lines.append(f"- files: {', '.join(named.files[:12])}{' ...' * (len(named.files) > 12)}")
    lines += ["", *_before_after(culprit, context)]
    return lines


def _level(context: Context, index: int) -> float | None:
    values = [context.metric.value(record) for record in context.records.get(index, ())]
    known = sorted(v for v in values if v is not None)
    return known[len(known) // 2] if known else None


def _before_after(culprit: Culprit, context: Context) -> list[str]:
    """Tables of parent against culprit: the phases, and what else changed."""
    sides = [context.records.get(i, ()) for i in (culprit.parent, culprit.index)]
    good = [[r for r in side if r["status"] == "ok"] for side in sides]
    if not all(good):
        return []
    before, after = (_typical(side, context.metric) for side in good)
    lines = [
        "| peak above the baseline in | before | after | change |",
        "| --- | ---: | ---: | ---: |",
    ]
    phases = [_phases(record) for record in (before, after)]
    for name in dict.fromkeys([*phases[0], *phases[1]]):
        a, b = (side.get(name) for side in phases)
        change = "" if a is None or b is None else f"{(b - a) / 1e6:+.1f} MB"
        lines.append(f"| {name} | {_mb(a)} | {_mb(b)} | {change} |")
    rows = [measurement_rows(record)[-1] for record in (before, after)]
    lines += ["", "| also | before | after |", "| --- | ---: | ---: |"]
    for key in _COMPARED:
        old, new = (_value(key, row.get(key)) for row in rows)
        if old or new:
            lines.append(f"| {key} | {old} | {new} |")
    return lines


def _typical(records: Sequence[Mapping[str, Any]], metric: Metric) -> Mapping[str, Any]:
    """Return the record whose value is the median one."""
    known = [(value, i) for i, r in enumerate(records) if (value := metric.value(r)) is not None]
    return records[sorted(known)[len(known) // 2][1]] if known else records[-1]


def _phases(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the peak of each phase above the baseline of its own process, as the step is."""
    baseline = measurement_rows(record)[-1]["baseline_bytes"] or 0
    return {row["phase"]: row["peak_bytes"] - baseline for row in phase_rows(record)}


_COMPARED = (
    *("total_s", "exec_median_s", "pte_bytes", "planned_bytes", "delegates"),
    *("delegated_nodes", "undelegated_nodes", "undelegated_ops", "output_sha"),
)


def _value(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key.endswith("_bytes"):
        return f"{value / 1e6:.3f} MB"
    return format_seconds(value) if key.endswith("_s") else str(value)


def _mb(value: float | None) -> str:
    return f"{format_mb(value)} MB" if value is not None else ""
