"""Each measurement once, whatever becomes of the process that was to take it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.jobs import Job
from bench.launch.fleet import LostError, memory_budget, take_in
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows, phase_rows
from tests.launch.nodes import Nodes, fleet, jobs_of, request

# The first worker of its kind ends the process that started it, as a machine that goes down does.
DIES_ONCE = """
if task == {task!r} and not os.path.exists(HERE + "/died"):
    open(HERE + "/died", "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
"""
DIES_ALWAYS = """
if task == "encode":
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "one"


def keys(jobs: list[Job]) -> list[str]:
    return sorted(job.key for job in jobs)


def test_each_measurement_is_taken_once_and_given_once(tmp_path: Path, run: Path) -> None:
    asked, nodes = request("repeats=2"), Nodes(tmp_path / "node")
    jobs, told = jobs_of(asked), []
    team = fleet(run, nodes, asked, arrived=told.append)
    records = list(team.measure_all(jobs))
    assert sorted(r["job_key"] for r in records) == keys(jobs)
    assert {r["status"] for r in records} == {"ok"}
    assert sorted(r["job_key"] for r in told) == keys(jobs)
    # A program is exported by the process that runs it: no more exports than are asked for.
    assert sorted(nodes.started) == sorted(job.cells[0].method for job in jobs)
    assert not (run / "parts").exists()
    assert list(run.glob("packages-*.txt"))


def test_what_ran_side_by_side_has_no_times(tmp_path: Path, run: Path) -> None:
    asked = request()
    by_timed, nodes = {}, Nodes(tmp_path / "node")
    for timed in (True, False):
        team = fleet(run / str(timed), nodes, asked, timed=timed)
        (*_, record) = team.measure_all(jobs_of(asked)[:2])
        by_timed[timed] = record
    for timed, record in by_timed.items():
        (row, *_) = measurement_rows(record)
        assert (row["exec_median_s"] is not None) == (row["total_s"] is not None) == timed
        assert row["peak_bytes"] == 250_000_000
        record["events"].append(
            {"event": "phase", "name": "lower", "seconds": 1.0, "rss_bytes": 1, "peak_bytes": 2}
        )
        assert phase_rows(record)[-1]["seconds"] == (1.0 if timed else None)


@pytest.mark.parametrize("task", ["export", "decode"])
def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, run: Path, task: str) -> None:
    asked, nodes = request(), Nodes(tmp_path / "node", DIES_ONCE.format(task=task))
    jobs = jobs_of(asked)
    team = fleet(run, nodes, asked)
    records = list(team.measure_all(jobs))
    assert sorted(r["job_key"] for r in records) == keys(jobs)
    assert {r["status"] for r in records} == {"ok"}
    assert any("begun anew" in line for line in team.progress.lines)  # type: ignore[attr-defined]
    # What a unit had before its process died is not measured again.
    assert nodes.started.count("export") <= 2 + (task == "export") + 1


def test_nodes_that_die_again_and_again_end_it_and_what_was_measured_is_kept(
    tmp_path: Path, run: Path
) -> None:
    asked, nodes = request(precision="fp32"), Nodes(tmp_path / "node", DIES_ALWAYS)
    jobs = jobs_of(asked)
    records = fleet(run, nodes, asked).measure_all(jobs)
    assert next(records)["cells"][0]["method"] == "export"
    with pytest.raises(LostError, match="2 measurements were lost with their nodes"):
        next(records)
    nodes.node.behave("pass")
    healed = fleet(run, nodes, asked)
    left = [job for job in jobs if job.kind == "run"]
    assert sorted(r["job_key"] for r in healed.measure_all(left)) == keys(left)


def test_what_nodes_left_before_the_controller_was_killed_is_merged_not_measured(
    tmp_path: Path, run: Path
) -> None:
    asked, nodes = request(), Nodes(tmp_path / "node")
    jobs = jobs_of(asked)
    records = fleet(run, nodes, asked).measure_all(jobs)
    next(records)
    records.close()  # as if it ended here, with all measured and one record merged
    count = len(nodes.started)
    assert count == len(jobs)
    again = list(fleet(run, nodes, asked).measure_all(jobs[1:]))
    assert sorted(r["job_key"] for r in again) == keys(jobs[1:])
    assert len(nodes.started) == count


def test_what_a_node_is_still_at_work_in_stays_when_the_run_takes_the_rest_in(
    tmp_path: Path, run: Path
) -> None:
    asked = request()
    jobs = jobs_of(asked)
    records = fleet(run, Nodes(tmp_path / "node"), asked).measure_all(jobs)
    next(records)
    records.close()  # the controller is killed before it keeps any
    folder, (at_work, other) = RunFolder(run), sorted(run.glob("parts/[!.]*/"))
    with RunFolder(at_work).lock():
        take_in(folder)
    assert sorted(r["job_key"] for r in folder.records()) == keys(jobs)
    assert (at_work / "raw.jsonl").exists() and (other / "raw.jsonl").exists()
    take_in(folder)
    assert len(folder.records()) == len(jobs)
    assert not (run / "parts").exists()
    assert list(run.glob("packages-*.txt"))


def test_a_program_known_to_be_broken_is_not_exported_again(tmp_path: Path, run: Path) -> None:
    asked, nodes = request(precision="fp32"), Nodes(tmp_path / "node")
    left = [job for job in jobs_of(asked) if job.kind == "run"]
    team = fleet(run, nodes, asked, broken={left[0].export_key: ("failed", "no kernel")})
    assert {r["reason"] for r in team.measure_all(left)} == {"no program to run: failed: no kernel"}
    assert nodes.started == []


def test_a_round_of_a_bisection_spreads_the_repeats_of_one_program(
    tmp_path: Path, run: Path
) -> None:
    asked, nodes = request("method=export", "repeats=3", precision="fp32"), Nodes(tmp_path / "node")
    jobs = jobs_of(asked)
    team = fleet(run, nodes, asked, width=3, apart=True)
    assert [len(group) for group in team._groups(units_apart(jobs))] == [3]
    assert sorted(r["job_key"] for r in team.measure_all(jobs)) == keys(jobs)


def units_apart(jobs: list[Job]) -> list:
    from bench.launch.units import one_by_one

    return one_by_one(jobs)


def test_what_a_node_says_of_a_wrong_request_ends_it(tmp_path: Path, run: Path) -> None:
    asked = request(precision="fp32")
    with pytest.raises(RequestError, match="no such clone"):
        list(fleet(run, Refusing(), asked).measure_all(jobs_of(asked)))  # type: ignore[arg-type]


class Refusing:
    def __call__(self, _request: object) -> object:
        raise RequestError("repo: no such clone here")


def test_a_torn_last_record_of_a_part_is_measured_again(tmp_path: Path, run: Path) -> None:
    asked, nodes = request(precision="fp32"), Nodes(tmp_path / "node")
    jobs = jobs_of(asked)
    records = fleet(run, nodes, asked).measure_all(jobs)
    next(records)
    records.close()
    (raw,) = run.glob("parts/*/raw.jsonl")
    raw.write_bytes(raw.read_bytes()[:-20])
    again = list(fleet(run, nodes, asked).measure_all(jobs))
    assert sorted(r["job_key"] for r in again) == keys(jobs)
    assert nodes.started.count("decode") == 2
    assert json.dumps(again)


def test_the_budget_is_what_was_asked_for_or_four_fifths() -> None:
    assert memory_budget(7, 100) == 7
    assert memory_budget(None, 100) == 80
