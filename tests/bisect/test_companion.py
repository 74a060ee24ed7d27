"""A search by an exact number of the program, on made-up histories."""

from __future__ import annotations

import random
from bisect.companion import Companion, Trail, choose, parted
from bisect.driver import Bisection
from bisect.finding import Finding, Settings
from bisect.problem import Observation, Problem, State
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bisect.test_driver import History, Quiet, step


class WithPrograms(History):
    """A history whose programs have an exact number; each shown by an export of its own."""

    def __init__(
        self,
        levels: Sequence[float],
        sizes: Sequence[float],
        *,
        apart: bool = True,
        sigma: float = 0.1,
        broken: Sequence[int] = (),
        seed: int = 1,
    ) -> None:
        super().__init__(levels, sigma, broken, seed)
        self.sizes = sizes
        self.apart = apart
        self.known: set[int] = set()
        self.exports: Counter[int] = Counter()
        self.made: list[list[int]] = []

    @property
    def makes_programs(self) -> bool:
        return self.apart

    def run(self, index: int) -> float | None:
        value = super().run(index)
        if value is not None:
            self.known.add(index)
        return value

    def companion(self, low: int, high: int, difference: float) -> Companion | None:
        ends = ({"delegates": self.sizes[end]} for end in (low, high))
        return choose(*ends, difference, "bytes")

    def program(self, index: int, name: str) -> float | None:
        assert name == "delegates"
        return self.sizes[index] if index in self.known else None

    def make_programs(self, indices: Sequence[int]) -> None:
        assert self.apart
        self.made.append(list(indices))
        self.exports.update(indices)
        self.known |= set(indices) - self.broken


def bisect(
    history: History, prior: Sequence[float] = (), repeats: int = 3, parallel: int = 1
) -> Finding:
    problem = Problem(len(history.levels) - 1, prior=tuple(prior))
    settings = Settings(repeats=repeats, parallel=parallel)
    return Bisection(problem, history, settings, Quiet()).run()


def test_the_metric_is_run_at_the_ends_and_at_the_named_commit_only() -> None:
    history = WithPrograms(step(400, 123), step(400, 123, 2))
    finding = bisect(history)
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(123, True)]
    assert set(history.runs) == {0, 122, 123, 400}
    (trial,) = finding.trials
    assert (trial.index, trial.before, trial.after, trial.steps) == (123, 100, 102, True)
    assert max(history.exports.values()) == 1
    assert finding.measurements == sum(history.exports.values()) + 4


@pytest.mark.parametrize("apart", [True, False])
def test_programs_are_looked_at_side_by_side(apart: bool) -> None:
    serial = bisect(WithPrograms(step(400, 123), step(400, 123, 2), apart=apart))
    history = WithPrograms(step(400, 123), step(400, 123, 2), apart=apart)
    finding = bisect(history, parallel=3)
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(123, True)]
    assert finding.rounds < serial.rounds
    assert max(map(len, history.made if apart else history.rounds)) == 3
    assert max(history.exports.values(), default=1) == 1


def test_what_an_export_shows_beside_its_number_is_kept() -> None:
    history = WithPrograms(step(400, 123), step(400, 123, 2), apart=False)
    finding = bisect(history)
    assert [c.index for c in finding.culprits] == [123]
    assert finding.state is not None
    seen = Counter(o.index for o in finding.state.observations)
    assert seen == history.runs
    assert finding.measurements == sum(history.runs.values()) - 6  # of the endpoint check


def test_a_noisy_metric_takes_many_runs_less() -> None:
    with_, without = (
        bisect(WithPrograms(step(200, 77, 3.0), step(200, 77, change), sigma=1.0, seed=3))
        for change in (1, 0)
    )
    assert with_.culprits[0].index == without.culprits[0].index == 77
    assert with_.measurements < without.measurements


def test_a_number_that_changes_elsewhere_does_not_name_its_commit() -> None:
    for apart in (True, False):
        history = WithPrograms(step(200, 150), step(200, 20, 2), apart=apart)
        finding = bisect(history)
        assert [(c.index, c.confirmed) for c in finding.culprits] == [(150, True)]
        assert not finding.trials[0].steps or finding.trials[0].index == 20


def test_a_metric_seen_to_step_elsewhere_ends_the_search_by_its_companion() -> None:
    history = WithPrograms(step(400, 390), step(400, 3, 2), apart=False)
    finding = bisect(history)
    assert finding.culprits[0].index == 390
    assert finding.trials[0].index is None
    alone = bisect(History(step(400, 390)))
    assert finding.measurements <= alone.measurements + 2


