"""Carrying out a plan: in order, once each, with everything kept."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from bench.config import load
from bench.disk import DiskError
from bench.jobs import Plan
from bench.measurer import Measurer
from bench.plan import make_plan
from bench.programs import ProgramStore
from bench.request import Limits
from bench.results.record import RunFolder
from bench.results.tables import read_csv
from bench.run import Runner
from tests.disks import files_of_at_most
from tests.launch.nodes import Nodes, fleet
from tests.workers import Silent, Workers

WORDS = ("backend=xnnpack", "iterations=1,2", "precision=fp32,bf16", "repeats=2")


@pytest.fixture
def plan() -> Plan:
    return make_plan(load(WORDS), "linux-x86_64")


@pytest.fixture
def start(tmp_path: Path, workers: Workers, plan: Plan) -> Callable[[RunFolder], Runner]:
    def runner(folder: RunFolder) -> Runner:
        programs = ProgramStore(tmp_path / "programs")
        progress = Silent()
        measurer = Measurer(folder, workers, programs, Limits(30, None), progress)
        return Runner(plan, folder, measurer, progress, {})  # type: ignore[arg-type]

    return runner


def interrupt_before(runner: Runner, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come as the job of that number begins."""
    begun: list[str] = []

    def begin(label: str, _left_s: float) -> None:
        begun.append(label)
        if len(begun) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner.progress, "begin", begin)


def steady(folder: RunFolder) -> pd.DataFrame:
    table = read_csv(folder.path / "measurements.csv")
    return table.drop(columns=["total_s", "started_at"])


def test_every_job_once_in_order(tmp_path: Path, plan: Plan, start, workers) -> None:
    folder = RunFolder.create(tmp_path / "runs")
    records = start(folder).run()
    assert [r["job_key"] for r in records] == [job.key for job in plan.jobs]
    assert folder.records() == records
    assert workers.started == ["export", "encode", "decode"] * 4  # two programs, all of it twice
    table = read_csv(folder.path / "measurements.csv")
    assert len(table) == 2 * 2 * (1 + 2 + 2)
    assert set(table["status"]) == {"ok"}
    assert (folder.path / "phases.csv").exists()


@pytest.mark.parametrize("number", [1, 2, 7, 12])
def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, plan: Plan, start, workers, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    whole = RunFolder.create(tmp_path / "runs")
    start(whole).run()
    broken = RunFolder.create(tmp_path / "runs")
    first = start(broken)
    interrupt_before(first, number, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    kept = broken.records()
    assert len(kept) == number - 1
    if kept:  # the tables are those of what there is
        assert len(steady(broken)["cell_key"].unique()) == len(
            {cell["key"] for record in kept for cell in record["cells"]}
        )
    before = len(workers.started)
    records = start(broken).run()
    assert len(workers.started) - before == len(plan.jobs) - len(kept)
    assert records[: len(kept)] == kept
    pd.testing.assert_frame_equal(steady(broken), steady(whole))


def test_a_finished_run_measures_nothing_more(tmp_path: Path, start, workers) -> None:
    folder = RunFolder.create(tmp_path / "runs")
    records = start(folder).run()
    count = len(workers.started)
    assert start(folder).run() == records
    assert len(workers.started) == count


def test_a_failed_export_is_not_tried_again_after_a_resume(
    tmp_path: Path, plan: Plan, start, workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.behave("raise ValueError('no kernel')")
    folder = RunFolder.create(tmp_path / "runs")
    first = start(folder)
    interrupt_before(first, 3, monkeypatch)  # before decode of the first program
    with pytest.raises(KeyboardInterrupt):
        first.run()
    assert workers.started == ["export"]
    records = start(folder).run()
    assert workers.started == ["export"] * 4  # none for a run: two programs, twice
    assert {r["status"] for r in records} == {"failed"}
    runs = [r for r in records if "no program to run" in r["reason"]]
    assert len(runs) == 8


def test_a_failure_stops_nothing_else(tmp_path: Path, start, workers) -> None:
    workers.behave("if task == 'encode': os._exit(1)")
    folder = RunFolder.create(tmp_path / "runs")
    start(folder).run()
    table = read_csv(folder.path / "measurements.csv")
    assert set(table[table["method"] == "encode"]["status"]) == {"failed"}
    assert set(table[table["method"] != "encode"]["status"]) == {"ok"}


def test_a_full_disk_ends_the_run_and_costs_no_measurement(
    tmp_path: Path, plan: Plan, start, workers
) -> None:
    whole, full = (RunFolder.create(tmp_path / "runs") for _ in range(2))
    start(whole).run()
    room = (whole.path / "raw.jsonl").stat().st_size * 2 // 3  # of one file
    with files_of_at_most(room), pytest.raises(DiskError, match=str(full.path)):
        start(full).run()
    kept = full.records()
    assert 0 < len(kept) < len(plan.jobs)
    assert {record["status"] for record in kept} == {"ok"}
    start(full).run()
    assert full.records()[: len(kept)] == kept
    pd.testing.assert_frame_equal(steady(full), steady(whole))


def test_a_launcher_leaves_the_files_of_a_serial_run(tmp_path: Path, plan: Plan) -> None:
    nodes = Nodes(tmp_path / "node")
    asked = load(WORDS)
    serial, spread = (RunFolder.create(tmp_path / "runs") for _ in range(2))
    node = nodes(asked)
    here = Measurer(serial, node, node.programs(), asked.limits, Silent(), timed=False)
    Runner(plan, serial, here, Silent(), {}).run()  # type: ignore[arg-type]
    progress = Silent()
    away = fleet(spread.path, nodes, asked)
    records = Runner(plan, spread, away, progress, {}).run()  # type: ignore[arg-type]
    assert [r["job_key"] for r in records] == [job.key for job in plan.jobs]
    assert len(progress.lines) == len(plan.jobs)
    names = [
        {path.name for path in folder.path.iterdir()} - {".lock"} for folder in (serial, spread)
    ]
    assert names[0] == names[1]
    pd.testing.assert_frame_equal(steady(serial), steady(spread))
    assert read_csv(spread.path / "measurements.csv")["total_s"].isna().all()


def test_a_failed_export_is_known_to_a_launcher_after_a_resume(tmp_path: Path, plan: Plan) -> None:
    nodes = Nodes(tmp_path / "node", "raise ValueError('no kernel')")
    folder = RunFolder.create(tmp_path / "runs")
    exports = Plan(tuple(job for job in plan.jobs if job.kind == "export"))
    for part in (exports, plan):
        away = fleet(folder.path, nodes, load(WORDS))
        records = Runner(part, folder, away, Silent(), {}).run()  # type: ignore[arg-type]
    assert set(nodes.started) == {"export"}
    assert {r["status"] for r in records} == {"failed"}
