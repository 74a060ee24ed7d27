"""The loop, on made-up histories: every way a bisection can end."""

from __future__ import annotations

import random
from bisect.companion import Companion
from bisect.driver import Bisection
from bisect.finding import Finding, Settings
from bisect.problem import Problem, relevance_prior
from collections import Counter
from collections.abc import Callable, Sequence

import pytest


class History:
    """Values by revision, with noise; some revisions can't be measured."""

    def __init__(
        self, levels: Sequence[float], sigma: float = 0.1, broken: Sequence[int] = (), seed: int = 1
    ):
        self.levels, self.sigma, self.broken = levels, sigma, set(broken)
        self.random = random.Random(seed)
        self.runs: Counter[int] = Counter()
        self.rounds: list[list[int]] = []

    @property
    def makes_programs(self) -> bool:
        return False

    def measure(self, indices: Sequence[int]) -> list[float | None]:
        self.rounds.append(list(indices))
        return [self.run(index) for index in indices]

    def run(self, index: int) -> float | None:
        self.runs[index] += 1
        if index in self.broken:
            return None
        return self.levels[index] + self.random.gauss(0, self.sigma)

    def companion(self, low: int, high: int, difference: float) -> Companion | None:
        return None

    def program(self, index: int, name: str) -> float | None:
        return None

    def make_programs(self, indices: Sequence[int]) -> None: ...


class Quiet:
    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def probing(self, index: int, run: int, runs: int) -> None: ...

    def measured(self, index: int, value: float | None) -> None: ...

    def looked(self, index: int, name: str, value: float | None) -> None: ...

    def believes(self, probabilities: Sequence[float]) -> None: ...


def bisect(history: History, problem: Problem | None = None, **settings: object) -> Finding:
    problem = problem or Problem(len(history.levels) - 1)
    return Bisection(problem, history, Settings(**settings), Quiet()).run()  # type: ignore[arg-type]


def step(last: int, at: int, size: float = 150.0) -> list[float]:
    return [100.0] * at + [100.0 + size] * (last + 1 - at)


@pytest.mark.parametrize("at", [1, 2, 17, 39, 40])
def test_finds_the_planted_commit_and_confirms_it(at: int) -> None:
    finding = bisect(History(step(40, at)))
    assert finding.status == "found"
    (culprit,) = finding.culprits
    assert (culprit.index, culprit.confirmed) == (at, True)
    assert culprit.share == pytest.approx(1, abs=0.01)
    assert culprit.verdict.confidence >= 0.95


def test_few_measurements_in_a_long_range() -> None:
    finding = bisect(History(step(426, 300)))
    assert finding.culprits[0].index == 300
    assert finding.measurements <= 9 + 6  # binary search, then culprit and parent three times each


def test_two_culprits_share_the_blame() -> None:
    levels = [100.0] * 12 + [160.0] * 18 + [200.0] * 11
    finding = bisect(History(levels))
    assert [c.index for c in finding.culprits] == [12, 30]
    assert [round(c.share, 2) for c in finding.culprits] == [0.6, 0.4]
    assert finding.share_explained == pytest.approx(1, abs=0.02)


def test_no_difference_is_said_at_once() -> None:
    history = History([100.0] * 41)
    finding = bisect(history)
    assert (finding.status, finding.measurements) == ("no_difference", 0)
    assert set(history.runs) == {0, 40}


def test_a_difference_below_the_floor_is_none() -> None:
    assert bisect(History(step(40, 9, 1.0)), floor=2.0).status == "no_difference"


def test_opposite_sign_is_said_at_once() -> None:
    assert bisect(History(step(40, 9, -50))).status == "opposite"
    assert bisect(History(step(40, 9, -50)), direction="any").culprits[0].index == 9
    assert bisect(History(step(40, 9, -50)), direction="decrease").culprits[0].index == 9


@pytest.mark.parametrize("end", [0, 40])
def test_an_endpoint_that_cannot_be_measured(end: int) -> None:
    assert bisect(History(step(40, 9), broken=[end])).status == "unmeasurable"


def test_endpoint_runs_alternate() -> None:
    history = History([1.0] * 3)
    bisect(history)
    assert history.rounds[:6] == [[0], [2]] * 3


def test_an_unmeasurable_revision_is_stepped_around() -> None:
    finding = bisect(History(step(40, 22), broken=[19, 20, 24]))
    assert finding.status == "found"
    assert finding.culprits[0].index == 22


def test_a_culprit_that_hides_among_the_unmeasurable_is_narrowed_down() -> None:
    finding = bisect(History(step(40, 20), broken=[19, 20, 21]))
    assert finding.status == "narrowed"
    (culprit,) = finding.culprits
    assert set(culprit.verdict.credible_set) == {19, 20, 21, 22}
    assert culprit.parent == 18


