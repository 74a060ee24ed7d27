"""What a commit and its parent, run in turn, say of the step that the search saw."""

from __future__ import annotations

from bisect.judgement import bracket, judge
from bisect.noise import Direction, Noise
from bisect.problem import Observation, Problem, State
from bisect.search import verdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NOISE = Noise(0.1, 30)


def borne_out(
    before: list[float], after: list[float], searched: float, direction: Direction = "any"
) -> bool:
    return judge((before, after), searched, direction, NOISE, exact=False).borne_out


@settings(max_examples=60, deadline=None)
@given(
    level=st.floats(-1e3, 1e3),
    step=st.floats(1, 1e3),
    sign=st.sampled_from([-1, 1]),
    searched=st.floats(0.1, 4),
)
def test_a_step_is_borne_out_with_the_same_sign_and_half_the_size_only(
    level: float, step: float, sign: int, searched: float
) -> None:
    near = [level - 0.05, level, level + 0.05]
    pair = near, [v + sign * step for v in near]
    expected = searched < 1.99
    if expected or searched > 2.01:
        assert borne_out(*pair, sign * step * searched) == expected
    assert not borne_out(*pair, -sign * step * searched)
    wrong: Direction = "decrease" if sign > 0 else "increase"
    assert not borne_out(*pair, sign * step * searched, wrong)


def test_a_step_within_the_noise_is_not_borne_out() -> None:
    assert not borne_out([1.0, 1.2, 0.8], [1.1, 1.3, 0.9], 0.1)


@pytest.mark.parametrize("wild", range(3))
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("off", [-50.0, 50.0])
def test_one_wild_run_of_three_decides_nothing(wild: int, side: int, off: float) -> None:
    near = [0.05, 0.0, -0.05]
    for size in (0.0, 5.0):
        pair = [list(near), [v + size for v in near]]
        pair[side][wild] += off
        judged = judge((pair[0], pair[1]), 5.0, "any", NOISE, exact=False)
        assert judged.step == pytest.approx(size, abs=0.1)
        assert judged.borne_out == (size == 5.0)
        assert judged.clear


def test_of_two_runs_that_lie_apart_none_is_known_to_be_wild() -> None:
    assert not judge(([1.0, 1.1], [5.0, 35.0]), 4.0, "any", NOISE, exact=False).clear
    assert judge(([1.0, 1.1], [5.0, 5.1]), 4.0, "any", NOISE, exact=False).clear


def test_an_exact_number_is_borne_out_by_one_run() -> None:
    exact = Noise(0.0, 0)
    assert judge(([7], [9]), 2, "any", exact, exact=True).borne_out
    assert not judge(([7], [7]), 2, "any", exact, exact=True).borne_out
    assert not judge(([9], [7]), 2, "any", exact, exact=True).borne_out


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_bracket_is_the_nearest_testable_around_all_that_is_named(data: st.DataObject) -> None:
    last = data.draw(st.integers(1, 40))
    broken = data.draw(st.sets(st.integers(1, last), max_size=last)) - {last}
    seen = [Observation(i, v) for i, v in ((0, 1.0), (last, 2.0)) for _ in range(3)]
    state = State(Problem(last, untestable=frozenset(broken)), tuple(seen))
    named = data.draw(st.sets(st.integers(1, last), min_size=1))
    found = replace(verdict(state), culprit=min(named), credible_set=tuple(sorted(named)))
    before, after = bracket(state, found)
    assert before < min(named) <= max(named) <= after
    assert set(range(before + 1, min(named))) | set(range(max(named), after)) <= broken
    assert not {before, after} & broken
