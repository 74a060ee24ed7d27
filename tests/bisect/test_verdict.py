import json
from bisect.companion import Companion, Trial
from bisect.explanation import Explanation
from bisect.metrics import metric_of
from bisect.patch import excerpt
from bisect.problem import Problem, relevance_prior
from bisect.sentences import trial_words
from bisect.verdict import Context, Named, as_json, as_markdown
from dataclasses import replace
from typing import Any

import pytest

from tests.bisect.test_driver import History, bisect, step, suspected
from tests.bisect.test_metrics import EXPORT
from tests.bisect.test_patch import PATCH
from tests.results.test_rows import record


def context(last: int, **changes: Any) -> Context:
    def measured(*peaks: int) -> list[dict[str, Any]]:
        return [one(peak) for peak in peaks]

    def one(peak: int) -> dict[str, Any]:
        events = [
            {"event": "baseline", "rss_bytes": 50 * 10**6, "peak_bytes": 0},
            {"event": "phase", "name": "lower", "seconds": 1, "rss_bytes": 0, "peak_bytes": peak},
            {"event": "result", "peak_bytes": peak},
        ]
        return record(cells=[EXPORT], events=events)

    names = [f"{i:010x}" for i in range(last + 1)]
    return Context(
        **{
            "metric": metric_of("export_peak"),
            "revisions": [Named(n, n * 4, f"subject {i}", "A", "2026-08-01", ("exir/a.py",))
                          for i, n in enumerate(names)],
            "relevant": 7,
            "why_relevant": "they touch what was read",
            "varied": "exporter",
            "held": "v1.4.1",
            "moved": "exporter",
            "against": "",
            "cell": {"model": "tiny"},
            # The last run of the culprit is wild: the table takes the median one.
            "records": {
                21: measured(150 * 10**6),
                22: measured(299 * 10**6, 300 * 10**6, 900 * 10**6),
            },
            "command": "python -m bisect export_peak",
            "wall_s": 60.0,
            "worker_s": 55.0,
            "environment": "here",
            **changes,
        }
    )  # fmt: skip


SCALE = 1e6


def found() -> Any:
    return bisect(History([v * SCALE for v in step(40, 22)], sigma=0.1 * SCALE))


def test_json_has_the_documented_keys_and_is_json() -> None:
    content = json.loads(json.dumps(as_json(found(), context(40))))
    documented = {
        *("status", "culprit", "confidence", "credible_set", "step_bytes", "step_interval"),
        *("share_explained", "side", "candidates_total", "candidates_relevant", "probes"),
        *("measurements", "rounds", "wall_s", "cell", "good", "bad"),
    }
    assert documented <= set(content)
    assert content["culprit"]["name"] == f"{22:010x}"
    assert content["candidates_total"] == 40
    low, high = content["step_interval"]
    assert low <= 150e6 <= high


def test_markdown_says_it_all() -> None:
    text = as_markdown(found(), context(40))
    for words in (
        "## export_peak changed with 0000000016 subject 22",
        "- 40 candidates", "7 of them can matter", "A, 2026-08-01", "files: exir/a.py",
        "- confidence over 99.9%, confirmed against",
        "| lower | 100.0 | 250.0 | +150.0 |", "100% of the whole difference",
        "the exporter that moved it; programs ran on v1.4.1", "    python -m bisect export_peak",
    ):  # fmt: skip
        assert words in text


def test_rounds_are_said_where_several_were_measured_at_once() -> None:
    assert "rounds" not in as_markdown(found(), context(40))
    finding = bisect(History([v * SCALE for v in step(40, 22)], sigma=0.1 * SCALE), parallel=3)
    said = f"{finding.measurements} measurements in {finding.rounds} rounds beside the endpoint"
    assert said in as_markdown(finding, context(40))
    assert as_json(finding, context(40))["rounds"] == finding.rounds


def test_no_difference_names_nobody() -> None:
    finding = bisect(History([100e6] * 41, sigma=SCALE))
    text, content = as_markdown(finding, context(40)), as_json(finding, context(40))
    assert "is not shown to differ" in text.splitlines()[0]
    assert "###" not in text
    assert content["culprit"] is content["confidence"] is None


def test_the_side_that_moved_it_is_said_only_where_it_was_found_out() -> None:
    untold = as_markdown(found(), context(40, moved=None))
    finding = bisect(History([100e6] * 41, sigma=SCALE))
    for text in (untold, as_markdown(finding, context(40))):
        assert "that moved it" not in text
        assert "Only the exporter was varied; programs ran on v1.4.1." in text
    exported = as_markdown(found(), context(40, held="", moved=None))
    assert "varied" not in exported
    content = as_json(found(), context(40, moved=None))
    assert (content["side"], content["moved"], content["held"]) == ("exporter", None, "v1.4.1")


