"""The claimed 95%, on made-up histories: a small part of what docs/calibration.md is made from."""

from __future__ import annotations

from bisect.calibration import LENGTHS, outcomes_of, wilson
from bisect.simulation import Outcome, Scenario
from functools import cache

import pytest

TRIALS = 25
SCENARIOS = (
    Scenario("normal", 4.0),
    Scenario("outliers", 6.0),
    Scenario("t3", 6.0, changes=2),
    Scenario("normal", 6.0, broken=True),
)


@cache
def outcomes(scenario: Scenario, parallel: int) -> list[Outcome]:
    return [o for o in outcomes_of(scenario, TRIALS, parallel) if o.differs]


@pytest.mark.parametrize("parallel", [2, 4])
def test_what_is_named_from_rounds_of_several_is_right_at_least_as_often_as_claimed(
    parallel: int,
) -> None:
    seen = [o for scenario in SCENARIOS for o in outcomes(scenario, parallel)]
    named = [o for o in seen if o.status == "found"]
    assert len(named) > 50
    assert sum(o.right for o in named) >= 0.95 * len(named)
    assert sum(o.covered for o in seen) >= 0.95 * len(seen)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.name}, {s.noise}")
def test_more_at_once_takes_fewer_rounds_and_more_runs(scenario: Scenario) -> None:
    rounds, runs = (
        [sum(getattr(o, what) for o in outcomes(scenario, k)) for k in (1, 2, 4)]
        for what in ("rounds", "runs")
    )
    assert rounds == sorted(rounds, reverse=True) and len(set(rounds)) == 3
    assert runs[0] == rounds[0] < runs[2]


def test_the_histories_do_not_depend_on_what_runs_side_by_side() -> None:
    few = outcomes_of(Scenario("normal", 3.0), len(LENGTHS), 1)
    many = outcomes_of(Scenario("normal", 3.0), len(LENGTHS), 4)
    assert [o.differs for o in few] == [o.differs for o in many]


@pytest.mark.parametrize(("right", "total"), [(0, 0), (5, 5), (90, 100)])
def test_the_interval_of_a_rate_holds_it(right: int, total: int) -> None:
    low, high = wilson(right, total)
    assert 0 <= low <= (right / total if total else 0.5) <= high <= 1 + 1e-12
