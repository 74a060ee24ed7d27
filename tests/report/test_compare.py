"""The commands compare and gate, from their words to their exit codes."""

import json
from pathlib import Path

import pytest

from bench.report.compare import main
from bench.results.tables import to_csv
from tests.rows import MB, row, table

ROOT = Path(__file__).parents[2]
PR = str(ROOT / "results" / "reference" / "pr-21795.csv")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    tables = {
        "before": table(row(), row(method="decode")),
        "raised": table(row(peak_delta_bytes=165 * MB), row(method="decode")),
        "moved": table(row(machine="two"), row(method="decode")),
    }
    for name, content in tables.items():
        (tmp_path / f"{name}.csv").write_text(to_csv(content))
    return {name: str(tmp_path / f"{name}.csv") for name in tables}


def test_pr_21795_prints_as_the_thread_does(capsys) -> None:
    assert main([PR, "commit=029c1ffea8,4753d75e2b", "format=markdown"]) == 0
    out = capsys.readouterr().out
    assert "66.6 GB -> 48.3 GB (-27%)" in out
    assert "4.2 min -> 2.8 min (-32%)" in out


def test_the_gate_fails_on_a_regression_alone(files, capsys, tmp_path, monkeypatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["gate", files["before"], files["before"]]) == 0
    assert main(["gate", files["before"], files["raised"]]) == 1
    assert main(["gate", files["before"], files["moved"]]) == 3
    assert main(["gate", files["before"], files["moved"], "force=machine"]) == 0
    out = capsys.readouterr().out
    assert "1 regressed, 1 same" in out and "FORCED" in out
    assert summary.read_text() == out


def test_the_gate_takes_the_latest_run(files, tmp_path, capsys) -> None:
    run = tmp_path / "runs" / "20261130-000000-aaaa"
    run.mkdir(parents=True)
    (run / "request.json").write_text("{}")
    (run / "measurements.csv").write_text(Path(files["raised"]).read_text())
    assert main(["gate", files["before"], f"runs={tmp_path / 'runs'}"]) == 1
    assert "before -> 20261130-000000-aaaa" in capsys.readouterr().out


def test_formats_say_the_same(files, capsys) -> None:
    sides = [files["before"], files["raised"]]
    for form in ("table", "markdown", "csv"):
        assert main([*sides, f"format={form}"]) == 0
        assert "regressed" in capsys.readouterr().out
    assert main([*sides, "format=json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["verdict"] for cell in cells] == ["regressed", "same"]
    assert cells[0]["figures"]["peak"]["difference"] == 5 * MB


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give two of them"),
        (["nowhere", "nothing"], "'nowhere' is no run, table or file"),
        ([PR, "commit=029c1ffea8"], "two revisions"),
        ([PR, "commit=029c1ffea8,main"], "'main' is not in pr-21795"),
        ([PR, PR, "floor=lots"], "floor"),
        ([PR, PR, "metric=speed"], "not one of peak"),
        ([PR, PR, "force=everything"], "not one of all"),
        ([PR, PR, "format=pdf"], "format"),
        ([PR, PR, "flor=2%"], "did you mean floor?"),
        ([PR, PR, "--fast"], "unknown flag"),
    ],
)
def test_wrong_requests_are_one_line(words, said, capsys) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_long_table_is_cut_in_a_terminal_and_shows_what_changed(tmp_path, capsys) -> None:
    sides = []
    for side, peaks in (("before", [160] * 250), ("after", [160] * 249 + [200])):
        rows = [row(samples=401 + n, peak_delta_bytes=p * MB) for n, p in enumerate(peaks)]
        path = tmp_path / f"{side}.csv"
        path.write_text(to_csv(table(*(r | {"cell_key": f"k{n}"} for n, r in enumerate(rows)))))
        sides.append(str(path))
    assert main(sides) == 0
    out = capsys.readouterr().out
    assert "1 regressed, 249 same" in out
    assert "and 50 lines more: format=markdown has all" in out
    assert out.count(" same") - 1 == 199 and "regressed" in out.splitlines()[5]