def test_a_suspect_is_no_culprit() -> None:
    finding = suspected()
    text, content = as_markdown(finding, context(40)), as_json(finding, context(40))
    assert content["status"] == "unconfirmed"
    assert content["culprit"] is content["confidence"] is None
    assert not content["suspects"][0]["confirmed"]
    name = content["suspects"][0]["name"]
    assert f"the search points to {name}" in text.splitlines()[0]
    assert text.splitlines()[0].endswith("which is NOT confirmed")
    assert "that moved it" not in text


def test_the_set_is_called_by_the_confidence_asked_for() -> None:
    finding = bisect(History(step(40, 20), broken=[19, 20, 21]), confidence=0.9)
    assert "the candidates (the 90% set): " in as_markdown(finding, context(40, confidence=0.9))


def tried(trial: Trial, **changes: Any) -> str:
    """Return the sentence on a search by an exact number."""
    return trial_words(trial, found(), context(40, **changes))


SIZE = Companion("pte_size", 20e6, 50e6)


STEPS = f"pte_size steps at {22:010x}: 20.0 MB to 50.0 MB; "
CHANGES = "pte_size changes over the range too (20.0 MB to 50.0 MB)"


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (
            Trial(SIZE, "confirmed", 22, 20e6, 50e6),
            f"pte_size steps at the same commit, {22:010x}: 20.0 MB to 50.0 MB. It is exact, so it "
            "was searched first, at one run each; export_peak was measured at that commit and its "
            "parent, and confirms it.",
        ),
        (
            Trial(SIZE, "confirmed", 22, None, 50e6),
            f"pte_size steps at {22:010x} by all that is known; export_peak steps there too, which "
            "was not enough to name that commit.",
        ),
        (
            Trial(SIZE, "not_confirmed", 22, 20e6, 50e6),
            STEPS + "export_peak did not confirm that commit and was searched itself.",
        ),
        (
            Trial(SIZE, "not_compared", 22, 20e6, 50e6),
            STEPS + "export_peak could not be run there and at its parent in turn, and was "
            "searched itself.",
        ),
        (Trial(SIZE, "parted"), CHANGES + ", but not where export_peak does."),
        (
            Trial(SIZE, "narrowed"),
            CHANGES + "; at which commit is not known, since programs of some can't be made or "
            "looked into: export_peak was searched itself.",
        ),
    ],
)
def test_each_end_of_a_search_by_a_companion_has_its_own_sentence(trial: Trial, words: str) -> None:
    assert tried(trial) == words
    (content,) = as_json(replace(found(), trials=(trial,)), context(40))["companions"]
    assert content["outcome"] == trial.outcome
    assert content["same_commit"] == (trial.outcome == "confirmed" and trial.before is not None)


def test_the_wrong_direction_is_said_as_what_it_is() -> None:
    fell = bisect(History([v * SCALE for v in step(40, 22, -50)], sigma=0.1 * SCALE))
    assert as_markdown(fell, context(40)).splitlines()[0] == (
        "## export_peak fell from 0000000000 to 0000000028, not the other way: "
        "direction=any searches the fall"
    )


def test_what_was_found_out_of_a_culprit_stands_below_its_tables() -> None:
    explanation = Explanation(why_not="memray can't be installed", excerpt=excerpt(PATCH))
    explained = context(40, explained={22: explanation})
    text, content = as_markdown(found(), explained), as_json(found(), explained)
    assert text.index("| lower |") < text.index("Who held the memory is not known: memray can't")
    assert text.index("can't be installed") < text.index("```diff") < text.index("Environment:")
    assert content["culprit"]["memory"]["why_not"] == "memray can't be installed"
    assert as_json(found(), context(40))["culprit"]["memory"] is None


def test_json_keeps_what_was_measured_along_the_range() -> None:
    content = as_json(found(), context(40))
    assert [(v["index"], v["name"]) for v in content["values"]] == [
        (21, f"{21:010x}"), (22, f"{22:010x}"),
    ]  # fmt: skip
    assert content["values"][1]["values"] == [249e6, 250e6, 850e6]
    assert content["culprit"]["index"] == 22
    assert 22 in content["culprit"]["credible_indices"]


def first(finding: Any, **changes: Any) -> str:
    """Return the headline of the Markdown, which is that of the JSON too."""
    told = context(len(finding.state.groups) and finding.state.problem.last, **changes)
    line = as_markdown(finding, told).splitlines()[0]
    assert line == "## " + as_json(finding, told)["headline"]
    return line


