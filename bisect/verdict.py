"""The verdict: what is written to verdict.json, and as Markdown to paste into an issue. Pure."""

from __future__ import annotations

from bisect.companion import Trial
from bisect.context import NO_NARROWING, Context, Named
from bisect.evidence import before_and_after
from bisect.finding import Culprit, Finding
from bisect.search import verdict
from bisect.sentences import culprit_title, explained_line, headline, range_lines, same_commit
from typing import Any

from bench.values import format_probability

__all__ = ["NO_NARROWING", "Context", "Named", "as_json", "as_markdown", "headline"]

_OTHERS = 10
"""Candidates of a set that are named."""
_LEAST_SHARE = 0.0005
"""A step that is less of its parent's value would be said to be 0.0% of it."""
_FILES = 6
"""Files of a commit that are named."""


def as_json(finding: Finding, context: Context) -> dict[str, Any]:
    """Build verdict.json. Sizes are in the metric's unit: bytes, seconds or a count.

    Keys: status (found, narrowed, unconfirmed, no_difference, opposite, undecided, unmeasurable),
    headline (the result in one line), metric, unit, exact (whether one run tells, and intervals
    have no width), culprit (the first of culprits, or null), culprits, suspects (named by the
    search, not borne out by the confirmation), companions (exact numbers of the program that were
    searched first, and where they step), confidence, credible_set, step_bytes, step_interval,
    difference (between the endpoints, bad minus good), difference_interval (95%), sigma (noise of
    one run), share_explained, whole_difference (what shares are of: between the releases, where
    these were searched before), side (that was varied), moved (the side that moved it, where that
    was found out), held (the other side), candidates_total, candidates_relevant, relevance_undone
    (whether the confirmation contradicted it), probes (revisions that gave a value), measurements
    (besides the endpoint check's), rounds (in which they were taken), wall_s, worker_s, cell, good,
    bad, command, values (what was measured of each revision, with its index in the range, good
    being 0). Where it is undecided, confidence and credible_set are of the likeliest candidates. A
    culprit's `memory` is described at :meth:`bisect.explanation.Explanation.as_json`.
    """
    culprits = [_culprit_json(culprit, context) for culprit in finding.culprits]
    first = culprits[0] if culprits else None
    chance, left = _undecided(finding, context)
    return {
        "status": finding.status,
        "headline": headline(finding, context),
        "metric": context.metric.name,
        "unit": context.metric.unit,
        "exact": context.metric.exact,
        "culprit": first,
        "culprits": culprits,
        "suspects": [_culprit_json(suspect, context) for suspect in finding.suspects],
        "companions": [_trial_json(trial, finding, context) for trial in finding.trials],
        "confidence": first["confidence"] if first else chance,
        "credible_set": first["credible_set"] if first else left,
        "step_bytes": first["step"] if first else None,
        "step_interval": first["step_interval"] if first else None,
        "difference": finding.endpoint.difference if finding.endpoint else None,
        "difference_interval": list(finding.endpoint.interval) if finding.endpoint else None,
        "sigma": finding.endpoint.sigma if finding.endpoint else None,
        "share_explained": finding.share_explained if culprits else None,
        "whole_difference": finding.whole_difference,
        "side": context.varied,
        "moved": context.moved,
        "held": context.held or None,
        "candidates_total": len(context.revisions) - 1,
        "candidates_relevant": context.relevant,
        "relevance_undone": finding.relevance_undone,
        "probes": len(context.measured),
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


def _undecided(finding: Finding, context: Context) -> tuple[float | None, list[str]]:
    """Return the likeliest candidate's probability, and the credible set, of an open search."""
    if finding.status != "undecided" or finding.state is None:
        return None, []
    found = verdict(finding.state)
    return found.confidence, [context.revisions[i].name for i in found.credible_set]


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
        "same_commit": same_commit(trial, finding),
    }


def as_markdown(finding: Finding, context: Context) -> str:
    """Build verdict.md: the verdict first, its evidence after it."""
    lines = [f"## {headline(finding, context)}", ""]
    lines += [f"- {line}" for line in range_lines(finding, context)]
    for culprit in (*finding.culprits, *finding.suspects):
        lines += ["", *_culprit_lines(culprit, context)]
    if finding.culprits:
        lines += ["", explained_line(finding, context)]
    lines += [f"\n{note}" for note in context.notes]
    lines += ["", f"Environment: {context.environment}", "", "Reproduce with:", ""]
    lines += [f"    {context.command}", ""]
    return "\n".join(lines)


def _culprit_lines(culprit: Culprit, context: Context) -> list[str]:
    named, found, change = context.revisions[culprit.index], culprit.verdict, context.metric.change
    level = context.level(culprit.parent)
    share = culprit.step / level if level else 0.0
    relative = f" ({share:+.1%})" if abs(share) >= _LEAST_SHARE else ""
    low, high = (change(end) for end in culprit.step_interval)
    interval = "" if context.metric.exact else f", 95%: {low} to {high}"
    how = "confirmed" if culprit.confirmed else "NOT confirmed"
    several = found.status == "narrowed" and len(found.credible_set) > 1
    sure = found.held if several else found.confidence
    lines = [
        f"### {culprit_title(culprit, context)}{'' if culprit.confirmed else ' (suspect)'}",
        "",
        *([f"{named.author}, {named.date}"] if named.author and not several else []),
        f"- step {change(culprit.step)}{relative}{interval}; "
        f"{culprit.share:.0%} of the whole difference",
        f"- confidence {format_probability(sure)}, {how} against "
        + context.revisions[culprit.parent].name[:10]
        + (", run in turn" if culprit.compared else ": the two could not be run in turn"),
    ]
    others = [
        context.revisions[i].title for i in found.credible_set if several or i != culprit.index
    ]
    if others:
        set_of = f"the {100 * context.confidence:g}% set"
        what = f"the candidates ({set_of})" if several else f"other candidates of {set_of}"
        more = len(others) - _OTHERS
        also = f"; and {more} more" if more > 0 else ""
        lines.append(f"- {what}: {'; '.join(others[:_OTHERS])}{also}")
    if between := range(culprit.parent + 1, min(found.credible_set)):
        unsure = ", ".join(context.revisions[i].name for i in between)
        lines.append(f"- not told apart by measuring, but ruled out by what it changes: {unsure}")
    if named.files and not several:
        more = len(named.files) - _FILES
        also = f" and {more} more" if more > 0 else ""
        lines.append(f"- files: {', '.join(named.files[:_FILES])}{also}")
    before, after = (context.records.get(i, ()) for i in (culprit.parent, culprit.after))
    lines += ["", *before_and_after(before, after, context.metric)]
    if explained := context.explained.get(culprit.index):
        lines += explained.lines()
    return lines
