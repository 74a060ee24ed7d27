import pytest

from bench.config import load
from bench.jobs import Plan, as_export
from bench.plan import make_plan

LINUX = "linux-x86_64"


def plan(*words: str, host: str = LINUX) -> Plan:
    return make_plan(
        load([*words, "backend=xnnpack"] if not any("backend" in w for w in words) else words), host
    )


def test_one_process_gives_all_iteration_rows() -> None:
    made = plan()
    assert [(job.kind, len(job.cells)) for job in made.jobs] == [
        ("export", 1),
        ("run", 3),
        ("run", 3),
    ]
    assert [cell.iterations for cell in made.cells] == [None, 1, 5, 20, 1, 5, 20]
    assert made.jobs[1].request["marks"] == [1, 5, 20]


def test_every_run_follows_the_export_of_its_program() -> None:
    made = plan("model=tiny,base", "precision=fp32,int8", "commit=v1.4.1,v1.5.1")
    exported = set()
    for job in made.jobs:
        if job.kind == "export":
            exported.add(job.export_key)
        assert job.export_key in exported


def test_keys_are_unique_and_stable() -> None:
    words = ("model=tiny,base", "samples=401,480000", "repeats=2", "commit=v1.4.1,v1.5.1")
    first, second = plan(*words), plan(*words)
    assert first == second
    assert len({job.key for job in first.jobs}) == len(first.jobs)
    assert len({cell.key for cell in first.cells}) == len(first.cells)


@pytest.mark.parametrize(
    "change",
    ["seed=1", "samples=401", "allocator=fixed", "runner.load_mode=buffer", "max_tokens=64"],
)
def test_whatever_changes_the_measurement_changes_the_cell(change: str) -> None:
    before = {cell.key for cell in plan("method=encode").cells}
    after = {cell.key for cell in plan("method=encode", change).cells}
    assert not before & after


def test_other_iteration_counts_are_the_same_cells() -> None:
    some = {c.iterations: c.key for c in plan("method=encode", "iterations=1,5").cells}
    more = {c.iterations: c.key for c in plan("method=encode", "iterations=1,5,50").cells}
    assert some.items() < more.items()


def test_a_program_does_not_depend_on_what_runs_it() -> None:
    jobs = plan("exporter=v1.4.1", "runtime=v1.4.1,v1.5.1", "method=export,encode").jobs
    assert len({job.export_key for job in jobs}) == 1
    assert [job.revision for job in jobs] == ["v1.4.1", "v1.4.1", "v1.5.1"]
    assert jobs[2].label == "tiny fp32 xnnpack encode @ v1.4.1 on v1.5.1"


def test_the_implied_export_is_the_one_that_would_be_asked_for() -> None:
    (asked,) = plan("method=export").jobs
    (run,) = plan("method=encode").jobs
    assert as_export(run) == asked


def test_mlx_exports_anywhere_and_runs_on_apple_silicon() -> None:
    jobs = plan("backend=mlx", "precision=bf16").jobs
    assert [bool(job.unsupported) for job in jobs] == [False, True, True]
    assert jobs[1].unsupported == "mlx programs run on darwin-arm64 only; this is linux-x86_64"
    assert not any(j.unsupported for j in plan("backend=mlx", host="darwin-arm64").jobs)


def test_a_precision_without_recipe_is_unsupported_with_the_choices() -> None:
    jobs = plan("backend=portable", "precision=int8").jobs
    assert {job.unsupported for job in jobs} == {"portable has no int8 recipe (fp32, fp16, bf16)"}


def test_revisions_need_no_environment_for_what_is_unsupported() -> None:
    assert plan("backend=mlx", "exporter=v1.4.1", "runtime=v1.5.1").revisions == ["v1.4.1"]


def test_repeats_are_processes_of_their_own() -> None:
    jobs = plan("method=encode", "repeats=3").jobs
    assert [job.repeat for job in jobs] == [0, 1, 2]
    assert len({job.cells for job in jobs}) == 1


def test_a_program_is_exported_once_whatever_runners_it_is_for() -> None:
    made = plan("runner=python,native", "repeats=2")
    exports = [job for job in made.jobs if job.kind == "export"]
    assert [job.repeat for job in exports] == [0, 1]
    assert {cell.runner for cell in exports[0].cells} == {""}
    runs = [job for job in made.jobs if job.kind == "run"]
    assert {cell.runner for job in runs for cell in job.cells} == {"python", "native"}
    assert len({job.key for job in runs}) == len(runs) == 8


def test_what_is_compared_is_repeated_in_turn() -> None:
    request = load(["model=tiny", "precision=fp32", "commit=v1.4.1,v1.5.1", "repeats=2"])
    jobs = make_plan(request, "linux-x86_64").jobs
    exports = [(job.repeat, job.cells[0].exporter) for job in jobs if job.kind == "export"]
    assert exports == [(0, "v1.4.1"), (0, "v1.5.1"), (1, "v1.4.1"), (1, "v1.5.1")]
    first_run = next(n for n, job in enumerate(jobs) if job.kind == "run")
    assert jobs[first_run].export_key in {job.export_key for job in jobs[:first_run]}