def test_relevance_saves_measurements_when_it_is_right() -> None:
    problem = Problem(400, prior=relevance_prior(400, [50, 120, 250, 333]))
    narrowed, plain = (bisect(History(step(400, 250)), p) for p in (problem, None))
    assert narrowed.culprits[0].index == plain.culprits[0].index == 250
    assert narrowed.measurements < plain.measurements


def test_wrong_relevance_does_not_name_the_wrong_commit() -> None:
    problem = Problem(200, prior=relevance_prior(200, [20, 150], doubt=0.001))
    finding = bisect(History(step(200, 80)), problem)
    assert finding.status == "found"
    assert finding.culprits[0].index == 80


def test_an_exact_metric_is_measured_once_each() -> None:
    history = History(step(426, 99), sigma=0.0)
    finding = bisect(history, Problem(426, exact=True))
    assert finding.culprits[0].index == 99
    assert max(history.runs.values()) == 1
    assert sum(history.runs.values()) <= 2 + 10


def test_an_exact_metric_of_several_steps_is_measured_once_each() -> None:
    levels = [10.0] * 86 + [12.0] * 8 + [14.0] * 18 + [15.0] * 187 + [17.0] * 2
    history = History(levels, sigma=0.0)
    finding = bisect(history, Problem(300, exact=True))
    assert {c.index for c in finding.culprits} == {86, 94, 112, 299}
    assert max(history.runs.values()) == 1


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_the_budget_ends_it_undecided_with_what_is_known(budget: int) -> None:
    history = History(step(400, 99))
    finding = bisect(history, budget=budget)
    assert (finding.status, finding.measurements) == ("undecided", budget)
    assert finding.out_of_budget
    assert finding.state is not None
    assert len(finding.state.observations) == sum(history.runs.values()) == 6 + budget


def test_noise_near_the_step_names_the_right_commit_or_none() -> None:
    named = []
    for seed in range(8):
        finding = bisect(History(step(60, 33, 4.0), sigma=1.0, seed=seed), repeats=6)
        named += [culprit.verdict.credible_set for culprit in finding.culprits]
    assert len(named) >= 4  # most of the histories do end in a commit
    assert all(33 in credible_set for credible_set in named)


class Scripted(History):
    """A history in which some runs of a revision fail, or read otherwise, by their number."""

    def __init__(
        self,
        levels: Sequence[float],
        *,
        fails: Callable[[int, int], bool] = lambda index, run: False,
        wrong: Callable[[int, int], float] = lambda index, run: 0.0,
    ) -> None:
        super().__init__(levels)
        self.fails, self.wrong = fails, wrong

    def run(self, index: int) -> float | None:
        value = super().run(index)
        if value is None or self.fails(index, self.runs[index]):
            return None
        return value + self.wrong(index, self.runs[index])


def runs_until_confirmation(history: History, **settings: object) -> Counter[int]:
    """Return how often each revision is run before the confirmation begins."""
    seen: list[Counter[int]] = []

    class Listening(Quiet):
        def stage(self, text: str) -> None:
            if text == "confirmation" and not seen:
                seen.append(history.runs.copy())

    problem = Problem(len(history.levels) - 1)
    Bisection(problem, history, Settings(**settings), Listening()).run()  # type: ignore[arg-type]
    return seen[0]


@pytest.mark.parametrize("failing", [21, 22])
def test_one_failure_in_the_confirmation_is_run_again(failing: int) -> None:
    before = runs_until_confirmation(History(step(40, 22)))[failing]
    once = Scripted(step(40, 22), fails=lambda i, run: (i, run) == (failing, before + 1))
    finding = bisect(once)
    assert finding.status == "found"
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(22, True)]


def test_a_parent_that_dies_in_the_confirmation_is_stepped_around() -> None:
    before = runs_until_confirmation(History(step(40, 22)))[21]
    dying = Scripted(step(40, 22), fails=lambda i, run: i == 21 and run > before)
    finding = bisect(dying)
    assert finding.status == "narrowed"
    (culprit,) = finding.culprits
    assert (culprit.parent, culprit.after) == (20, 22)
    assert set(culprit.verdict.credible_set) == {21, 22}
    assert dying.runs[21] == before + 2


@pytest.mark.parametrize("end", [0, 2])
def test_an_endpoint_that_dies_in_the_confirmation_leaves_a_suspect(end: int) -> None:
    levels = step(2, 1 if end == 0 else 2)
    before = runs_until_confirmation(History(levels))[end]
    finding = bisect(Scripted(levels, fails=lambda i, run: i == end and run > before))
    assert (finding.status, finding.culprits) == ("unconfirmed", ())
    assert [(c.index, c.compared) for c in finding.suspects] == [(levels.index(250.0), False)]


