import random
from bisect.noise import Direction, welch_interval
from bisect.sides import Crossing, effects, side_to_search

import pytest


def values(exporter: float, runtime: float, both: float = 0.0) -> dict[Crossing, list[float]]:
    def near(level: float) -> list[float]:
        return [level - 0.1, level, level + 0.1]

    return {
        ("old", "old"): near(100),
        ("new", "old"): near(100 + exporter),
        ("old", "new"): near(100 + runtime),
        ("new", "new"): near(100 + exporter + runtime + both),
    }


@pytest.mark.parametrize(
    ("exporter", "runtime", "side"),
    [
        (30, 0, "exporter"),
        (0, 30, "runtime"),
        (10, 30, "runtime"),
        (-30, 5, "exporter"),
        (0, 0, None),
    ],
)
def test_the_side_that_moved(exporter: float, runtime: float, side: str | None) -> None:
    found = effects(values(exporter, runtime))
    assert [round(effect.size, 6) for effect in found] == [exporter, runtime]
    assert side_to_search(found, floor=1.0, direction="any") == side


@pytest.mark.parametrize(
    ("exporter", "runtime", "direction", "side"),
    [
        (10, -30, "increase", "exporter"),
        (10, -30, "decrease", "runtime"),
        (-10, -30, "increase", None),
    ],
)
def test_only_a_change_in_the_direction_asked_about_is_searched(
    exporter: float, runtime: float, direction: Direction, side: str | None
) -> None:
    assert side_to_search(effects(values(exporter, runtime)), 1.0, direction) == side


def test_a_change_below_the_floor_is_none() -> None:
    assert side_to_search(effects(values(3, 0)), floor=5.0, direction="any") is None


def test_an_interaction_is_shared_between_the_sides() -> None:
    exporter, runtime = effects(values(0, 0, both=20))
    assert exporter.size == runtime.size == pytest.approx(10)


@pytest.mark.parametrize("old", [-30.0, 0.0, 30.0])
@pytest.mark.parametrize("new", [-30.0, 0.0, 30.0])
def test_effects_that_depend_on_the_other_side_are_said_to(old: float, new: float) -> None:
    exporter, _ = effects(values(old, 10, both=new - old))
    assert exporter.each == pytest.approx((old, new))
    assert exporter.interacts == (old != new)


@pytest.mark.parametrize("seed", range(20))
def test_two_settings_are_known_better_than_one(seed: int) -> None:
    dice = random.Random(seed)
    noisy = {key: [dice.gauss(v[1], 1) for _ in range(3)] for key, v in values(9, 0).items()}
    exporter, runtime = effects(noisy)
    for effect, pairs in (
        (exporter, [("old", r, "new", r) for r in ("old", "new")]),
        (runtime, [(e, "old", e, "new") for e in ("old", "new")]),
    ):
        gaps = [welch_interval(noisy[a, b], noisy[c, d]) for a, b, c, d in pairs]  # type: ignore[index]
        reach = effect.interval[1] - effect.size
        assert reach < max(gap.high - gap.difference for gap in gaps)
        assert reach >= min(gap.high - gap.difference for gap in gaps) / 2
