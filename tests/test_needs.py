"""What an export needs, and that it is refused before it is begun."""

import pytest

from bench.config import load
from bench.needs import kquant_weights, refuse_too_large, too_large
from bench.plan import make_plan

GB = 10**9


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
