"""What measurements side by side tell together: against the definition, summed over everything."""

import math
from bisect.joint import Joint, binary_entropy
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

quick = settings(max_examples=80, deadline=None)
Chosen = list[tuple[int, float]]


@st.composite
def beliefs(draw: st.DrawFn) -> list[float]:
    """Probabilities of each culprit 0 .. n, where 0 and n stand for no change."""
    weights = draw(st.lists(st.integers(0, 9), min_size=4, max_size=9))
    weights[draw(st.integers(0, len(weights) - 1))] += 1
    return [weight / sum(weights) for weight in weights]


def told(chances: list[float], chosen: Chosen) -> float:
    """I(C; Y) by its definition, over each culprit and each outcome."""
    joint = {
        (culprit, says): chances[culprit]
        * math.prod(
            1 - error if said == (culprit <= index) else error
            for (index, error), said in zip(chosen, says, strict=True)
        )
        for culprit in range(len(chances))
        for says in product((False, True), repeat=len(chosen))
    }
    outcome: dict[tuple[bool, ...], float] = {}
    for (_, says), p in joint.items():
        outcome[says] = outcome.get(says, 0.0) + p
    return sum(
        p * math.log2(p / (chances[culprit] * outcome[says]))
        for (culprit, says), p in joint.items()
        if p > 0
    )


def begun(chances: list[float]) -> Joint:
    return Joint.nothing_chosen(np.cumsum(chances)[:-1])


def grown(chances: list[float], chosen: Chosen) -> tuple[Joint, float]:
    joint, bits = begun(chances), 0.0
    for index, error in chosen:
        bits += joint.gain(error)[index]
        joint = joint.with_one_more(index, error)
    return joint, bits


errors = st.sampled_from([0.0, 0.01, 0.1, 0.4, 0.5])


@quick
@given(beliefs(), st.data())
def test_the_gains_add_up_to_the_mutual_information(
    chances: list[float], data: st.DataObject
) -> None:
    revision = st.integers(0, len(chances) - 2)
    chosen = data.draw(st.lists(st.tuples(revision, errors), min_size=1, max_size=4))
    joint, bits = grown(chances, chosen)
    assert bits == pytest.approx(told(chances, chosen), abs=1e-4)
    assert joint.total.sum() == pytest.approx(1, abs=1e-4)
    assert joint.after[:, -1].sum() == pytest.approx(sum(chances[:-1]), abs=1e-4)


@quick
@given(beliefs(), errors, errors, st.data())
def test_the_more_is_chosen_the_less_another_adds(
    chances: list[float], error: float, other: float, data: st.DataObject
) -> None:
    before = begun(chances)
    after = before.with_one_more(data.draw(st.integers(0, len(chances) - 2)), other)
    assert (after.gain(error) <= before.gain(error) + 1e-4).all()
    assert (after.gain(error) >= -1e-4).all()


@quick
@given(beliefs(), st.integers(1, 3), errors)
def test_one_by_one_tells_at_least_63_percent_of_what_the_best_choice_does(
    chances: list[float], count: int, error: float
) -> None:
    joint, bits = begun(chances), 0.0
    for _ in range(count):
        gain = joint.gain(error)
        index = int(np.argmax(gain))
        bits += gain[index]
        joint = joint.with_one_more(index, error)
    revisions = combinations(range(len(chances) - 1), min(count, len(chances) - 1))
    best = max(told(chances, [(i, error) for i in each]) for each in revisions)
    assert bits >= (1 - 1 / math.e) * best - 1e-4


def test_a_sure_measurement_told_twice_tells_nothing_more() -> None:
    chances = [0.0, *[1 / 8] * 8, 0.0]
    joint = begun(chances).with_one_more(4, 0.0)
    assert begun(chances).gain(0.0)[4] == pytest.approx(1)
    assert joint.gain(0.0)[4] == pytest.approx(0)
    assert joint.gain(0.0)[2] == pytest.approx(0.5)  # one bit in one of two cases


def test_a_doubtful_measurement_is_worth_repeating() -> None:
    chances = [0.0, *[1 / 8] * 8, 0.0]
    joint = begun(chances).with_one_more(4, 0.2)
    assert (
        0
        < joint.gain(0.2)[4]
        < begun(chances).gain(0.2)[4]
        == pytest.approx(1 - binary_entropy(0.2))
    )


def test_many_at_once_stay_cheap() -> None:
    joint = begun([1 / 5001] * 5001)
    for number in range(16):
        joint = joint.with_one_more(300 * number + 100, 0.001)
    assert len(joint.total) < 500  # of the 65536 outcomes, those that can happen
