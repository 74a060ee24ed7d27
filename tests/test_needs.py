"""What an export needs, and that it is refused before it is begun."""

from pathlib import Path

import pytest

from bench.config import load
from bench.jobs import job_id
from bench.needs import kquant_weights, memory_need, peaks, refuse_too_large, too_large
from bench.plan import make_plan
from tests.test_gguf import SHAPES, write

GB = 10**9
SMALL = Path(__file__).parent / "pte" / "small.pte"


def plan(*words: str):
    return make_plan(load(words), "linux-x86_64")


def test_the_shapes_of_muse_add_up_to_those_of_the_thread() -> None:
    (job,) = plan("model=muse").jobs
    sizes = {
        name: kquant_weights({"parts": {name: part}}) * 144 / 256
        for name, part in job.request["model"]["parts"].items()
    }
    assert sizes == pytest.approx(
        {"target": 16 * GB, "draft": 1.5 * GB, "projector": 1.3 * GB}, rel=0.01
    )


def test_muse_is_refused_with_the_memory_that_the_thread_reports() -> None:
    (job,) = refuse_too_large(plan("model=muse"), 24 * GB).jobs
    assert job.unsupported is not None
    assert "this machine has 24000" in job.unsupported
    least = float(job.unsupported.partition("takes about ")[2].partition(" MB")[0])
    assert least == pytest.approx(48_300, rel=0.05)
    (job,) = refuse_too_large(plan("model=muse"), 64 * GB).jobs
    assert job.unsupported is None


@pytest.mark.parametrize("words", [["model=kquant"], ["model=kquant-parts"], ["model=large-v3"]])
def test_what_fits_is_not_refused(words: list[str]) -> None:
    jobs = plan(*words, "backend=mlx", "method=export").jobs
    assert [too_large(job.request, 8 * GB) for job in jobs] == [None]


def test_a_measurement_needs_at_least_what_was_measured_of_its_kind() -> None:
    # Whole peaks in results/whisper-v1.4.1.csv and docs: tiny 1.1 GB, small 3.7 GB.
    for model, peak in (("tiny", 1.1 * GB), ("small", 3.7 * GB)):
        export, encode, _ = plan(f"model={model}", "backend=xnnpack").jobs
        need = memory_need(export, {})
        assert need is not None
        assert peak <= need <= 1.3 * peak
        assert memory_need(encode, {}) == need  # it may have to export first
    (job,) = plan("model=kquant", "precision=q4_k", "backend=mlx", "method=export").jobs
    assert (memory_need(job, {}) or 0) > kquant_weights(job.request["model"]) * 144 / 256


@pytest.mark.parametrize(("kind", "size"), [("Q4_K", 144 / 256), ("F16", 2), ("F32", 2)])
def test_a_gguf_file_needs_memory_by_the_bytes_its_weights_are_stored_in(
    tmp_path: Path, kind: str, size: float
) -> None:
    path = write(tmp_path / "tiny.gguf", kind)
    weights = sum(rows * columns for rows, columns in SHAPES.values())
    (job,) = plan("model=gguf", f"gguf={path}").jobs
    assert memory_need(job, {}) == pytest.approx(0.4 * GB + 3.6 * weights * size, abs=1)


def test_what_was_measured_before_is_known() -> None:
    export, *_ = plan("model=tiny", "backend=xnnpack").jobs
    record = {
        "cells": [{"key": cell.key} for cell in export.cells],
        "events": [{"event": "phase", "peak_bytes": 7 * GB}, {"event": "enter"}],
        "sampled_peak_bytes": 8 * GB,
        "rusage_peak_bytes": None,
    }
    known = peaks([record, {**record, "sampled_peak_bytes": None}])
    assert memory_need(export, known) == 8 * GB
    assert peaks([{**record, "events": [], "sampled_peak_bytes": None}]) == {}


@pytest.mark.parametrize("export_is_known", [True, False])
def test_a_run_needs_what_its_export_does_where_that_is_more(export_is_known: bool) -> None:
    export, encode, _ = plan("model=small", "backend=xnnpack").jobs
    known = {job_id(export): 3 * GB} if export_is_known else {}
    need = memory_need(export, known)
    assert need is not None
    for run, expected in ((GB, need), (9 * GB, 9 * GB)):
        assert memory_need(encode, {**known, job_id(encode): run}) == expected
    # A script's export may take anything, until it was measured.
    export, run, *_ = plan("model=script", "script=examples/vocoder.py", "backend=xnnpack").jobs
    known = {job_id(run): GB}
    assert memory_need(run, known) is None
    assert memory_need(run, {**known, job_id(export): 2 * GB}) == 2 * GB


def test_a_program_from_elsewhere_is_only_run() -> None:
    (job, *_) = plan(f"pte={SMALL}").jobs
    assert job.program is not None
    assert memory_need(job, {job_id(job): GB}) == GB


def test_nothing_is_known_of_a_script_and_nothing_is_taken_by_what_is_not_run() -> None:
    jobs = plan("model=script", "script=examples/vocoder.py", "backend=xnnpack").jobs
    assert {memory_need(job, {}) for job in jobs} == {None}
    (job, *_) = plan("model=tiny", "backend=mlx", "method=encode").jobs
    assert job.unsupported
    assert memory_need(job, {}) == 0
