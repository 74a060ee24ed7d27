"""Estimates: of every backend there is, and of one that nobody has timed."""

from dataclasses import replace

import pytest

from bench.compose import group_choices
from bench.config import load
from bench.estimate import seconds_of
from bench.plan import Job, make_plan

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