@pytest.mark.parametrize("broken", [[249], [250], [248, 249], [249, 250, 251], [247, 249, 251]])
@pytest.mark.parametrize("relevant", [[50, 120, 250, 333], [50, 120], []])
def test_broken_commits_around_the_culprit_cost_no_verdict(
    broken: list[int], relevant: list[int]
) -> None:
    prior = relevance_prior(400, relevant) if relevant else ()
    finding = bisect(History(step(400, 250), broken=broken), Problem(400, prior=prior))
    assert finding.status in ("found", "narrowed")
    (culprit,) = finding.culprits
    assert culprit.confirmed
    assert 250 in culprit.verdict.credible_set
    assert culprit.parent < 250 <= culprit.after
    assert not {culprit.parent, culprit.after} & set(broken)


@pytest.mark.parametrize("end", [0, 40])
def test_an_endpoint_that_dies_in_the_search(end: int) -> None:
    # A step of four sigma: the search gives the endpoints more runs than the check's three.
    history = Scripted(step(40, 20, 0.4), fails=lambda i, run: i == end and run > 3)
    finding = bisect(history)
    assert finding.status == "unmeasurable"
    assert history.runs[end] == 5


def test_a_revision_that_fails_now_and_then_costs_no_endless_loop() -> None:
    named = []
    for seed in range(20):
        dice = random.Random(seed)
        history = Scripted(step(40, 22), fails=lambda i, run: dice.random() < 0.2)  # noqa: B023
        finding = bisect(history, budget=500)
        assert finding.measurements < 500
        named += [culprit.verdict.credible_set for culprit in finding.culprits]
    assert len(named) >= 10
    assert all(22 in credible_set for credible_set in named)


def busy(seed: int = 1, last: int = 40) -> Scripted:
    """A step at 30; 20 to 29 read high the first times, as on a machine that was busy for long."""
    history = Scripted(
        step(last, 30), wrong=lambda i, run: 150.0 if 20 <= i < 30 and run <= 2 else 0.0
    )
    history.random.seed(seed)
    return history


@pytest.mark.parametrize("seed", range(10))
def test_a_step_that_the_confirmation_does_not_show_is_searched_on(seed: int) -> None:
    finding = bisect(busy(seed))
    assert finding.status == "found"
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(30, True)]
    assert finding.suspects == ()


def suspected() -> Finding:
    """What is named with the last of the budget is not confirmed."""
    spent = sum(runs_until_confirmation(History(step(40, 22))).values()) - 6
    return bisect(History(step(40, 22)), budget=spent)


def test_what_never_shows_in_turn_is_a_suspect_in_the_end() -> None:
    # 22 reads high in the search, and as its parent whenever the two are run in turn.
    class Elusive(History):
        last = -1

        def run(self, index: int) -> float | None:
            value, before, self.last = super().run(index), self.last, index
            return value if value is None or (index, before) != (22, 21) else value - 150.0

    finding = bisect(Elusive(step(40, 22)))
    assert (finding.status, finding.culprits) == ("unconfirmed", ())
    assert [(c.index, c.confirmed, c.compared) for c in finding.suspects] == [(22, False, True)]


LEVELS = {
    "two": [100.0] * 12 + [150.0] * 18 + [200.0] * 11,
    "three": [100.0] * 12 + [150.0] * 8 + [200.0] * 8 + [250.0] * 13,
    "far": [100.0] * 120 + [150.0] * 80 + [200.0] * 210,
}


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("seed", range(12))
def test_equal_steps_are_all_named_and_none_is_lost_to_another(kind: str, seed: int) -> None:
    levels = LEVELS[kind]
    finding = bisect(History(levels, seed=seed, sigma=0.1 if seed % 2 else 1.0))
    assert finding.status == "found"
    assert {c.index for c in finding.culprits} == {
        i for i in range(1, len(levels)) if levels[i] != levels[i - 1]
    }
    assert finding.suspects == ()
    assert finding.share_explained == pytest.approx(1, abs=0.05)


class Outliers(History):
    """Two runs in a hundred are too high by 5 to 30 sigma."""

    def run(self, index: int) -> float | None:
        value = super().run(index)
        if value is not None and self.random.random() < 0.02:
            value += self.sigma * self.random.uniform(5, 30)
        return value


@pytest.mark.parametrize("size", [6.0, 10.0, 30.0])
def test_a_wild_run_costs_no_verdict(size: float) -> None:
    found = []
    for seed in range(40):
        finding = bisect(Outliers(step(60, 33, size), sigma=1.0, seed=seed))
        found += [c.index for c in finding.culprits]
    assert set(found) == {33}
    assert len(found) >= 39


