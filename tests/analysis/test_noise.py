import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.noise import Noise, between_environments
from tests.rows import MB, row, table

KIND = ("memory", "encode", "xnnpack", "fp32")


def repeats(sigma: float, count: int, seed: int = 0, **changes):
    values = np.random.default_rng(seed).normal(1, sigma, count)
    return table(
        *(
            row(repeat=n, peak_delta_bytes=round(160 * MB * v), **changes)
            for n, v in enumerate(values)
        )
    )


def test_without_repeats_it_is_what_was_known() -> None:
    scale = Noise([table(row())]).scale(*KIND)
    assert scale.source == "known before"
    assert scale.reach(1, 1, 0.95) == pytest.approx(0.0016, rel=0.1)


@pytest.mark.parametrize("sigma", [0.0001, 0.01, 0.2])
def test_many_repeats_decide(sigma: float) -> None:
    scale = Noise([repeats(sigma, 300)]).scale(*KIND)
    assert scale.sigma == pytest.approx(sigma, rel=0.4)
    assert "repeats (299 degrees" in scale.source


def test_marks_of_one_process_are_one_observation() -> None:
    rows = [row(iterations=i, repeat=r) for i in (1, 5, 20) for r in range(3)]
    assert "(2 degrees" in Noise([table(*rows)]).scale(*KIND).source


def test_differences_between_cells_are_no_noise() -> None:
    cells = [row(model=m, peak_delta_bytes=d * MB) for m, d in [("tiny", 100), ("base", 900)]]
    assert Noise([table(*cells)]).scale(*KIND).source == "known before"


def test_tables_add_up() -> None:
    both = [repeats(0.01, 10, seed=n, cell_key=str(n)) for n in range(2)]
    assert "(18 degrees" in Noise(both).scale(*KIND).source


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 20), st.integers(1, 20))
def test_more_repeats_reach_less_far(few: int, more: int) -> None:
    scale = Noise().scale(*KIND)
    assert scale.reach(few + 3 + more, few + 3, 0.95) <= scale.reach(few + 3, few + 3, 0.95)


def test_the_stated_level_holds() -> None:
    """Equal cells are called different in about one case of twenty, not more."""
    random = np.random.default_rng(1)
    sigma = 0.0016 / 3.078
    reach = Noise().scale(*KIND).reach(1, 1, 0.95)
    a, b = random.normal(1, sigma, (2, 20_000))
    assert np.mean(np.abs(b - a) > reach) < 0.05


def test_environments_differ_only_under_the_default_heap() -> None:
    assert between_environments("export", "xnnpack", "default") > 0.1
    assert between_environments("export", "xnnpack", "fixed") == 0
    assert between_environments("encode", "xnnpack", "default") == 0
