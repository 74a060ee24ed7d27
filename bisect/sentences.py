"""The sentences of a verdict: one for each way that a bisection, or a part of it, can end. Pure."""

from __future__ import annotations

from bisect.companion import Trial
from bisect.context import NO_NARROWING, Context
from bisect.finding import Culprit, Finding
from bisect.metrics import METRICS
from bisect.posterior import posterior
from bisect.search import verdict

from bench.values import format_seconds

_LIKELY = 3
"""Candidates named of those that are left."""
_ALL = 1.05
"""Shares up to this are the whole, but for noise."""


def headline(finding: Finding, context: Context) -> str:
    """Say the result in one line."""
    metric, good, bad = context.metric.name, context.revisions[0].name, context.revisions[-1].name
    against = f"; {context.against}" if context.against else ""
    match finding.status:
        case "found" | "narrowed":
            first = finding.culprits[0]
            more = len(finding.culprits) - 1
            also = f", and {more} other{'s' * (more > 1)}" if more else ""
            return f"{metric} changed with {culprit_title(first, context)}{also}"
        case "unconfirmed":
            suspect = culprit_title(finding.suspects[0], context)
            return (
                f"{metric} changed between {good} and {bad}; the search points to {suspect}, "
                "which is NOT confirmed"
            )
        case "no_difference":
            return _no_difference(finding, context) + against
        case "opposite":
            rose = finding.endpoint is not None and finding.endpoint.difference > 0
            verb, noun = ("rose", "rise") if rose else ("fell", "fall")
            return (
                f"{metric} {verb} from {good} to {bad}, not the other way: "
                f"direction=any searches the {noun}{against}"
            )
        case "unmeasurable":
            return f"{metric} can't be measured at an endpoint: {_failed_ends(context)}"
        case _:
            return f"{metric} changed between {good} and {bad}; which commit did it is not decided"


def culprit_title(culprit: Culprit, context: Context) -> str:
    """Name a commit, or the few that nothing can tell apart."""
    members = culprit.verdict.credible_set
    if culprit.verdict.status != "narrowed" or len(members) < 2:
        return context.revisions[culprit.index].title
    first, last = (context.revisions[i].name for i in (members[0], members[-1]))
    return f"one of {len(members)} candidates, {first}..{last}"


def _no_difference(finding: Finding, context: Context) -> str:
    """Say which of three things it is: too small, not shown, or shown once and never again."""
    metric = context.metric.name
    of = f"the {context.varied}s of " if context.held else ""
    ends = f"between {of}{context.revisions[0].name} and {context.revisions[-1].name}"
    if finding.endpoint is None:
        return f"{metric} is not shown to differ {ends}"
    by = context.metric.estimate(finding.endpoint.difference, finding.endpoint.interval)
    if finding.withdrawn:
        return f"{metric} seemed to differ {ends}; more runs did not bear it out: now {by}"
    if finding.endpoint.verdict == "below_floor":
        floor = context.metric.show(context.floor)
        return f"{metric} differs {ends} by {by}, which is below the floor of {floor}"
    return f"{metric} is not shown to differ {ends}: {by}"


def _failed_ends(context: Context) -> str:
    """Name the endpoints that failed, and how."""
    ends = {0: "good", len(context.revisions) - 1: "bad"}
    said = [
        f"{word} ({context.revisions[index].name}), {context.failure(index)}"
        for index, word in ends.items()
        if context.failure(index)
    ]
    names = f"{context.revisions[0].name}, {context.revisions[-1].name}"
    return "; ".join(said) or names


def undecided_lines(finding: Finding, context: Context) -> list[str]:
    """Say what is known of a search that named nobody, and why it ended."""
    if finding.status != "undecided" or finding.state is None:
        return []
    found = verdict(finding.state)
    first, last = (
        context.revisions[i].name for i in (found.credible_set[0], found.credible_set[-1])
    )
    chances = posterior(finding.state).probabilities
    likely = sorted(found.credible_set, key=lambda i: -chances[i])[:_LIKELY]
    names = ", ".join(f"{context.revisions[i].title} {chances[i]:.0%}" for i in likely)
    why = (
        "the budget is spent: budget= allows more measurements"
        if finding.out_of_budget
        else "further runs of these revisions would not tell more"
    )
    count = len(found.credible_set)
    return [
        f"It is one of {count} candidate{'s' * (count != 1)} in {first}..{last} "
        f"({context.confidence:.0%} of the probability); likeliest: {names}. "
        f"The search ended since {why}."
    ]


def explained_line(finding: Finding, context: Context) -> str:
    """Say how much of the whole difference the commits named explain."""
    share, change = finding.share_explained, context.metric.change
    if share <= _ALL or (whole := finding.whole_difference) is None:
        return f"{share:.0%} of the whole difference is explained by what is named here."
    together = sum(culprit.step for culprit in finding.culprits)
    return (
        f"What is named here makes {change(together)} together, more than the whole difference of "
        f"{change(whole)}: other changes took part of it back."
    )


def range_lines(finding: Finding, context: Context) -> list[str]:
    """Say what was searched, how much was measured, and what is known of the range."""
    names, show = [named.name for named in context.revisions], context.metric.show
    total = len(names) - 1
    measured = len(context.measured)
    narrowed = context.why_relevant != NO_NARROWING
    undone = ""
    if finding.relevance_undone:
        undone = "; the confirmation contradicted what that pointed to, and all were weighed alike"
    outside = ""
    if 0 < context.worker_s <= context.wall_s:
        outside = f" ({1 - context.worker_s / context.wall_s:.0%} of it outside the workers)"
    several = finding.rounds < finding.measurements
    in_rounds = f" in {finding.rounds} rounds" if several else ""
    lines = [
        f"{total} candidate{'s' * (total != 1)} between {names[0]} and {names[-1]}"
        + (
            f"; {context.relevant} of them can matter ({context.why_relevant}){undone}."
            if narrowed
            else "."
        ),
        f"{finding.measurements} measurements{in_rounds} beside the endpoint check; "
        f"{measured} revisions measured, {format_seconds(context.wall_s)}{outside}.",
    ]
    if ends := finding.endpoint:
        levels = (context.level(index) for index in (0, total))
        good, bad = ("?" if level is None else show(level) for level in levels)
        noise = "" if context.metric.exact else f", noise of one run {show(ends.sigma)}"
        lines.append(
            f"{context.metric.name}: {good} at {names[0]}, {bad} at {names[-1]}; "
            f"{context.metric.estimate(ends.difference, ends.interval)}{noise}."
        )
    lines += undecided_lines(finding, context)
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
        case "confirmed" if same_commit(trial, finding):
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


def same_commit(trial: Trial, finding: Finding) -> bool:
    """Whether a companion was seen to step at a culprit, and led to it."""
    named = {culprit.index for culprit in finding.culprits}
    return trial.outcome == "confirmed" and trial.steps and trial.index in named
