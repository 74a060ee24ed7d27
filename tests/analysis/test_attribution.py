"""The published figures, analysed like any other: what must be said, and when it must go."""

import shlex
from pathlib import Path

import pandas as pd
import pytest

from bench.analysis.attribution import across, attribute
from bench.analysis.cells import COLUMNS
from bench.report.sources import find
from bench.results.tables import read_csv
from tests.rows import texts

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def reference(name: str) -> pd.DataFrame:
    return read_csv(REFERENCE / f"{name}.csv", COLUMNS)


def changed(name: str, column: str, value: float, **where: object) -> pd.DataFrame:
    found = reference(name)
    hit = pd.Series(True, index=found.index)
    for key, wanted in where.items():
        hit &= (found[key] == wanted).fillna(False)
    assert hit.any(), "the figure to change is there"
    found.loc[hit, column] = round(value * 1e6)
    return found


ENCODE = {"method": "encode", "metric_kind": "delta"}


def test_issue_22513_rules_out_four_things() -> None:
    said = attribute(reference("issue-22513"))
    ruled_out = {one.axis: one.text for one in said if one.kind == "rules_out"}
    assert set(ruled_out) == {"precision", "iterations", "method", "program"}
    for number in ("+680.0 MB", "+930.0 MB", "250.0 MB", "195.0 MB"):
        assert number in ruled_out["precision"]
    assert "flat at 1, 5 and 20 executions" in ruled_out["iterations"]
    assert "not decode: it is free to within 0.06 MB" in ruled_out["method"]
    assert "208.0 MB" in ruled_out["program"] and "at least 722.0 MB more" in ruled_out["program"]
    caveat = texts(said, "open", "metric_kind")
    assert len(caveat) == 1 and "is a total" in caveat[0] and "a delta" in caveat[0]


@pytest.mark.parametrize(
    ("axis", "column", "value", "where"),
    [
        ("precision", "peak_delta_bytes", 300, {**ENCODE, "precision": "int8"}),
        ("iterations", "peak_bytes", 260, {"method": "encode", "iterations": 20}),
        ("method", "peak_delta_bytes", 40, {"method": "decode", "metric_kind": "delta"}),
        ("program", "peak_bytes", 1500, {"method": "encode", "device": "Mac"}),
        ("program", "pte_bytes", 300, {"device": "Mac"}),
    ],
)
def test_a_sentence_goes_when_its_figure_does(axis, column, value, where) -> None:
    said = attribute(changed("issue-22513", column, value, **where))
    ruled_out = [one.axis for one in said if one.kind == "rules_out"]
    assert axis not in ruled_out
    assert set(ruled_out) >= {"precision", "iterations", "method", "program"} - {axis}


def test_extra_weight_bytes_are_named_only_where_they_explain_the_excess() -> None:
    far = changed("issue-22513", "pte_bytes", 470, precision="int8")
    assert "about its extra weight bytes" not in texts(attribute(far), "rules_out", "precision")[0]


def test_issue_22016_names_the_one_cell() -> None:
    said = texts(attribute(reference("issue-22016")), "finding", "model*precision")
    outliers = [text for text in said if "is the outlier" in text]
    assert len(outliers) == 1
    assert outliers[0].startswith("small bf16 is the outlier: at least 6.7x its file")
    assert "the other 5 stay under 2x (1.22x to 1.84x)" in outliers[0]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (700, {"model": "small", "precision": "bf16"}),
        (500, {"model": "tiny", "precision": "bf16"}),
    ],
)
def test_no_outlier_without_one(value, where) -> None:
    said = texts(attribute(changed("issue-22016", "peak_delta_bytes", value, **where)))
    assert not [text for text in said if "is the outlier" in text]


def test_a_counter_that_misses_memory_withdraws_what_rests_on_it() -> None:
    tables = [reference("issue-22513"), reference("issue-22513-comment")]
    assert "8.4x" in texts(attribute(tables[1]), "finding", "counter")[0]
    together = across(tables)
    assert [one.kind for one in together] == ["open"]
    assert together[0].axis == "program"
    tables[1].loc[0, "peak_bytes"] = tables[1].loc[1, "peak_bytes"]
    assert not across(tables)


def test_pr_21795_is_a_finding_of_27_percent() -> None:
    said = texts(attribute(reference("pr-21795")), "finding", "commit")
    assert len(said) == 1 and "-27%" in said[0] and "66.6 GB -> 48.3 GB" in said[0]


def test_no_sentence_is_about_one_file() -> None:
    """Other names for everything give the same sentences with the other names."""
    found = reference("issue-22513")
    swapped = found.assign(
        device=found["device"].replace({"Mac": "Bench A", "iPhone 16": "Bench B"}),
        method=found["method"].replace({"encode": "prefill", "decode": "step"}),
    )
    names = {"Mac": "Bench A", "iPhone 16": "Bench B", "encode": "prefill", "decode": "step"}
    wanted = []
    for text in texts(attribute(found), "rules_out"):
        for old, new in names.items():
            text = text.replace(old, new)
        wanted.append(text)
    assert texts(attribute(swapped), "rules_out") == wanted


def test_every_command_is_one_that_runs() -> None:
    from bench.config import load

    for name in ("issue-22513", "issue-22016", "pr-21795"):
        for one in attribute(reference(name)):
            if one.command and one.command.startswith("nox -s bench -- "):
                load(shlex.split(one.command)[4:])
    source = find(str(REFERENCE.parent / "whisper-v1.4.1.csv"), REFERENCE, REFERENCE)[0]
    for one in attribute(source.table):
        assert one.command is None or load(shlex.split(one.command)[4:])


def test_evidence_is_keys_of_the_table() -> None:
    for name in ("issue-22513", "issue-22016", "pr-21795"):
        found = reference(name)
        keys = set(found["cell_key"])
        for one in attribute(found):
            assert set(one.evidence) <= keys
            assert one.evidence or one.kind == "open"


def test_an_empty_table_says_nothing() -> None:
    assert attribute(reference("pr-21795").head(0)) == []
