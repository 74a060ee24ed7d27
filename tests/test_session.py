"""A run from its request to its table, with real processes for workers."""

import copy
import functools
import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from bench import session
from bench.compose import host
from bench.config import load
from bench.disk import DiskError
from bench.errors import BuildError, Exit, RequestError
from bench.experiment import Experiment, load_experiment
from bench.launch.fleet import Fleet
from bench.plan import make_plan
from bench.programs import ProgramStore
from bench.request import Request
from bench.results.record import RunFolder, list_runs
from bench.results.schema import TIMELINE
from bench.results.tables import read_csv, read_table
from bench.run import Runner
from tests.disks import files_of_at_most
from tests.launch.nodes import fleet
from tests.workers import Workers

WORDS = ("backend=xnnpack", "method=export,encode", "iterations=1")


class Revisions(Workers):
    """Resolves nothing: every name is a revision."""

    def programs(self) -> ProgramStore:
        return ProgramStore(self.root / "programs")

    def resolve_all(self, request: Request) -> Request:
        return request

    def describe(self, revision: str) -> str:
        return "ready"


@pytest.fixture
def revisions(tmp_path: Path) -> Revisions:
    root = tmp_path / "environment"
    root.mkdir()
    return Revisions(root)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def bench(revisions: Revisions, out: Path, *words: str, dry: bool = False, width: int = 140):
    text = io.StringIO()
    request = load([*words, f"out={out}"])
    code = session.run(
        request,
        revisions,  # type: ignore[arg-type]
        Console(file=text, width=width),
        dry=dry,
    )
    return code, text.getvalue()


def test_a_run_ends_with_its_table_and_its_files(revisions: Revisions, out: Path) -> None:
    code, text = bench(revisions, out, *WORDS)
    assert code == Exit.OK
    (run,) = list_runs(out)
    assert f"run {run}: 2 cells, 2 measurements to take" in text
    for word in ("export", "encode", "100.0", f"{out / run}/measurements.csv"):
        assert word in text
    folder = RunFolder(out / run)
    assert folder.missing() == []
    names = {path.name for path in folder.path.iterdir()}
    assert {"config.yaml", "machine.json", "request.json", "raw.jsonl", "phases.csv"} <= names
    assert "timeline.csv" not in names


def test_a_timeline_is_a_table_of_the_run(revisions: Revisions, out: Path) -> None:
    code, text = bench(revisions, out, *WORDS, "timeline=on")
    assert code == Exit.OK
    (run,) = list_runs(out)
    assert f"{out / run}/measurements.csv, phases.csv, timeline.csv" in text
    table = read_table(out / run / "timeline.csv", TIMELINE)
    records = RunFolder(out / run).records()
    assert len(table) == sum(len(record["timeline"]) for record in records) > 0
    assert set(table["method"]) == {"export", "encode"}
    assert table.groupby("method")["rss_bytes"].max().min() > 1_000_000