def test_no_difference_says_which_of_three_things_it_is() -> None:
    small = bisect(History([v * SCALE for v in step(40, 9, 1.0)], sigma=1e3), floor=2 * SCALE)
    ends = "between the exporters of 0000000000 and 0000000028"
    assert f"differs {ends} by +1.0 MB" in first(small, floor=2 * SCALE)
    unheld = first(small, floor=2 * SCALE, held="")
    assert "differs between 0000000000 and 0000000028 by +1.0 MB" in unheld
    assert first(small, floor=2 * SCALE).endswith("which is below the floor of 2.0 MB")
    flat = bisect(History([100e6] * 41, sigma=SCALE))
    low, high = flat.endpoint.interval
    assert low < 0 < high
    assert f"is not shown to differ {ends}: " in first(flat)
    assert "(95%: -" in first(flat)


def test_an_exact_number_has_neither_interval_nor_noise() -> None:
    size, exact = {"metric": metric_of("pte_size")}, Problem(40, exact=True)
    small = bisect(History([6e6 + v for v in step(40, 22, 640.0)]), exact, floor=1000)
    line = first(small, floor=1000, **size)
    assert line.endswith("by +640 bytes, which is below the floor of 1,000 bytes")
    grown = bisect(History([6e6 + v for v in step(40, 22, 2560.0)]), exact)
    text, content = as_markdown(grown, context(40, **size)), as_json(grown, context(40, **size))
    assert "- step +2,560 bytes" in text
    assert "95%:" not in text and "noise" not in text
    assert content["exact"]


def test_a_side_that_moved_it_the_other_way_is_in_the_headline() -> None:
    flat = bisect(History([100e6] * 41, sigma=SCALE))
    fell = bisect(History([v * SCALE for v in step(40, 22, -30.0)]), direction="increase")
    assert (flat.status, fell.status) == ("no_difference", "opposite")
    for finding in (flat, fell):
        assert first(finding, against="the runtime did").endswith("; the runtime did")


def test_a_difference_that_more_runs_did_not_bear_out_is_said_with_what_they_gave() -> None:
    flat = replace(bisect(History([100e6] * 41, sigma=SCALE)), withdrawn=True)
    assert "seemed to differ" in first(flat)
    assert "more runs did not bear it out: now " in first(flat)


def test_what_nothing_can_tell_apart_is_headlined_as_several() -> None:
    finding = bisect(History(step(40, 20), broken=range(1, 40)))
    (culprit,) = finding.culprits
    text = as_markdown(finding, context(40))
    assert text.splitlines()[0].endswith(f"changed with one of 40 candidates, {1:010x}..{40:010x}")
    assert culprit.verdict.held > 0.95
    assert "- confidence over 99.9%, confirmed" in text
    assert "; and 30 more" in text
    assert "subject 1" not in text.splitlines()[0]
    assert culprit.verdict.confidence < 0.05


def test_an_open_search_says_what_is_left_and_why_it_ended() -> None:
    finding = bisect(History(step(400, 99)), budget=3)
    text, content = as_markdown(finding, context(400)), as_json(finding, context(400))
    assert content["status"] == "undecided"
    assert content["culprit"] is None
    assert f"{99:010x}" in content["credible_set"]
    assert 0 < content["confidence"] < 0.95
    assert f"It is one of {len(content['credible_set'])} candidates in " in text
    assert "budget= allows more measurements" in text


def test_an_end_that_cannot_be_measured_is_named_with_its_reason() -> None:
    failed = record(cells=[EXPORT], events=[], status="failed", reason="ImportError: boom")
    finding = bisect(History(step(40, 9), broken=[40]))
    told = context(40, records={0: context(40).records[21], 40: [failed]})
    assert (
        as_markdown(finding, told)
        .splitlines()[0]
        .endswith("can't be measured at an endpoint: bad (0000000028), failed: ImportError: boom")
    )


def test_narrowing_that_was_undone_is_said_to_be() -> None:
    prior = relevance_prior(200, [20, 150], doubt=0.001)
    finding = bisect(History(step(200, 80)), Problem(200, prior=prior))
    assert finding.relevance_undone
    assert "all were weighed alike." in as_markdown(finding, context(200))
    assert "weighed alike" not in as_markdown(found(), context(40))


def test_what_other_changes_took_back_is_no_share_above_all() -> None:
    levels = [100.0] * 10 + [200.0] * 10 + [150.0] * 21
    finding = bisect(History([v * SCALE for v in levels], sigma=0.1 * SCALE))
    text = as_markdown(finding, context(40))
    assert "200% of the whole difference is explained" not in text
    assert "MB together, more than the whole difference of +" in text
    assert finding.share_explained > 1.9


def test_what_only_relevance_rules_out_is_named() -> None:
    prior = relevance_prior(400, [50, 120, 250, 333])
    finding = bisect(History(step(400, 250), broken=[249]), Problem(400, prior=prior))
    assert finding.status == "found"
    assert f"ruled out by what it changes: {249:010x}" in as_markdown(finding, context(400))
