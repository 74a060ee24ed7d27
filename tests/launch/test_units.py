"""What stays together, and what may run side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.config import load
from bench.jobs import Job
from bench.launch.units import Unit, by_program, one_by_one, waves
from bench.plan import make_plan

JOBS = make_plan(
    load(["backend=xnnpack", "precision=fp32,bf16", "commit=v1.4.1,v1.5.1", "repeats=2"]),
    "linux-x86_64",
).jobs


def test_an_export_and_the_runs_of_its_program_stay_together_in_order() -> None:
    units = by_program(JOBS)
    assert len(units) == 4  # two precisions, two revisions
    for unit in units:
        methods = [(job.cells[0].method, job.repeat) for job in unit.jobs]
        assert methods == [(m, r) for r in (0, 1) for m in ("export", "encode", "decode")]
        assert {job.export_key for job in unit.jobs} == {unit.key}
    assert [job for unit in units for job in unit.jobs] != list(JOBS)
    assert {job.key for unit in units for job in unit.jobs} == {job.key for job in JOBS}
    assert units[0].label == "tiny fp32 xnnpack export @ v1.4.1 and 5 more"


def test_what_is_done_is_left_out_and_the_unit_keeps_its_name() -> None:
    unit = by_program(JOBS)[0]
    left = unit.without({job.key for job in unit.jobs[:-1]})
    assert (left.key, left.jobs) == (unit.key, unit.jobs[-1:])


def test_each_measurement_of_a_round_is_a_unit_of_its_own() -> None:
    assert [unit.jobs for unit in one_by_one(JOBS)] == [(job,) for job in JOBS]


@st.composite
def loads(draw: st.DrawFn) -> tuple[list[Unit], dict[str, int | None]]:
    sizes = draw(st.lists(st.none() | st.integers(0, 12), max_size=12))
    jobs = [replace(JOBS[0], repeat=number) for number in range(len(sizes))]
    return one_by_one(jobs), {job.key: size for job, size in zip(jobs, sizes, strict=True)}


@settings(max_examples=200, deadline=None)
@given(loads(), st.integers(1, 5), st.integers(1, 20), st.booleans())
def test_side_by_side_is_within_width_and_budget_and_never_timed(
    given_: tuple[list[Unit], dict[str, int | None]], width: int, budget: int, timed: bool
) -> None:
    units, sizes = given_

    def need(job: Job) -> int | None:
        return sizes[job.key]

    groups = list(waves(units, need, width=width, budget=budget, timed=timed))
    assert sorted(u.key for group in groups for u in group) == sorted(u.key for u in units)
    for group in groups:
        assert 1 <= len(group) <= width
        taken = [sizes[unit.key] for unit in group]
        if len(group) > 1:
            assert not timed
            # What is not known takes the whole budget: it stands beside nothing that takes any.
            assert sum(budget if size is None else size for size in taken) <= budget


@pytest.mark.parametrize(("timed", "expected"), [(True, [1, 1, 1]), (False, [2, 1])])
def test_times_are_taken_one_by_one(timed: bool, expected: list[int]) -> None:
    units = by_program(JOBS)[:3]
    groups = waves(units, lambda _job: 1, width=2, budget=10, timed=timed)
    assert [len(group) for group in groups] == expected


def test_a_unit_needs_what_its_largest_measurement_does() -> None:
    units = by_program(JOBS)[:2]
    need = lambda job: 8 if job.kind == "export" else 1  # noqa: E731
    assert [len(g) for g in waves(units, need, width=2, budget=15, timed=False)] == [1, 1]
    assert [len(g) for g in waves(units, need, width=2, budget=16, timed=False)] == [2]