class Nodes:
    """Gives nodes the environment and the store of this machine."""

    def __init__(self, revisions: Revisions) -> None:
        self.revisions = copy.copy(revisions)  # which later tells this process's console

    def __call__(self, _request: Request) -> Revisions:
        return self.revisions


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_a_resume_takes_what_nodes_had_whatever_measures_the_rest(
    revisions: Revisions, out: Path, launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = load([*WORDS, "precision=fp32,bf16", "timing=off", f"out={out}"])
    plan, folder = make_plan(asked, host()), RunFolder.create(out)
    session.begin(asked, plan, folder)
    nodes = Nodes(revisions)
    records = fleet(folder.path, nodes, asked).measure_all(plan.jobs)  # type: ignore[arg-type]
    next(records)
    records.close()  # the controller is killed before it keeps any
    for raw in folder.path.glob("parts/*/raw.jsonl"):  # and nodes, when they had their exports
        raw.write_bytes(raw.read_bytes().partition(b"\n")[0] + b"\n")
    assert folder.records() == [] and len(folder.missing()) == 4
    before = len(revisions.started)
    monkeypatch.setattr(session, "Fleet", functools.partial(Fleet, environments=nodes))
    code, text = bench(revisions, out, f"resume={folder.id}", f"hydra/launcher={launcher}")
    assert code == Exit.OK
    assert "2 measurements to take" in text
    assert revisions.started[before:] == ["encode"] * 2
    assert sorted(r["job_key"] for r in folder.records()) == sorted(job.key for job in plan.jobs)
    assert not (folder.path / "parts").exists()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_of_a_table_is_wider_than_the_terminal(
    revisions: Revisions, out: Path, width: int
) -> None:
    words = [*WORDS, "precision=fp32,bf16"]
    table = [
        line
        for dry in (True, False)
        for line in bench(revisions, out, *words, dry=dry, width=width)[1].splitlines()
        if line.startswith((" ", "─")) and "above the baseline" not in line
    ]
    assert table
    assert max(map(len, table)) <= width


def test_a_dry_run_makes_nothing(revisions: Revisions, out: Path) -> None:
    code, text = bench(revisions, out, *WORDS, dry=True)
    assert code == Exit.OK
    assert "cells: 2, processes: 2, in this order" in text
    assert not out.exists()
    assert revisions.asked == []


def test_of_a_finished_run_nothing_is_left(revisions: Revisions, out: Path) -> None:
    bench(revisions, out, *WORDS)
    before = len(revisions.started)
    assert bench(revisions, out, "resume=latest", dry=True) == (0, "nothing is left to measure\n")
    code, text = bench(revisions, out, "resume=latest")
    assert code == Exit.OK
    assert "2 cells, nothing is left to measure" in text
    assert "about" not in text.splitlines()[0]
    assert len(revisions.started) == before


def test_a_dry_run_of_a_resume_shows_what_is_left(revisions: Revisions, out: Path) -> None:
    bench(revisions, out, *WORDS)
    raw = out / list_runs(out)[0] / "raw.jsonl"
    raw.write_text(raw.read_text().splitlines(keepends=True)[0])
    text = bench(revisions, out, "resume=latest", dry=True)[1]
    assert "processes: 1," in text
    assert "encode" in text
    assert "export" not in text


INTERRUPT = "if task == 'encode': os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"


def test_an_interrupt_says_how_to_go_on(
    revisions: Revisions, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    revisions.behave(INTERRUPT)
    code, _ = bench(revisions, out, *WORDS)
    (run,) = list_runs(out)
    assert code == Exit.INTERRUPTED
    err = capsys.readouterr().err
    assert err == (
        "et-peak: interrupted; what was measured is kept. "
        f"Go on with: nox -s bench -- resume={run} out={out}\n"
    )
    assert RunFolder(out / run).missing() == ["tiny fp32 xnnpack encode @ v1.4.1"]
    revisions.behave("pass")
    assert bench(revisions, out, f"resume={run}")[0] == Exit.OK
    assert revisions.started == ["export", "encode", "encode"]


@pytest.mark.parametrize(
    ("end", "code", "why"),
    [
        (BuildError("no torch"), Exit.UNTESTABLE, "no torch"),
        (RequestError("wrong"), Exit.BAD_REQUEST, "wrong"),
        (PermissionError(13, "Permission denied", "/x"), Exit.UNDECIDED, "Permission denied: /x"),
    ],
)
def test_whatever_ends_a_run_says_how_to_go_on(
    revisions: Revisions,
    out: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    end: Exception,
    code: int,
    why: str,
) -> None:
    def run(_runner: Runner) -> None:
        raise end

    monkeypatch.setattr(Runner, "run", run)
    assert bench(revisions, out, *WORDS)[0] == code
    err = capsys.readouterr().err
    assert err.startswith(f"et-peak: {why}; what was measured is kept. Go on with: nox -s bench")
    assert err.count("\n") == 1


def test_an_experiment_is_finished_as_the_hint_says(
    revisions: Revisions, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To its own sentence, with the rows of both sittings."""
    words = ["repeats=2", "commit=v1.4.1", "model.layers=1", f"out={out}"]

    def experiment() -> Experiment:
        return load_experiment("steps", words)

    def start() -> tuple[int, str]:
        text = io.StringIO()
        code = session.run(
            experiment().requests[0],
            revisions,  # type: ignore[arg-type]
            Console(file=text, width=140),
            dry=False,
            experiment=experiment(),
        )
        return code, text.getvalue()

    revisions.behave("os.kill(os.getppid(), signal.SIGINT); time.sleep(60)")
    assert start()[0] == Exit.INTERRUPTED
    (run,) = list_runs(out)
    assert f"resume={run}" in capsys.readouterr().err
    revisions.behave("pass")
    code, text = bench(revisions, out, f"resume={run}")
    assert code == Exit.OK
    assert len(RunFolder(out / run).records()) == 4
    answer = (out / run / "answer.txt").read_text()
    assert answer.startswith(experiment().question)
    assert answer in text


@pytest.mark.parametrize(
    ("mischief", "code"),
    [
        ("pass", Exit.OK),
        ("if request['steps']: os._exit(1)", Exit.UNDECIDED),
        ("os._exit(1)", Exit.UNDECIDED),
    ],
)
def test_an_experiment_without_an_answer_is_undecided(
    revisions: Revisions, out: Path, mischief: str, code: int
) -> None:
    revisions.behave(mischief)
    words = ["repeats=2", "commit=v1.4.1", "model.layers=1", f"out={out}"]
    experiment = load_experiment("steps", words)
    found = session.run(
        experiment.requests[0],
        revisions,  # type: ignore[arg-type]
        Console(file=io.StringIO()),
        dry=False,
        experiment=experiment,
    )
    assert found == code
    answer = (out / list_runs(out)[0] / "answer.txt").read_text()
    assert (code == Exit.OK) == ("2 interleaved pairs" in answer)


def test_an_experiment_begun_side_by_side_is_finished_in_turn_or_not_at_all(
    revisions: Revisions, out: Path
) -> None:
    experiment = load_experiment("steps", ["repeats=2", "commit=v1.4.1", f"out={out}"])
    folder = RunFolder.create(out)
    session.begin(experiment.requests[0], experiment.plan("linux-x86_64"), folder)
    content = json.loads((folder.path / "request.json").read_text())
    words = [*content["overrides"], "hydra/launcher=joblib"]
    (folder.path / "request.json").write_text(json.dumps(content | {"overrides": words}))
    for given in ([], ["hydra/launcher=joblib"], ["hydra/launcher=ray"]):
        with pytest.raises(RequestError, match="an experiment measures its arms in turn"):
            bench(revisions, out, "resume=latest", *given)
    assert bench(revisions, out, "resume=latest", "hydra/launcher=basic")[0] == Exit.OK
    assert "2 interleaved pairs" in (folder.path / "answer.txt").read_text()


def test_a_full_disk_says_which_and_how_to_go_on(
    revisions: Revisions, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(revisions, out, *WORDS)
    (first,) = list_runs(out)
    lines = (out / first / "raw.jsonl").read_bytes().splitlines(keepends=True)
    with files_of_at_most(len(lines[0]) + len(lines[1]) // 2):
        code, _ = bench(revisions, out, *WORDS)
    run = next(run for run in list_runs(out) if run != first)
    err = capsys.readouterr().err
    assert code == Exit.UNDECIDED
    assert err.startswith(f"et-peak: File too large: {out / run}; what was measured is kept.")
    assert err.endswith(f"resume={run} out={out}\n")
    assert err.count("\n") == 1
    assert [r["status"] for r in RunFolder(out / run).records()] == ["ok"]
    assert bench(revisions, out, f"resume={run}")[0] == Exit.OK


def test_a_disk_that_is_full_from_the_start_leaves_no_run(revisions: Revisions, out: Path) -> None:
    with files_of_at_most(100), pytest.raises(DiskError, match=str(out)):
        bench(revisions, out, *WORDS)
    assert not list(out.iterdir())


def test_nothing_measured_is_undecided(revisions: Revisions, out: Path) -> None:
    revisions.behave("os._exit(1)")
    code, text = bench(revisions, out, *WORDS)
    assert code == Exit.UNDECIDED
    assert "failed: exit code 1" in text


@pytest.mark.parametrize("dry", [True, False])
def test_a_resume_takes_nothing_else_and_only_what_was_begun(
    revisions: Revisions, out: Path, dry: bool
) -> None:
    bench(revisions, out, *WORDS)
    folder = out / list_runs(out)[0]
    with pytest.raises(RequestError, match="resume: goes with nothing else"):
        bench(revisions, out, "resume=latest", "model=base", dry=dry)
    content = json.loads((folder / "request.json").read_text())
    (folder / "request.json").write_text(json.dumps(content | {"cells": ["other"]}))
    with pytest.raises(RequestError, match="start it anew"):
        bench(revisions, out, "resume=latest", dry=dry)
    shutil.rmtree(folder)
    with pytest.raises(RequestError, match="there are none yet"):
        bench(revisions, out, "resume=latest", dry=dry)


def test_a_resume_may_name_another_launcher(revisions: Revisions, out: Path) -> None:
    bench(revisions, out, *WORDS, "hydra/launcher=basic")
    folder = out / list_runs(out)[0]
    raw = folder / "raw.jsonl"
    raw.write_bytes(raw.read_bytes().splitlines(keepends=True)[0])
    content = json.loads((folder / "request.json").read_text())
    begun = [w.replace("=basic", "=joblib") for w in content["overrides"]]
    (folder / "request.json").write_text(json.dumps(content | {"overrides": begun}))
    assert bench(revisions, out, "resume=latest", "hydra/launcher=basic")[0] == Exit.OK
    assert len(RunFolder(folder).records()) == 2


def test_without_times_the_columns_of_seconds_are_empty(revisions: Revisions, out: Path) -> None:
    _, text = bench(revisions, out, *WORDS, "timing=off")
    table = read_csv(out / list_runs(out)[0] / "measurements.csv")
    assert table[["total_s", "exec_median_s"]].isna().all(axis=None)
    assert " s\n" not in text.partition("besides building")[2].partition("peak:")[0]