def gate(tmp_path: Path, before, after, *words: str) -> int:
    paths = [tmp_path / "before.csv", tmp_path / "after.csv"]
    for path, content in zip(paths, (before, after), strict=True):
        path.write_text(to_csv(content))
    return main(["gate", *map(str, paths), *words])


NOISY = [100, 130, 80, 120, 90, 140]


@pytest.mark.parametrize(
    ("before", "after", "listed"),
    [
        ([row(), row(method="decode")], [row()], "only_before"),
        (
            [row(), row(method="decode", cell_key="x"), row(method="decode", cell_key="y")],
            [row(), row(method="decode", cell_key="z", peak_delta_bytes=300 * MB)],
            "ambiguous",
        ),
        (
            [row(repeat=n, peak_delta_bytes=d * MB) for n, d in enumerate(NOISY)],
            [row(repeat=n, peak_delta_bytes=round(d * 1.2 * MB)) for n, d in enumerate(NOISY)],
            None,
        ),
        ([row(), row(method="decode")], [row(), row(method="decode", machine="two")], None),
        ([row(status="failed")], [row(status="failed")], None),
    ],
)
def test_what_was_not_compared_does_not_pass_the_gate(
    tmp_path, capsys, before, after, listed
) -> None:
    assert gate(tmp_path, table(*before), table(*after), "format=json") == 3
    content = json.loads(capsys.readouterr().out)
    assert {name for name in ("only_before", "only_after", "ambiguous") if content[name]} == (
        {listed} if listed else set()
    )
    for cell in content[listed] if listed else []:
        assert cell["method"] == "decode" and cell["cell_key"]


def test_a_cell_that_is_new_passes_the_gate_and_is_listed(tmp_path, capsys) -> None:
    both = table(row(), row(method="decode"))
    assert gate(tmp_path, both.head(1), both, "format=csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [("decode" in line, "only after" in line) for line in lines[1:]] == [
        (False, False),
        (True, True),
    ]


def test_the_gate_keeps_its_exit_code_whatever_becomes_of_the_summary(
    files, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary.md"))
    assert main(["gate", files["before"], files["raised"]]) == 1
    assert "No such file" in capsys.readouterr().err


def test_the_gate_takes_the_formats_of_compare_and_no_other(files, capsys) -> None:
    assert main(["gate", files["before"], files["raised"], "format=csv"]) == 1
    assert capsys.readouterr().out.startswith("method,")
    assert main(["gate", files["before"], files["raised"], "format=pdf"]) == 2


def test_a_metric_that_was_not_measured_is_incomparable_with_its_name(tmp_path, capsys) -> None:
    assert gate(tmp_path, table(row()), table(row()), "metric=steady") == 3
    assert "steady: not measured" in capsys.readouterr().out
    one_side = table(row(steady_bytes=300 * MB))
    assert gate(tmp_path, table(row()), one_side, "metric=peak,steady") == 3
    assert "steady: measured on one side only" in capsys.readouterr().out


SHAS = {"one": "12345678aa" + 30 * "0", "two": "12345678bb" + 30 * "0"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("commit=one,two", 1),
        ("commit=12345678aa,12345678bb", 1),
        ("commit=12345678AA,two", 1),
        ("commit=one,typo", 2),
        ("commit=one,1", 2),
        ("commit=one,12345678b", 1),
        ("commit=one,12345678", 2),
        ("exporter=one,two", 1),
        ("runtime=one,two", 1),
        ("commit=typo,tpyo", 2),
    ],
)
def test_a_revision_is_taken_by_its_name_or_enough_of_its_sha(tmp_path, words, code) -> None:
    rows = [
        row(
            exporter=name, exporter_sha=sha, runtime=name, runtime_sha=sha,
            peak_delta_bytes=(200 if name == "two" else 160) * MB,
        )
        for name, sha in SHAS.items()
    ]  # fmt: skip
    # What names no revision belongs to none.
    rows.append(row(exporter=None, runtime=None, method="decode"))
    (tmp_path / "t.csv").write_text(to_csv(table(*rows)))
    assert main(["gate", str(tmp_path / "t.csv"), words]) == code