@pytest.mark.parametrize("size", [2.0, 3.0, 4.0, 5.0])
def test_what_is_reported_is_what_is_believed_after_the_confirmation(size: float) -> None:
    named = 0
    for seed in range(15):
        finding = bisect(History(step(60, 33, size), sigma=1.0, seed=seed))
        for culprit in finding.culprits:
            named += 1
            assert culprit.verdict.status == finding.status
            assert culprit.verdict.confidence >= 0.95
            assert culprit.confirmed
    assert named >= 3


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("direction", ["any", "increase", "decrease"])
def test_a_step_is_confirmed_with_its_own_sign_only(seed: int, direction: str) -> None:
    dice = random.Random(seed)
    levels = [100.0 + dice.choice([-5.0, 0.0, 0.0, 0.0, 5.0]) for _ in range(31)]
    levels[-1] = 106.0 if direction != "decrease" else 94.0
    levels[0] = 100.0
    finding = bisect(History(levels, seed=seed), direction=direction)
    for culprit in finding.culprits:
        true = levels[culprit.after] - levels[culprit.parent]
        assert culprit.step * true > 0
        assert culprit.step * culprit.verdict.step > 0


@pytest.mark.parametrize("side", [0, 40])
@pytest.mark.parametrize("run", [1, 2, 3])
@pytest.mark.parametrize("off", [-40.0, 40.0])
def test_one_wild_run_at_an_endpoint_hides_no_difference(side: int, run: int, off: float) -> None:
    wild = Scripted(step(40, 22, 5.0), wrong=lambda i, n: off if (i, n) == (side, run) else 0.0)
    finding = bisect(wild)
    assert finding.status == "found"
    assert finding.culprits[0].index == 22
    assert finding.culprits[0].share == pytest.approx(1, abs=0.1)


def test_a_budget_spent_in_the_confirmation_keeps_the_candidate() -> None:
    spent = sum(runs_until_confirmation(History(step(40, 22)), repeats=3).values()) - 6
    for more in (0, 1, 3):
        finding = bisect(History(step(40, 22)), repeats=3, budget=spent + more)
        assert (finding.status, finding.culprits) == ("unconfirmed", ())
        assert [(c.index, c.compared) for c in finding.suspects] == [(22, False)]


@pytest.mark.parametrize("seed", range(30))
def test_two_runs_that_lie_apart_by_chance_do_not_undo_a_clear_step(seed: int) -> None:
    finding = bisect(History(step(10, 4, 1.2), seed=seed))
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(4, True)]


# Several side by side


@pytest.mark.parametrize("parallel", [2, 3, 4, 8])
@pytest.mark.parametrize("at", [1, 17, 300, 426])
def test_side_by_side_names_the_same_commit_in_fewer_rounds(parallel: int, at: int) -> None:
    serial = bisect(History(step(426, at)))
    history = History(step(426, at))
    finding = bisect(history, parallel=parallel)
    assert [(c.index, c.confirmed) for c in finding.culprits] == [(at, True)]
    assert finding.culprits[0].verdict.confidence >= 0.95
    assert serial.rounds == serial.measurements
    assert finding.rounds < serial.rounds
    assert max(map(len, history.rounds)) == parallel
    ends = sum(map(len, history.rounds)) - finding.measurements
    assert ends == 6  # of the endpoint check


def test_both_ends_are_run_side_by_side() -> None:
    history = History([1.0] * 3)
    bisect(history, parallel=2)
    assert history.rounds == [[0, 2]] * 3


@pytest.mark.parametrize("parallel", [2, 4])
@pytest.mark.parametrize("budget", range(1, 14))
def test_the_budget_counts_runs_whether_side_by_side_or_not(parallel: int, budget: int) -> None:
    history = History(step(426, 99))
    finding = bisect(history, parallel=parallel, budget=budget)
    assert finding.measurements <= budget
    assert sum(history.runs.values()) == 6 + finding.measurements


@pytest.mark.parametrize("seed", range(10))
def test_failures_side_by_side_are_stepped_around(seed: int) -> None:
    dice = random.Random(seed)
    history = Scripted(step(40, 22), fails=lambda i, run: i not in (0, 40) and dice.random() < 0.2)
    finding = bisect(history, parallel=4, budget=500)
    assert finding.measurements < 500
    if finding.status == "found":
        assert 22 in finding.culprits[0].verdict.credible_set


def test_an_unmeasurable_revision_costs_no_more_runs_of_its_round() -> None:
    levels = step(40, 22, 0.8)  # blocks of several runs
    history = History(levels, broken=range(15, 21))
    bisect(history, parallel=2)
    assert all(history.runs[index] == 1 for index in history.broken & history.runs.keys())


def test_an_exact_metric_is_measured_once_each_side_by_side_too() -> None:
    history = History(step(426, 99), sigma=0.0)
    finding = bisect(history, Problem(426, exact=True), parallel=3)
    assert finding.culprits[0].index == 99
    assert max(history.runs.values()) == 1