def test_programs_that_cannot_be_made_are_stepped_around() -> None:
    history = WithPrograms(step(40, 22), step(40, 22, 2), broken=[18, 19, 20])
    finding = bisect(history)
    assert [c.index for c in finding.culprits] == [22]
    assert max(history.exports.values()) == 1


def test_a_prior_that_hides_the_commit_is_found_out() -> None:
    prior = [1e-9 if i == 33 else 1.0 for i in range(1, 81)]
    finding = bisect(WithPrograms(step(80, 33), step(80, 33, 2)), prior)
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(33, True)]


def test_of_two_commits_that_share_the_blame_both_are_named() -> None:
    levels = [100.0] * 12 + [160.0] * 18 + [200.0] * 11
    sizes = [4.0] * 12 + [6.0] * 18 + [7.0] * 11
    for apart in (True, False):
        finding = bisect(WithPrograms(levels, sizes, apart=apart))
        assert [c.index for c in finding.culprits] == [12, 30]


@settings(max_examples=25, deadline=None)
@given(
    last=st.integers(2, 60),
    data=st.data(),
    apart=st.booleans(),
    seed=st.integers(0, 99),
)
def test_whatever_the_companion_does_the_right_commit_is_named(
    last: int, data: st.DataObject, apart: bool, seed: int
) -> None:
    at = data.draw(st.integers(1, last))
    steps = data.draw(st.lists(st.tuples(st.integers(1, last), st.integers(-3, 3)), max_size=4))
    sizes = [10.0 + sum(size for i, size in steps if i <= index) for index in range(last + 1)]
    history = WithPrograms(step(last, at), sizes, apart=apart, seed=seed)
    finding = bisect(history)
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(at, True)]
    assert max(history.exports.values(), default=0) <= 1
    assert finding.state is not None
    assert Counter(o.index for o in finding.state.observations) == history.runs
    for trial in finding.trials:
        if trial.steps:
            assert trial.index is not None
            assert sizes[trial.index] == trial.after


BEFORE = {"planned": 4e6, "pte_size": 20e6, "undelegated": 3, "delegates": 7}


@pytest.mark.parametrize(
    ("after", "unit", "name"),
    [
        ({}, "bytes", None),
        ({"pte_size": 20e6 + 512}, "seconds", None),  # below the alignment of a segment
        ({"pte_size": 20e6 + 8192}, "bytes", None),  # a thousandth of the metric's change
        ({"pte_size": 20e6 + 8192}, "seconds", "pte_size"),
        ({"pte_size": 30e6, "undelegated": 4}, "bytes", "pte_size"),  # as much as the metric
        ({"pte_size": 22e6, "undelegated": 4}, "bytes", "undelegated"),
        ({"pte_size": 10e6, "delegates": 8}, "bytes", "delegates"),  # the other way
        ({"pte_size": 10e6}, "bytes", "pte_size"),
        ({"planned": 12e6, "pte_size": 30e6}, "bytes", "planned"),
    ],
)
def test_chooses_what_changes_as_the_metric_does(
    after: Mapping[str, float], unit: str, name: str | None
) -> None:
    found = choose(BEFORE, BEFORE | after, 10e6, unit)  # type: ignore[arg-type]
    assert (found and found.name) == name


def test_a_number_unknown_at_one_end_is_not_chosen() -> None:
    assert choose({}, BEFORE, 1e6, "bytes") is None
    assert choose(BEFORE, {}, 1e6, "bytes") is None


def test_a_bracket_is_the_nearest_seen_on_both_sides() -> None:
    trail = Trail(Problem(16), 0, 16, {0: 1.0, 16: 2.0, 8: 1.0, 12: None})
    assert trail.bracket() == (8, 16)
    assert trail.saw({11: 2.0}).bracket() == (8, 11)


@settings(max_examples=25, deadline=None)
@given(at=st.integers(1, 30), looked=st.integers(1, 29), seed=st.integers(0, 50))
def test_parts_only_where_the_metric_was_seen_to_step_outside(
    at: int, looked: int, seed: int
) -> None:
    dice = random.Random(seed)
    levels = step(30, at)
    seen = [Observation(i, levels[i] + dice.gauss(0, 0.1)) for i in (0, 30, 0, 30, looked, looked)]
    metric = State(Problem(30), tuple(seen))
    together = Trail(Problem(30), 0, 30, {0: 1.0, 30: 2.0, looked: 2.0 if looked >= at else 1.0})
    apart = Trail(Problem(30), 0, 30, {0: 1.0, 30: 2.0, looked: 1.0 if looked >= at else 2.0})
    assert not parted(together, metric)
    assert parted(apart, metric)
