"""``nox -s bench -- +experiment=NAME``: a question, two arms measured in turn, one sentence.

An experiment is a file of ``conf/experiment``:

* ``question``: what is asked;
* ``common``: options of both arms; ``arms``: two names, each with options of its own;
* ``compare``: columns of ``measurements.csv``. Those of seconds and bytes are compared as ratios of
  pairs, with Student's interval on their logarithms (95%); counts are compared as they are.
* ``repeats``: pairs. Words of the command line go before all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from omegaconf import OmegaConf

from bench.compose import CONF
from bench.config import lasting_word, load
from bench.errors import RequestError, choices
from bench.jobs import Plan
from bench.launch.kinds import GROUP, SERIAL, is_launch_word
from bench.plan import make_plan
from bench.request import Request
from bench.values import format_mb, format_seconds

WORD = "+experiment="
_RATIOS = {"total_s": "seconds", "peak_delta_bytes": "peak", "pte_bytes": "file"}
_Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """Two arms and what is compared of them."""

    name: str
    question: str
    arms: tuple[str, str]
    requests: tuple[Request, Request]
    compare: tuple[str, ...]

    def plan(self, host: str) -> Plan:
        """Lay out both arms, in turn."""
        pairs = zip(*(make_plan(request, host).jobs for request in self.requests), strict=True)
        return Plan(tuple(job for pair in pairs for job in pair))


def load_experiment(name: str, words: Sequence[str], conf: Path = CONF) -> Experiment:
    """Read an experiment, with the words of the command line before its own.

    Raises:
        RequestError: there is none of that name, or its options are wrong.

    """
    known = sorted(path.stem for path in (conf / "experiment").glob("*.yaml"))
    if name not in known:
        raise choices("experiment", name, known)
    if away := [w for w in words if is_launch_word(w) and w != f"{GROUP}={SERIAL}"]:
        raise RequestError(
            f"{away[0]}: an experiment measures its arms in turn, in this process: leave it out"
        )
    found: Any = OmegaConf.to_container(OmegaConf.load(conf / "experiment" / f"{name}.yaml"))
    given = {word.partition("=")[0] for word in words}
    decided = {key for arm in found["arms"].values() for key in arm}
    if taken := sorted(given & decided):
        raise RequestError(f"{taken[0]}: the experiment's arms decide it")
    common = {"repeats": found["repeats"], **found["common"]}
    requests = [
        load([*words, *(f"{k}={v}" for k, v in {**common, **arm}.items() if k not in given)], conf)
        for arm in found["arms"].values()
    ]
    begun = (f"{WORD}{name}", *map(lasting_word, words))
    requests = [replace(request, overrides=begun) for request in requests]
    if any(len(make_plan(request, "").jobs) != request.repeats for request in requests):
        raise RequestError(f"experiment {name}: an arm is one cell; no comma lists")
    first, second = found["arms"]
    question, compare = str(found["question"]), tuple(found["compare"])
    return Experiment(name, question, (first, second), (requests[0], requests[1]), compare)


def resolved(experiment: Experiment, resolve: Callable[[Request], Request]) -> Experiment:
    """Return the experiment with its revisions resolved by a function of a request."""
    first, second = map(resolve, experiment.requests)
    return replace(experiment, requests=(first, second))


def sentence(experiment: Experiment, rows: Sequence[Mapping[str, Any]]) -> str:
    """Answer the question in one sentence with numbers.

    Only pairs of which both rows are ok are compared: what a process took until it was ended is no
    time of its arm. How many were left out is said.

    Args:
        experiment: the experiment.
        rows: of ``measurements.csv``, in the order they were taken.

    """
    pairs = _pairs(experiment, rows)
    whole = _whole(pairs)
    if not whole:
        broken = [
            f"{arm} is {row['status']} ({row['reason']})"
            for arm, side in zip(experiment.arms, zip(*pairs, strict=True), strict=True)
            for row in [row for row in side if row["status"] != "ok"][:1]
        ]
        neither = all(row["status"] != "ok" for pair in pairs for row in pair)
        verdict = "Neither arm has a program" if neither else "Undecided"
        return f"{experiment.question} {verdict}: {'; '.join(broken)}."
    before, after = zip(*whole, strict=True)
    said = [_compared(column, experiment.arms, before, after) for column in experiment.compare]
    count = f"{len(whole)} interleaved pair{'s' if len(whole) > 1 else ''}"
    if lost := len(pairs) - len(whole):
        bad = next(row for pair in pairs for row in pair if row["status"] != "ok")
        count += f"; {lost} more left out, first: {bad['status']} ({bad['reason']})"
    return f"{experiment.question} {'; '.join(said)} ({count})."


def decided(experiment: Experiment, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether there is a pair to answer by: see :func:`sentence`."""
    return bool(_whole(_pairs(experiment, rows)))


def _pairs(experiment: Experiment, rows: Sequence[Mapping[str, Any]]) -> list[_Pair]:
    first, second = (
        [row for row in rows if row["cell_key"] == make_plan(request, "").jobs[0].cells[0].key]
        for request in experiment.requests
    )
    return list(zip(first, second, strict=True))


def _whole(pairs: Sequence[_Pair]) -> list[_Pair]:
    return [pair for pair in pairs if all(row["status"] == "ok" for row in pair)]


def ratio(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios of pairs, and its 95% interval.

    Of a single pair the interval is unbounded: 0 to infinity.
    """
    from bench.statistics import t_quantile

    logs = [math.log(b / a) for a, b in zip(before, after, strict=True)]
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return math.exp(mean), 0.0, math.inf
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    reach = t_quantile(0.975, len(logs) - 1) * error
    return math.exp(mean), math.exp(mean - reach), math.exp(mean + reach)


def _compared(
    column: str,
    arms: tuple[str, str],
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
) -> str:
    first, second = ([row[column] for row in side] for side in (before, after))
    if column not in _RATIOS:
        one, other = ("/".join(map(str, sorted(set(side)))) for side in (first, second))
        what = column.replace("_", " ")
        return f"{what} {arms[0]} {one}, {arms[1]} {other}"
    if any(value is None or value <= 0 for side in (first, second) for value in side):
        return f"{_RATIOS[column]} undecided: a value is missing, or not above zero"
    middle, low, high = ratio(first, second)
    show = format_seconds if column.endswith("_s") else lambda value: f"{format_mb(value)} MB"
    verdict = "no difference shown" if low <= 1 <= high else f"{middle - 1:+.1%}"
    return (
        f"{_RATIOS[column]} {arms[0]} {show(median(first))}, {arms[1]} {show(median(second))}: "
        f"x{middle:.3f} ({low:.3f} to {high:.3f}), {verdict}"
    )
