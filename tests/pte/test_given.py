import shutil
from pathlib import Path

import pytest

from bench.compose import GROUPS
from bench.config import VALUES, load
from bench.errors import RequestError
from bench.estimate import seconds_of
from bench.jobs import Plan
from bench.plan import make_plan
from bench.pte import EXPORTER

SMALL = Path(__file__).parent / "small.pte"
RUN_OPTIONS = {
    *("commit", "runtime", "repo", "rung", "base", "nightly_index", "iterations", "repeats"),
    *("seed", "allocator", "timeout_s", "memory_cap", "out", "resume", "timeline", "packages"),
    *("timing", "memory_budget"),
}


def plan(*words: str) -> Plan:
    return make_plan(load([f"pte={SMALL}", *words]), "linux-x86_64")


def test_every_method_is_run_by_every_runtime_and_nothing_is_exported() -> None:
    made = plan("runtime=v1.4.1,v1.5.1", "iterations=1,5")
    assert [(job.kind, job.label) for job in made.jobs] == [
        ("run", "small xnnpack encode @ v1.4.1"),
        ("run", "small xnnpack look_up @ v1.4.1"),
        ("run", "small xnnpack encode @ v1.5.1"),
        ("run", "small xnnpack look_up @ v1.5.1"),
    ]
    assert made.revisions == ["v1.4.1", "v1.5.1"]
    assert {cell.exporter for cell in made.cells} == {EXPORTER}
    assert len({cell.key for cell in made.cells}) == 8
    assert all(seconds_of(job, {}) > 0 for job in made.jobs)


def test_commit_alone_is_the_runtime() -> None:
    assert plan("commit=v1.5.1").revisions == ["v1.5.1"]
    assert plan().revisions == ["v1.4.1"]


def test_the_content_and_the_inputs_make_the_cell_and_the_name_does_not(tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.pte", tmp_path / "other.pte"
    shutil.copy(SMALL, copy)
    other.write_bytes(SMALL.read_bytes() + b"\0")

    def keys(*words: str) -> set[str]:
        return {c.key for c in make_plan(load([*words, "method=look_up"]), "linux-x86_64").cells}

    assert keys(f"pte={copy}") == keys(f"pte={SMALL}")
    for words in ((f"pte={other}",), (f"pte={SMALL}", "inputs=look_up:0=1")):
        assert not keys(*words) & keys(f"pte={SMALL}")
    assert len(keys(f"pte={copy},{SMALL}")) == len(keys(f"pte={SMALL}"))


def test_a_sweep_tells_files_of_one_name_apart(tmp_path: Path) -> None:
    other = tmp_path / "small.pte"
    other.write_bytes(SMALL.read_bytes() + b"\0")
    models = {c.model for c in make_plan(load([f"pte={SMALL},{other}"]), "linux-x86_64").cells}
    assert len(models) == 2
    assert all(model.startswith("small@") for model in models)


def test_words_that_an_export_would_need_are_refused() -> None:
    # Whatever a run of a program that is there takes no notice of.
    run = {*RUN_OPTIONS, "method", "runner", "pte", "inputs"}
    for key in {*GROUPS, *VALUES} - run:
        with pytest.raises(RequestError, match=f"{key}: does not go with pte="):
            plan(f"{key}=x")
    with pytest.raises(RequestError, match="goes with pte="):
        load(["inputs=encode:0=1"])


def test_a_method_that_no_file_has() -> None:
    with pytest.raises(RequestError, match="'decode' is not one of encode, look_up"):
        plan("method=decode")
    with pytest.raises(RequestError, match="'decode' is not one of encode"):
        plan("method=encode", "inputs=decode:0=1")


def test_a_run_is_resumed_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SMALL.parent)
    request = load(["pte=small.pte"])
    monkeypatch.chdir("/")
    again = load(request.overrides)
    assert make_plan(again, "linux-x86_64") == make_plan(request, "linux-x86_64")
