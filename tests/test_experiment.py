"""Experiments: what each measures, and the sentence it ends in."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.compose import CONF
from bench.errors import RequestError
from bench.experiment import Experiment, decided, load_experiment, ratio, sentence
from bench.launch.kinds import GROUP, KINDS, SERIAL

NAMES = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


def rows(experiment: Experiment, before: list[dict], after: list[dict]) -> list[dict]:
    jobs = experiment.plan("linux-x86_64").jobs
    keys = [job.cells[0].key for job in jobs[:2]]
    sides = [
        [{"cell_key": key, "status": "ok", "reason": "", **row} for row in side]
        for key, side in zip(keys, (before, after), strict=True)
    ]
    return [row for pair in zip(*sides, strict=True) for row in pair]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_measures_two_cells_in_turn(name: str) -> None:
    experiment = load_experiment(name, ["repeats=2"])
    jobs = experiment.plan("linux-x86_64").jobs
    assert [job.repeat for job in jobs] == [0, 0, 1, 1]
    assert [job.unsupported for job in jobs] == [None] * 4
    first, second, *again = (job.cells[0] for job in jobs)
    assert first.key != second.key
    assert again == [first, second]
    # And a reader of the table can tell which is which.
    assert replace(first, key="") != replace(second, key="")
    assert experiment.question.endswith("?")


def test_the_command_line_goes_before_the_file() -> None:
    experiment = load_experiment("steps", ["commit=v1.4.1", "model.layers=1"])
    assert {request.exporters for request in experiment.requests} == {("v1.4.1",)}
    assert {request.choices[0].model["layers"] for request in experiment.requests} == {1}


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("nonsense", [], "symbolic_dim"),
        ("symbolic_dim", ["commit=v1.4.1"], "arms decide it"),
        ("steps", ["precision=q4_k,q5_k"], "an arm is one cell"),
    ],
)
def test_what_is_no_experiment_is_refused(name: str, words: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        load_experiment(name, words)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "word", [*(f"{GROUP}={kind}" for kind in KINDS if kind != SERIAL), "hydra.launcher.n_jobs=2"]
)
def test_what_would_take_the_arms_apart_is_refused(name: str, word: str) -> None:
    with pytest.raises(RequestError, match=f"^{word}: an experiment measures its arms in turn"):
        load_experiment(name, [word])
    assert load_experiment(name, [f"{GROUP}={SERIAL}"])


def test_a_ratio_is_of_pairs_so_that_a_slowing_machine_does_not_count() -> None:
    before = [10.0, 20.0, 40.0]
    middle, low, high = ratio(before, [value * 1.1 for value in before])
    assert middle == pytest.approx(1.1)
    assert high - low < 1e-6
    # Student's t at two degrees of freedom: 4.303.
    middle, low, high = ratio([1.0, 1.0, 1.0], [2.718281828**x for x in (0.1, 0.2, 0.3)])
    assert middle == pytest.approx(2.718281828**0.2)
    assert high / middle == pytest.approx(2.718281828 ** (4.303 * 0.1 / 3**0.5), rel=1e-3)
    assert ratio([1.0], [2.0])[1:] == (0.0, float("inf"))


def test_the_sentence_has_the_figures_and_says_what_they_show() -> None:
    experiment = load_experiment("steps", [])
    peaks, times = (100e6, 101e6), (10.0, 10.2)
    before = [{"total_s": t, "peak_delta_bytes": p} for t, p in zip(times, peaks, strict=True)]
    after = [{"total_s": r["total_s"] * 2, "peak_delta_bytes": 100e6} for r in before]
    said = sentence(experiment, rows(experiment, before, after))
    assert said.startswith(experiment.question)
    assert "x2.000 (2.000 to 2.000), +100.0%" in said
    assert "no difference shown" in said
    assert said.endswith("(2 interleaved pairs).")


def test_counts_are_said_as_they_are() -> None:
    experiment = load_experiment("symbolic_dim", [])
    counts = {"delegates": 1, "delegated_nodes": 9, "undelegated_nodes": 0}
    said = sentence(experiment, rows(experiment, [counts], [{**counts, "delegates": 2}]))
    assert "delegates before 1, after 2; delegated nodes before 9, after 9" in said
    assert said.endswith("(1 interleaved pair).")


def test_an_arm_that_failed_leaves_it_undecided() -> None:
    experiment = load_experiment("symbolic_dim", [])
    bad = {"status": "failed", "reason": "lower: boom"}
    said = sentence(experiment, rows(experiment, [{}], [bad]))
    assert said.endswith("Undecided: after is failed (lower: boom).")
    said = sentence(experiment, rows(experiment, [bad], [bad]))
    assert "Neither arm has a program: before is failed (lower: boom); after" in said


FAST = {"total_s": 10.0, "peak_delta_bytes": 100e6}
SLOW = {"total_s": 20.0, "peak_delta_bytes": 100e6}
ENDED = {
    "total_s": 600.0,
    "peak_delta_bytes": None,
    "status": "timeout",
    "reason": "still in lower",
}


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("side", [0, 1])
def test_a_pair_of_which_one_was_ended_is_left_out_and_counted(lost: int, side: int) -> None:
    experiment = load_experiment("steps", [])
    sides: list[list[dict]] = [[FAST] * 3, [SLOW] * 3]
    sides[side] = [ENDED if n == lost else row for n, row in enumerate(sides[side])]
    said = sentence(experiment, rows(experiment, *sides))
    assert "x2.000 (2.000 to 2.000), +100.0%" in said
    assert said.endswith("(2 interleaved pairs; 1 more left out, first: timeout (still in lower)).")


def test_no_whole_pair_is_undecided_though_each_arm_was_measured() -> None:
    experiment = load_experiment("steps", [])
    said = sentence(experiment, rows(experiment, [FAST, ENDED], [ENDED, SLOW]))
    first, second = experiment.arms
    wanted = f"Undecided: {first} is timeout (still in lower); {second} is timeout"
    assert wanted in said
    assert not decided(experiment, rows(experiment, [FAST, ENDED], [ENDED, SLOW]))
    assert decided(experiment, rows(experiment, [FAST, ENDED], [SLOW, SLOW]))
    said = sentence(experiment, rows(experiment, [ENDED] * 2, [ENDED] * 2))
    assert "Neither arm has a program" in said


@pytest.mark.parametrize("value", [None, 0, -4096])
def test_a_value_that_has_no_ratio_is_undecided_and_the_others_are_said(value: int | None) -> None:
    experiment = load_experiment("steps", [])
    without = FAST | {"peak_delta_bytes": value}
    said = sentence(experiment, rows(experiment, [FAST, without], [SLOW, SLOW]))
    assert "x2.000 (2.000 to 2.000), +100.0%" in said
    assert "peak undecided: a value is missing, or not above zero" in said


def test_each_file_says_who_asked() -> None:
    assert all((Path(CONF) / "experiment" / f"{n}.yaml").read_text()[0] == "#" for n in NAMES)
