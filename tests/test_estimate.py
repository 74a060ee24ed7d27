"""Estimates: of every backend there is, and of one that nobody has timed."""

from dataclasses import replace

import pytest

from bench.compose import group_choices
from bench.config import load
from bench.estimate import estimate, exports_first, programs_first, seconds_left, seconds_of
from bench.jobs import Job, Plan
from bench.plan import make_plan

BACKENDS = [name for name in group_choices("backend") if name != "auto"]


def jobs(backend: str) -> list[Job]:
    words = ["backend=portable", "method=export,encode", "iterations=1"]
    made = make_plan(load(words), "linux-x86_64").jobs
    return [replace(j, cells=tuple(replace(c, backend=backend) for c in j.cells)) for j in made]


@pytest.mark.parametrize("backend", [*BACKENDS, "new"])
def test_every_backend_has_an_estimate(backend: str) -> None:
    found = jobs(backend)
    assert [job.kind for job in found] == ["export", "run"]
    assert all(seconds_of(job, {}) > 0 for job in found)


def made(*words: str) -> Plan:
    return make_plan(load(["iterations=1", *words]), "linux-x86_64")


def test_runs_bring_the_export_of_their_program_along_once() -> None:
    runs = made("method=encode", "exporter=v1.4.1", "runtime=v1.4.1,v1.5.1", "repeats=2")
    (first,) = exports_first(runs.jobs)
    (export,) = made("method=export", "commit=v1.4.1").jobs
    assert first.cells == export.cells
    took = estimate(runs, {})
    assert (took.programs, took.programs_s) == (1, seconds_of(export, {}))
    assert programs_first(took).endswith("to export the program where not stored yet")


def test_an_export_that_is_measured_brings_none_along() -> None:
    both = estimate(made("method=export,encode", "backend=portable"), {})
    assert both.programs == 0 and programs_first(both) == ""
    assert estimate(made("method=encode", "backend=mlx"), {}).programs == 0  # can't run here


def test_what_a_run_has_exported_already_comes_on_top_of_nothing() -> None:
    plan = made("method=encode", "repeats=2")
    done = {plan.jobs[0].key}
    assert estimate(plan, {}).programs == 1
    assert estimate(plan.without(done), {}, plan.exports_of(done)).programs == 0


def test_time_left_counts_an_export_until_its_program_is_there() -> None:
    (job,) = made("method=encode").jobs
    export = exports_first([job])[0]
    alone = seconds_of(job, {})
    assert seconds_left([job], {}, set()) == alone + seconds_of(export, {})
    assert seconds_left([job], {}, {job.export_key}) == alone
