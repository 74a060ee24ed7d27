"""The report, in each of its formats."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from bench.report.__main__ import main
from bench.report.compare import main as compare
from bench.results.tables import to_csv
from tests.rows import MB, row, table

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    run = tmp_path / "runs" / "20261130-000000-aaaa"
    run.mkdir(parents=True)
    (run / "request.json").write_text("{}")
    rows = [row(repeat=n, peak_delta_bytes=(160 + n) * MB) for n in range(2)]
    bad = row(method="decode", status="failed", reason="=HYPERLINK(1) | <b>", peak_delta_bytes=None)
    (run / "measurements.csv").write_text(to_csv(table(*rows, bad)))
    return tmp_path / "runs"


def test_the_reference_report_has_tables_and_conclusions(capsys) -> None:
    assert main([str(REFERENCE), "format=markdown"]) == 0
    out = capsys.readouterr().out
    for name in ("issue-22513", "issue-22016", "pr-21795", "All tables together"):
        assert f"## {name}" in out
    assert "| small | bf16 | pipeline | >= 3245.0 | 3800.0 |" in out
    assert "(-27%)" in out and "(-32%)" in out
    assert "beside our own runs" in out.lower() and "484.2 MB" in out
    assert out.count("- not ") - out.count("- not varied") == 4


def test_the_terminal_shows_what_markdown_does(runs, capsys) -> None:
    assert main([f"runs={runs}", "html=no"]) == 0
    out = capsys.readouterr().out
    assert "20261130-000000-aaaa" in out and "What it leaves open" in out


def test_markdown_of_a_hostile_reason_is_no_markup(runs, capsys) -> None:
    assert main([f"runs={runs}", "html=no", "format=markdown"]) == 0
    assert "<b>" not in capsys.readouterr().out


def test_csv_runs_no_formula_and_reads_back(runs, capsys) -> None:
    assert main([f"runs={runs}", "format=csv"]) == 0
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {r["reason"] for r in read} == {"", "'=HYPERLINK(1) | <b>"}
    assert main([f"runs={runs}", "format=json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [r.get("reason") for r in rows if r["status"] == "failed"] == ["=HYPERLINK(1) | <b>"]


def test_pytorch_records_have_the_fields_of_schema_v3(runs, capsys) -> None:
    assert main([f"runs={runs}", "format=pytorch"]) == 0
    records = json.loads(capsys.readouterr().out)
    for record in records:
        assert {"benchmark", "model", "metric", "runners", "dependencies"} == set(record)
        assert {"name", "mode", "dtype", "extra_info"} == set(record["benchmark"])
        assert {"name", "type", "backend", "origins", "extra_info"} == set(record["model"])
        assert {"name", "benchmark_values", "target_value", "extra_info"} == set(record["metric"])
        extra = record["benchmark"]["extra_info"] | record["metric"]["extra_info"]
        assert all(isinstance(value, str) for value in extra.values())
    by_name = {record["metric"]["name"]: record for record in records}
    peak = by_name["peak_memory_above_baseline(bytes)"]["metric"]
    assert peak["benchmark_values"] == [160 * MB, 161 * MB]
    assert by_name["FAILURE_REPORT"]["benchmark"]["extra_info"]["job_conclusion"] == "failed"


def charted(capsys, tmp_path, *rows, words=()) -> list:
    (tmp_path / "t.csv").write_text(to_csv(table(*rows)))
    assert main([str(tmp_path / "t.csv"), "format=github-action-benchmark", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_github_action_benchmark_says_median_and_range(tmp_path, capsys) -> None:
    rows = [row(), row(repeat=1, peak_delta_bytes=162 * MB), row(allocator="fixed", cell_key="f")]
    entries = charted(capsys, tmp_path, *rows)
    assert len({entry["name"] for entry in entries}) == 2
    assert all({"name", "unit", "value"} <= set(entry) for entry in entries)
    assert [(e["value"], e["range"]) for e in entries if "range" in e] == [(161.0, "± 1.000")]


@pytest.mark.parametrize(
    "change",
    [{name: other} for name, other in (
        ("model", "base"), ("precision", "int8"), ("backend", "mlx"), ("method", "decode"),
        ("iterations", 20), ("samples", 16000), ("max_tokens", 8), ("seed", 7),
        ("runner", "native"), ("allocator", "fixed"), ("load_mode", "file"), ("device", "Mac"),
        ("measured_by", "footprint"),
    )],
)  # fmt: skip
def test_a_chart_goes_on_whatever_else_is_measured_and_at_another_revision(
    tmp_path, capsys, change
) -> None:
    before = charted(capsys, tmp_path, row())
    later = {"exporter": "a" * 40, "runtime": "a" * 40, "build_key": "c", "rung": "overlay"}
    later |= {"torch": "2.14.0+cpu", "machine": "another"}
    after = charted(capsys, tmp_path, row(**later), row(**later, **change, cell_key="other"))
    assert [entry["name"] for entry in before] == [after[0]["name"]]
    assert after[1]["name"] != after[0]["name"]


def test_a_chart_is_of_one_revision(tmp_path, capsys) -> None:
    rows = [row(), row(exporter="main", runtime="main", cell_key="m", peak_delta_bytes=170 * MB)]
    (tmp_path / "t.csv").write_text(to_csv(table(*rows)))
    assert main([str(tmp_path / "t.csv"), "format=github-action-benchmark"]) == 2
    error = capsys.readouterr().err
    assert "exporter (v1.4.1, main)" in error and "commit=" in error and error.count("\n") == 1
    assert [e["value"] for e in charted(capsys, tmp_path, *rows, words=["commit=main"])] == [170.0]
    assert main([str(tmp_path / "t.csv"), "commit=mian"]) == 2
    assert "'mian' is not in t" in capsys.readouterr().err


def test_two_exporters_on_one_runtime_are_set_side_by_side(tmp_path, capsys) -> None:
    rows = [row(exporter="v1.2.0"), row(peak_delta_bytes=480 * MB)]
    (tmp_path / "t.csv").write_text(to_csv(table(*rows)))
    assert main([str(tmp_path / "t.csv"), "format=markdown"]) == 0
    assert "160.0 MB -> 480.0 MB (+200%)" in capsys.readouterr().out


def test_wrong_requests_are_one_line(capsys, tmp_path) -> None:
    for words in (["nowhere"], ["format=pdf"], [str(tmp_path)], ["a=b"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", b'a,"', b"cell_key,seconds\nk,many\n"])
def test_phases_that_are_no_table_are_refused_in_one_line(runs, capsys, content) -> None:
    next(runs.iterdir()).joinpath("phases.csv").write_bytes(content)
    assert main([f"runs={runs}"]) == 2
    assert "not a table of its kind" in capsys.readouterr().err.splitlines()[-1]


def test_nothing_of_a_table_is_markup_wherever_it_is_said(tmp_path, capsys) -> None:
    hostile = "![a](http://b) @user *b* <i>\n# c"
    rows = [
        row(
            model=hostile, device=hostile, notes=hostile, exporter=name, runtime=name, cell_key=name
        )
        for name in (hostile, "main")
    ]
    failed = row(model=hostile, status="failed", reason=hostile, device=hostile, cell_key="f")
    path = tmp_path / "@user *b* [a](http).csv"
    path.write_text(to_csv(table(*rows)))
    (tmp_path / "bad.csv").write_text(to_csv(table(failed)))
    assert main([str(path), str(tmp_path / "bad.csv"), "format=markdown"]) == 0
    assert compare([str(path), f"commit={hostile},main", "format=markdown"]) == 0
    assert compare([str(path), str(tmp_path / "bad.csv"), "format=markdown"]) == 0
    out = re.sub("```console\n.*\n  ```", "", capsys.readouterr().out)  # code is no markup
    assert "user" in out and "http" in out
    assert not [bad for bad in ("a](http", "@user", " *b*", "<i>", "\r", "\n# c") if bad in out]
