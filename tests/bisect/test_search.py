"""The search: noise, posterior, probes, decision. Simulated calibration: bisect/calibration.py."""

import math
from bisect.noise import endpoint_check, noise_of, one_run_hides_it, welch_interval
from bisect.posterior import credible_set, posterior
from bisect.search import (
    Observation,
    Probe,
    Problem,
    State,
    next_probe,
    next_probes,
    relevance_prior,
    verdict,
)
from bisect.segments import segments, steps
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

quick = settings(max_examples=60, deadline=None)


def started(problem: Problem, good: list[float], bad: list[float]) -> State:
    ends = [Observation(0, v) for v in good] + [Observation(problem.last, v) for v in bad]
    return State(problem, tuple(ends))


def run(
    state: State,
    measure: Callable[[int], float],
    broken: frozenset[int] = frozenset(),
    limit: int = 200,
) -> tuple[State, int]:
    """Bisect; the final state and the number of runs."""
    runs = tries = 0
    while runs + tries < limit and (probe := next_probe(state)) is not None:
        if probe.index in broken:
            state, tries = state.without(probe.index), tries + 1
            continue
        state = state.observe(probe.index, *[measure(probe.index) for _ in range(probe.repeats)])
        runs += probe.repeats
    return state, runs


def stepped(culprit: int, before: float = 100.0, after: float = 130.0) -> Callable[[int], float]:
    return lambda index: after if index >= culprit else before


@st.composite
def noisy_states(draw: st.DrawFn) -> State:
    """A state with endpoints and some probes, of a history that may have any levels."""
    last = draw(st.integers(2, 60))
    level = st.sampled_from([0.0, 10.0, 20.0, 7.0])
    noise = st.integers(-9, 9).map(lambda i: i / 10)
    seen = [(0, 0.0), (0, 0.1), (0, -0.1), (last, 20.0), (last, 20.2), (last, 19.9)]
    for index in draw(st.lists(st.integers(0, last), max_size=12)):
        seen += [(index, draw(level) + draw(noise))]
    measured = {index for index, _ in seen}
    broken = draw(st.sets(st.integers(1, last - 1), max_size=5)) - measured
    problem = Problem(last, untestable=frozenset(broken))
    return State(problem, tuple(Observation(i, v) for i, v in seen))


# Noise-free search


@quick
@given(st.data())
def test_finds_any_planted_commit_in_binary_search_time(data: st.DataObject) -> None:
    last = data.draw(st.integers(1, 3000))
    culprit = data.draw(st.integers(1, last))
    measure = stepped(culprit)
    state = started(Problem(last), [100.0] * 3, [130.0] * 3)
    state, runs = run(state, measure)
    found = verdict(state)
    assert (found.status, found.culprit) == ("found", culprit)
    assert found.credible_set == (culprit,)
    assert (found.step, found.share) == (30.0, 1.0)
    assert not posterior(state).multi_step
    assert runs <= math.ceil(math.log2(last)) + 1 if last > 1 else runs == 0


@quick
@given(st.data())
def test_one_run_at_each_end_is_enough_for_an_exact_metric(data: st.DataObject) -> None:
    last = data.draw(st.integers(1, 500))
    culprit = data.draw(st.integers(1, last))
    state, runs = run(started(Problem(last, exact=True), [7.0], [6.0]), stepped(culprit, 7.0, 6.0))
    assert verdict(state).culprit == culprit
    assert runs <= math.ceil(math.log2(last)) + 1 if last > 1 else runs == 0


