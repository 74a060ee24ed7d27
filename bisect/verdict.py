"""The verdict: what is written to verdict.json, and as Markdown to paste into an issue. Pure."""

from __future__ import annotations

from bisect.companion import Trial
from bisect.evidence import before_and_after
from bisect.explanation import Explanation
from bisect.finding import Culprit, Finding
from bisect.metrics import METRICS, Metric
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.values import format_seconds

NO_NARROWING = "no narrowing"
"""Why candidates are relevant where none was ruled out beforehand."""
_FILES = 6
"""Files of a commit that are named."""


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
    explained: Mapping[int, Explanation] = field(default_factory=dict)
    """What was found out of the commits named, by their index."""


def as_json(finding: Finding, context: Context) -> dict[str, Any]:
    """Build verdict.json. Sizes are in the metric's unit: bytes, seconds or a count.

    Keys: status (found, narrowed, unconfirmed, no_difference, opposite, undecided, unmeasurable),
    headline (the result in one line), metric, unit, culprit (the first of culprits, or null),
    culprits, suspects (named by the search, not borne out by the confirmation), companions (exact
    numbers of the program that were searched first, and where they step), confidence,
    credible_set, step_bytes, step_interval, difference (between the endpoints, bad minus good),
    difference_interval (95%), sigma (noise of one run), share_explained, whole_difference (what
    shares are of: between the releases, where these were searched before), side (that was varied),
    moved (the side that moved it, where that was found out), held (the other side),
    candidates_total, candidates_relevant, relevance_undone (whether the confirmation contradicted
    it), probes (revisions that gave a value), measurements (besides the endpoint check's), rounds
    (in which they were taken), wall_s, worker_s, cell, good, bad, command, values (what was
    measured of each revision, with its index in the range, good being 0). Where it is undecided,
    confidence and credible_set are of the likeliest candidates. A culprit's `memory` is described
    at :meth:`bisect.explanation.Explanation.as_json`.
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
        "companions": [_trial_json(trial, finding, context) for trial in finding.trials],
        "confidence": first["confidence"] if first else None,
        "credible_set": first["credible_set"] if first else [],
        "step_bytes": first["step"] if first else None,
        "step_interval": first["step_interval"] if first else None,
        "difference": finding.endpoint.difference if finding.endpoint else None,
        "difference_interval": list(finding.endpoint.interval) if finding.endpoint else None,
        "sigma": finding.endpoint.sigma if finding.endpoint else None,
        "share_explained": finding.share_explained if culprits else None,
        "whole_difference": _whole(finding),
        "side": context.varied,
        "moved": context.moved,
        "held": context.held or None,
        "candidates_total": len(context.revisions) - 1,
        "candidates_relevant": context.relevant,
        "relevance_undone": finding.relevance_undone,
        "probes": len(context.records),
        "measurements": finding.measurements,
        "rounds": finding.rounds,
        "wall_s": round(context.wall_s, 1),
        "worker_s": round(context.worker_s, 1),
        "cell": dict(context.cell),
        "good": context.revisions[0].name,
        "bad": context.revisions[-1].name,
        "command": context.command,
        "values": _values_json(context),
    }


def _whole(finding: Finding) -> float | None:
    """Return the difference that shares are of."""
    if finding.whole is not None or finding.endpoint is None:
        return finding.whole
    return finding.endpoint.difference


def _values_json(context: Context) -> list[dict[str, Any]]:
    measured = []
    for index in sorted(context.records):
        values = [context.metric.value(record) for record in context.records[index]]
        named = context.revisions[index]
        known = [value for value in values if value is not None]
        measured.append(
            {"index": index, "name": named.name, "subject": named.subject, "values": known}
        )
    return measured


def _culprit_json(culprit: Culprit, context: Context) -> dict[str, Any]:
    named, found = context.revisions[culprit.index], culprit.verdict
    explained = context.explained.get(culprit.index)
    return {
        "name": named.name,
        "index": culprit.index,
        "sha": named.sha,
        "subject": named.subject,
        "author": named.author,
        "date": named.date,
        "files": list(named.files),
        "confidence": found.confidence,
        "credible_set": [context.revisions[i].name for i in found.credible_set],
        "credible_indices": list(found.credible_set),
        "step": culprit.step,
        "step_interval": list(culprit.step_interval),
        "share": culprit.share,
        "confirmed": culprit.confirmed,
        "compared": culprit.compared,
        "parent": context.revisions[culprit.parent].name,
        "memory": explained.as_json() if explained else None,
    }


def _trial_json(trial: Trial, finding: Finding, context: Context) -> dict[str, Any]:
    at = None if trial.index is None else context.revisions[trial.index].name
    return {
        "name": trial.companion.name,
        "ends": [trial.companion.before, trial.companion.after],
        "outcome": trial.outcome,
        "steps_at": at if trial.steps else None,
        "same_commit": _same_commit(trial, finding),
    }


def _same_commit(trial: Trial, finding: Finding) -> bool:
    """Whether a companion was seen to step at a culprit, and led to it."""
    named = {culprit.index for culprit in finding.culprits}
    return trial.outcome == "confirmed" and trial.steps and trial.index in named


def as_markdown(finding: Finding, context: Context) -> str:
    """Build verdict.md: the verdict first, its evidence after it."""
    lines = [f"## {headline(finding, context)}", ""]
    lines += [f"- {line}" for line in _range_lines(finding, context)]
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
            rose = finding.endpoint is not None and finding.endpoint.difference > 0
            verb, noun = ("rose", "rise") if rose else ("fell", "fall")
            return (
                f"{metric} {verb} from {good} to {bad}, not the other way: "
                f"direction=any searches the {noun}"
            )
        case "unmeasurable":
            return f"{metric} can't be measured at an endpoint ({good}, {bad})"
        case _:
            return f"{metric} changed between {good} and {bad}; which commit did it is not decided"


def _range_lines(finding: Finding, context: Context) -> list[str]:
    names, show = [named.name for named in context.revisions], context.metric.show
    total = len(names) - 1
    measured = len([runs for runs in context.records.values() if runs])
    narrowed = context.why_relevant != NO_NARROWING
    outside = ""
    if 0 < context.worker_s <= context.wall_s:
        outside = f" ({1 - context.worker_s / context.wall_s:.0%} of it outside the workers)"
    several = finding.rounds < finding.measurements
    in_rounds = f" in {finding.rounds} rounds" if several else ""
    lines = [
        f"{total} candidate{'s' * (total != 1)} between {names[0]} and {names[-1]}"
        + (
            f"; {context.relevant} of them can matter ({context.why_relevant})."
            if narrowed
            else "."
        ),
        f"{finding.measurements} measurements{in_rounds} beside the endpoint check; "
        f"{measured} revisions measured, {format_seconds(context.wall_s)}{outside}.",
    ]
    if ends := finding.endpoint:
        levels = (_level(context, index) for index in (0, total))
        good, bad = ("?" if level is None else show(level) for level in levels)
        low, high = (context.metric.change(v) for v in ends.interval)
        lines.append(
            f"{context.metric.name}: {good} at {names[0]}, {bad} at {names[-1]}; "
            f"{context.metric.change(ends.difference)} (95%: {low} to {high}), "
            f"noise of one run {show(ends.sigma)}."
        )
    lines += [trial_words(trial, finding, context) for trial in finding.trials]
    if context.held:
        lines.append(_side_line(finding, context))
    return lines


def trial_words(trial: Trial, finding: Finding, context: Context) -> str:
    """Say what became of the search by an exact number of the program."""
    companion, metric = trial.companion, context.metric.name
    show = METRICS[companion.name].show
    ends = f"{show(companion.before)} to {show(companion.after)}"
    changes = f"{companion.name} changes over the range too ({ends})"
    if trial.index is None:
        if trial.outcome == "parted":
            return f"{changes}, but not where {metric} does."
        return (
            f"{changes}; at which commit is not known, since programs of some can't be made or "
            f"looked into: {metric} was searched itself."
        )
    where = context.revisions[trial.index].name
    step = ""
    if trial.before is not None and trial.after is not None and trial.steps:
        step = f"{show(trial.before)} to {show(trial.after)}"
    at = f"{companion.name} steps at {where}" + (f": {step}" if step else " by all that is known")
    match trial.outcome:
        case "confirmed" if _same_commit(trial, finding):
            return (
                f"{companion.name} steps at the same commit, {where}: {step}. It is exact, so it "
                f"was searched first, at one run each; {metric} was measured at that commit and "
                "its parent, and confirms it."
            )
        case "confirmed":
            return f"{at}; {metric} steps there too, which was not enough to name that commit."
        case "not_compared":
            return (
                f"{at}; {metric} could not be run there and at its parent in turn, and was "
                "searched itself."
            )
        case _:
            return f"{at}; {metric} did not confirm that commit and was searched itself."


def _side_line(finding: Finding, context: Context) -> str:
    """Say which side was varied; and that it moved it, only where that was found out."""
    programs = {"exporter": "programs ran on", "runtime": "programs were exported by"}
    still = f"{programs[context.varied]} {context.held}"
    if context.moved == context.varied and finding.status in ("found", "narrowed"):
        return f"It is the {context.moved} that moved it; {still} throughout."
    return f"Only the {context.varied} was varied; {still}."


def _culprit_lines(culprit: Culprit, context: Context) -> list[str]:
    named, found, change = context.revisions[culprit.index], culprit.verdict, context.metric.change
    level = _level(context, culprit.parent)
    relative = f" ({culprit.step / level:+.1%})" if level else ""
    low, high = culprit.step_interval
    how = "confirmed" if culprit.confirmed else "NOT confirmed"
    lines = [
        f"### {named.title}{'' if culprit.confirmed else ' (suspect)'}",
        "",
        *([f"{named.author}, {named.date}"] if named.author else []),
        f"- step {change(culprit.step)}{relative}, 95%: {change(low)} to {change(high)}; "
        f"{culprit.share:.0%} of the whole difference",
        f"- confidence {_sure(found.confidence)}, {how} against "
        + context.revisions[culprit.parent].name[:10]
        + (", run in turn" if culprit.compared else ": the two could not be run in turn"),
    ]
    others = [context.revisions[i].title for i in found.credible_set if i != culprit.index]
    if others:
        lines.append(
            f"- other candidates of the {100 * context.confidence:g}% set: {'; '.join(others[:10])}"
        )
    if named.files:
        more = len(named.files) - _FILES
        also = f" and {more} more" if more > 0 else ""
        lines.append(f"- files: {', '.join(named.files[:_FILES])}{also}")
    before, after = (context.records.get(i, ()) for i in (culprit.parent, culprit.index))
    lines += ["", *before_and_after(before, after, context.metric)]
    if explained := context.explained.get(culprit.index):
        lines += explained.lines()
    return lines


def _sure(confidence: float) -> str:
    """Print a probability; none is certain."""
    return "over 99.9%" if confidence > 0.999 else f"{confidence:.1%}"


def _level(context: Context, index: int) -> float | None:
    values = [context.metric.value(record) for record in context.records.get(index, ())]
    known = sorted(v for v in values if v is not None)
    return known[len(known) // 2] if known else None