@quick
@given(st.data())
def test_untestable_commits_narrow_instead_of_naming(data: st.DataObject) -> None:
    last = data.draw(st.integers(20, 400))
    culprit = data.draw(st.integers(1, last))
    start = data.draw(st.integers(1, last - 1))
    broken = frozenset(range(start, min(last, start + data.draw(st.integers(1, last // 3)))))
    state, _ = run(started(Problem(last), [1.0] * 3, [2.0] * 3), stepped(culprit, 1, 2), broken)
    found = verdict(state)
    group = set(range(start, max(broken) + 2))
    if culprit in group:
        assert found.status == "narrowed"
        assert culprit in found.credible_set
        assert set(found.credible_set) == group
    else:
        assert (found.status, found.culprit) == ("found", culprit)


def test_a_broken_stretch_is_left_by_growing_steps_not_walked() -> None:
    broken = frozenset(range(400, 620))
    state, _ = run(
        started(Problem(1000), [1.0] * 3, [2.0] * 3), stepped(700, 1, 2), broken, limit=60
    )
    assert verdict(state).culprit == 700
    assert len(state.problem.untestable) < 15


# The posterior


@quick
@given(noisy_states())
def test_probabilities_sum_to_one_and_stay_in_the_stretch(state: State) -> None:
    belief = posterior(state)
    assert belief.probabilities.sum() + belief.no_change == pytest.approx(1)
    assert (belief.probabilities >= 0).all()
    assert belief.probabilities[: belief.low + 1].sum() == 0
    assert belief.probabilities[belief.high + 1 :].sum() == 0


@quick
@given(noisy_states(), st.sampled_from([-1000.0, 0.0, 3.0]), st.sampled_from([0.25, 1.0, 1024.0]))
def test_shift_and_scale_change_nothing(state: State, shift: float, scale: float) -> None:
    moved = replace(
        state,
        observations=tuple(
            Observation(o.index, shift + scale * o.value) for o in state.observations
        ),
    )
    np.testing.assert_allclose(
        posterior(moved).probabilities, posterior(state).probabilities, atol=1e-6
    )
    assert next_probe(moved) == next_probe(state)


@quick
@given(st.integers(0, 10**6), st.integers(2, 60), st.floats(1, 30))
def test_upside_down_is_the_same(seed: int, last: int, step: float) -> None:
    random = np.random.default_rng(seed)
    culprit = int(random.integers(1, last + 1))
    indices = [0] * 3 + [last] * 3 + random.integers(0, last + 1, 8).tolist()
    seen = [(i, float(random.normal()) + step * (i >= culprit)) for i in indices]
    up = State(Problem(last, "increase"), tuple(Observation(i, v) for i, v in seen))
    down = State(Problem(last, "decrease"), tuple(Observation(i, -v) for i, v in seen))
    a, b = verdict(up), verdict(down)
    assert (a.status, a.culprit) == (b.status, b.culprit)
    assert posterior(up).multi_step == posterior(down).multi_step
    assert (a.confidence, a.step) == pytest.approx((b.confidence, -b.step))
    assert next_probe(up) == next_probe(down)


@quick
@given(noisy_states(), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(state: State, random: object) -> None:
    shuffled = list(state.observations)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = State(state.problem, tuple(shuffled))
    np.testing.assert_allclose(
        posterior(again).probabilities, posterior(state).probabilities, atol=1e-9
    )


@quick
@given(st.integers(3, 100), st.data())
def test_candidates_between_the_same_runs_differ_only_by_prior(
    last: int, data: st.DataObject
) -> None:
    weights = tuple(data.draw(st.lists(st.integers(1, 9), min_size=last, max_size=last)))
    state = started(Problem(last, prior=weights), [0, 0.1, -0.1], [9, 9.1, 8.9])
    probabilities = posterior(state).probabilities[1:]
    np.testing.assert_allclose(
        probabilities / probabilities.sum(), np.array(weights) / sum(weights)
    )


@quick
@given(st.integers(2, 50), st.floats(0, 10))
def test_a_higher_value_makes_an_earlier_culprit_more_likely(last: int, value: float) -> None:
    middle = last // 2
    state = started(Problem(last), [0, 0.5, -0.5], [10, 10.5, 9.5])

    def earlier(seen: float) -> float:
        belief = posterior(state.observe(middle, seen))
        return float(belief.probabilities[: middle + 1].sum())

    assert earlier(value) <= earlier(min(10.0, value + 1)) + 1e-3


def test_more_of_the_same_evidence_makes_surer() -> None:
    state = started(Problem(10), [0, 1, -1], [4, 5, 3])
    sure = []
    for _ in range(5):
        state = state.observe(5, 0.1)
        sure.append(float(posterior(state).probabilities[6:].sum()))
    assert sure == sorted(sure)


def test_one_outlier_does_not_convince() -> None:
    # Commit 500 is the culprit; 250 reads high once.
    state = started(Problem(1000), [0, 0.3, -0.3], [10, 10.3, 9.7])
    state = state.observe(250, 10.0).observe(125, 0.0).observe(249, 0.1).observe(249, -0.1)
    assert posterior(state).probabilities[250] < 0.95
    state, _ = run(state, stepped(500, 0, 10))
    assert verdict(state).culprit == 500


def test_relevance_is_a_prior_not_a_filter() -> None:
    prior = relevance_prior(400, [50, 120, 300])
    start = started(Problem(400, prior=prior), [0.0] * 3, [1.0] * 3)
    trusted, runs = run(start, stepped(120, 0, 1))
    assert verdict(trusted).culprit == 120 and runs <= 3
    # By elimination: 300, unmeasured. Its parent, measured to confirm, says no.
    named, _ = run(start, stepped(200, 0, 1))
    assert verdict(named).culprit == 300
    surprised, _ = run(named.observe(300, 1.0).observe(299, 1.0), stepped(200, 0, 1))
    assert verdict(surprised).culprit == 200


@given(st.integers(1, 50), st.sets(st.integers(1, 50)), st.sets(st.integers(1, 50)))
def test_relevance_prior_sums_to_one(last: int, relevant: set[int], same: set[int]) -> None:
    inside = set(range(1, last + 1))
    weights = relevance_prior(last, relevant & inside, same & inside)
    assert sum(weights) == pytest.approx(1) and min(weights) > 0


@pytest.mark.parametrize("relevant", [[], [50, 120, 232]])
def test_what_builds_the_environment_of_the_one_before_is_no_culprit(relevant: list[int]) -> None:
    prior = relevance_prior(400, relevant, [i for i in range(1, 401) if i % 2])
    start = started(Problem(400, prior=prior), [0.0] * 3, [1.0] * 3)
    found, runs = run(start, stepped(232, 0, 1))
    assert verdict(found).credible_set == (232,)
    assert runs <= math.ceil(math.log2(200)) + 1


@quick
@given(noisy_states())
def test_credible_set_is_the_smallest_with_the_mass(state: State) -> None:
    belief = posterior(state)
    chosen = list(credible_set(belief, 0.95))
    relative = belief.probabilities / belief.probabilities.sum()
    assert relative[chosen].sum() >= 0.95 - 1e-9
    least = relative[chosen].min()  # several may tie for it
    assert relative[relative > least * (1 + 1e-6)].sum() < 0.95
    assert belief.top in chosen


# Probes


@quick
@given(noisy_states(), st.integers(1, 4))
def test_probes_are_different_testable_and_within_the_cap(state: State, count: int) -> None:
    probes = next_probes(state, count)
    assert len({p.index for p in probes}) == len(probes) <= count
    runs = {index: len(values) for index, values in state.groups}
    for probe in probes:
        assert probe.index not in state.problem.untestable
        assert 1 <= probe.repeats <= state.problem.max_repeats - runs.get(probe.index, 0)
    assert (next_probe(state) is None) == (not probes)
    assert next_probes(state, 1) == tuple(filter(None, [next_probe(state)]))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_parallel_probes_cut_evenly(count: int) -> None:
    state = started(Problem(1000), [0.0] * 3, [1.0] * 3)
    cuts = sorted(p.index for p in next_probes(state, count))
    even = [1000 * (number + 1) / (count + 1) for number in range(count)]
    assert cuts == pytest.approx(even, abs=15)


@quick
@given(st.data(), st.integers(2, 8))
def test_side_by_side_any_planted_commit_is_found_in_fewer_rounds(
    data: st.DataObject, parallel: int
) -> None:
    last = data.draw(st.integers(1, 3000))
    culprit = data.draw(st.integers(1, last))
    measure = stepped(culprit)
    state, rounds = started(Problem(last), [100.0] * 3, [130.0] * 3), 0
    while probes := next_probes(state, parallel):
        for probe in probes:
            state = state.observe(probe.index, *[measure(probe.index)] * probe.repeats)
        rounds += math.ceil(sum(probe.repeats for probe in probes) / parallel)
    found = verdict(state)
    assert (found.status, found.culprit, found.credible_set) == ("found", culprit, (culprit,))
    # k measured revisions leave one of k + 1 pieces.
    assert rounds <= math.ceil(math.log(last, parallel + 1)) + 1


def test_the_prior_weighs_the_cut() -> None:
    prior = (*[1.0] * 50, *[9.0] * 50)
    probe = next_probe(started(Problem(100, prior=prior), [0.0] * 3, [1.0] * 3))
    assert probe == Probe(72, 1)


def test_small_steps_get_blocks_and_endpoints_first() -> None:
    state = started(Problem(100), [0, 1, -1], [4, 5, 3])
    probe = next_probe(state)
    assert probe is not None and probe.index in (0, 100)
    state = started(Problem(100), [0, 1, -1] * 5, [2, 3, 1] * 5)
    probe = next_probe(state)
    assert probe is not None and 0 < probe.index < 100 and probe.repeats > 1


def test_no_revision_gets_more_than_its_cap() -> None:
    random = np.random.default_rng(3)
    state = started(Problem(6, max_repeats=5), [0, 1, -1], [1, 2, 0])
    state, _ = run(state, lambda i: float(random.normal()) + (i >= 3))
    assert max(len(values) for _, values in state.groups) <= 5
    assert next_probe(state) is None


# Several steps, none, and the decision


def test_several_steps_are_seen_and_the_biggest_is_named() -> None:
    def measure(index: int) -> float:
        return 60.0 * (index >= 37) + 100.0 * (index >= 70)

    state, _ = run(started(Problem(100), [0.0, 0.2, -0.2], [160.0, 160.2, 159.8]), measure)
    found = verdict(state)
    assert (found.status, found.culprit) == ("found", 70)
    assert posterior(state).multi_step
    assert found.share == pytest.approx(100 / 160, rel=0.01)
    assert [round(s.share, 2) for s in steps(state)] == [0.38, 0.62]
    assert steps(state)[0].low < 37 <= steps(state)[0].high


def test_direction_chooses_among_steps_of_both_signs() -> None:
    levels = [(0, 0.0), (10, 50.0), (20, 50.0), (30, 10.0), (40, 10.0), (50, 40.0)]
    seen = [Observation(i, v + e) for i, v in levels for e in (0.0, 0.1, -0.1)]
    up = posterior(State(Problem(50, direction="increase"), tuple(seen)))
    down = posterior(State(Problem(50, direction="decrease"), tuple(seen)))
    assert (up.low, up.high) == (0, 20) and (down.low, down.high) == (10, 40)


def test_two_agreeing_runs_make_a_level_and_one_does_not() -> None:
    state = started(Problem(20), [0, 0.1, -0.1], [10, 10.1, 9.9])
    assert len(segments(state.observe(10, 5.0))) == 2
    assert len(segments(state.observe(10, 5.0, 5.1))) == 3


def test_a_lucky_difference_ends_without_a_culprit() -> None:
    random = np.random.default_rng(5)
    state = started(Problem(200), [-0.9, -1.0, -1.1], [0.9, 1.1, 1.0])
    state, _ = run(state, lambda _: float(random.normal()))
    assert verdict(state).status in ("no_change", "undecided")


def test_the_interval_holds_the_step_most_of_the_time() -> None:
    inside = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        measure = lambda i: float(random.normal()) + 8.0 * (i >= 33)  # noqa: B023, E731
        ends = [[measure(i) for _ in range(3)] for i in (0, 90)]
        found = verdict(run(started(Problem(90), *ends), measure)[0])
        inside += found.step_interval[0] <= 8 <= found.step_interval[1]
    assert inside >= 52


@pytest.mark.parametrize(
    "problem",
    [
        {"last": 0},
        {"last": 3, "prior": (1.0,)},
        {"last": 2, "prior": (0.0, 0.0)},
        {"last": 2, "prior": (1.0, math.nan)},
        {"last": 2, "untestable": frozenset({2})},
        {"last": 2, "confidence": 1.0},
        {"last": 2, "max_repeats": 0},
        {"last": 2, "minor_share": 0.0},
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(problem: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Problem(**problem)  # type: ignore[arg-type]


def test_observations_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="endpoint 0"):
        started(Problem(5), [1.0], [2.0, 2.0])
    with pytest.raises(ValueError, match="endpoint 5"):
        State(Problem(5, exact=True), (Observation(0, 1.0),))
    state = started(Problem(5), [1.0, 1.0], [2.0, 2.0])
    for index, value in ((6, 1.0), (-1, 1.0), (2, math.nan), (2, math.inf)):
        with pytest.raises(ValueError):
            state.observe(index, value)
    with pytest.raises(ValueError):
        state.without(3).observe(3, 1.0)
    assert state.observe(3, 1.0).without(3) == state.without(3)


def test_it_is_deterministic_and_its_cost_is_that_of_the_range() -> None:
    def searched(last: int) -> State:
        random = np.random.default_rng(0)
        state = started(Problem(last), [0, 1, -1], [9, 10, 8])
        for index in random.integers(1, last, 54):
            state = state.observe(int(index), float(random.normal()) + 9 * (index >= last // 2))
        return state

    def seconds(state: State) -> float:
        start = perf_counter()
        posterior(state)
        return perf_counter() - start

    short, long = searched(500), searched(5000)
    assert next_probe(long) == next_probe(long)
    # Ten times the candidates: ten times the time at most, where the square would be a hundred.
    ratio = min(seconds(long) for _ in range(9)) / min(seconds(short) for _ in range(9))
    assert ratio < 40


# Endpoints and noise


@given(
    st.lists(st.floats(-5, 5), min_size=3, max_size=6),
    st.lists(st.floats(-5, 5), min_size=3, max_size=6),
)
def test_endpoint_check_knows_its_directions(good: list[float], bad: list[float]) -> None:
    either = endpoint_check(good, bad)
    up, down = (endpoint_check(good, bad, d) for d in ("increase", "decrease"))
    if either.verdict == "no_difference":
        assert up.verdict == down.verdict == "no_difference"
    else:
        assert {up.verdict, down.verdict} == {"differs", "opposite"}
        assert (up.verdict == "differs") == (either.difference > 0)
    assert endpoint_check(bad, good).difference == -either.difference


def test_a_second_look_at_the_ends_raises_no_more_false_alarms_than_promised() -> None:
    alarms, looks = 0, 300
    for seed in range(looks):
        random = np.random.default_rng(seed)
        sides = [random.normal(size=3).tolist() for _ in range(2)]
        if one_run_hides_it(*sides):
            sides = [[*side, *random.normal(size=3).tolist()] for side in sides]
        alarms += endpoint_check(*sides).verdict != "no_difference"
    assert alarms / looks <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / looks)


def test_endpoint_check_respects_the_floor() -> None:
    good, bad = [10.0, 10.0, 10.0], [10.5, 10.5, 10.5]
    assert endpoint_check(good, bad).verdict == "differs"
    assert endpoint_check(good, bad).interval == pytest.approx((0.5, 0.5))
    assert endpoint_check(good, bad, floor=1.0).verdict == "below_floor"
    assert endpoint_check(good, good).verdict == "no_difference"
    with pytest.raises(ValueError):
        endpoint_check(good, bad, floor=-1.0)
    with pytest.raises(ValueError, match="two values"):
        endpoint_check([1.0], bad)
    with pytest.raises(ValueError, match="finite"):
        endpoint_check([1.0, math.nan], bad)


def test_welch_interval_agrees_with_a_published_example() -> None:
    # R: t.test(extra ~ group, data = sleep): 95% interval -3.3654832, 0.2054832
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    gap = welch_interval(second, first)
    assert (gap.low, gap.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-3)


def test_noise_is_about_right_and_robust() -> None:
    random = np.random.default_rng(1)
    groups = [(7.0 * k + random.normal(0, 2, 5)).tolist() for k in range(80)]
    assert noise_of(groups).sigma == pytest.approx(2, rel=0.1)
    assert noise_of([*groups, [0.0, 1000.0]]).sigma < 40
    assert noise_of([[1.0], [2.0]]).freedom == 0


@pytest.mark.parametrize("scale", [1e-150, 1e-123, 1.0, 1e123])
def test_the_interval_scales_with_the_values_however_small(scale: float) -> None:
    unit = welch_interval([0.0, 0.0, 1.0], [5.0, 6.0, 5.0])
    found = welch_interval([0.0, 0.0, scale], [5 * scale, 6 * scale, 5 * scale])
    assert found.low / scale == pytest.approx(unit.low)
    assert found.high / scale == pytest.approx(unit.high)
