"""From the command line of ``python -m bisect`` to a checked request."""

from __future__ import annotations

from bisect.finding import Settings
from bisect.metrics import METRICS, Metric, metric_of, metrics_of, watched_until
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

from bench.compose import CONF, compose_one
from bench.config import lasting_word, load, without_nulls
from bench.errors import RequestError, choices
from bench.launch.kinds import GROUP, KINDS, launcher_of
from bench.request import Request
from bench.runners import own_runner
from bench.script import read_script
from bench.values import parse_int

MOST_PARALLEL = 16
"""More revisions at once than this hardly shorten a search: it needs log(candidates) / log(k + 1)
rounds."""
DIRECTIONS = ("increase", "decrease", "any")
OWN = {
    "good": "revision before the change [the oldest release]",
    "bad": "revision after it [the newest release]",
    "direction": "increase, decrease or any",
    "floor": "smaller differences are none: a size for memory, else a number",
    "repeats": "interleaved fresh processes at each endpoint, and of culprit and parent",
    "confidence": "probability at which a commit is named [0.95]",
    "share": "steps below this share of the whole difference are not searched for [0.1]",
    "budget": "the most measurements beside those of the endpoints [200]",
    "parallel": "revisions measured side by side in each round, chosen together; not of times [1]",
    "relevance": "on: commits that touch no file read are unlikely; off: all are alike [on]",
    "explain": "memray: tell who held the memory of a culprit and of its parent [off]",
    "companion": "on: an exact number that changes too (file size, ...) is searched first [on]",
}


@dataclass(frozen=True)
class BisectRequest:
    """What to bisect on, where, and the one cell that is measured."""

    metric: Metric
    good: str | None
    bad: str | None
    settings: Settings
    relevance: bool
    companion: bool
    explain: bool
    """Whether memray is to tell who held the memory."""
    bench: Request
    """The cell; its `exporters` are replaced by each revision that is probed."""
    words: tuple[str, ...]
    """The command line, with paths that mean the same from anywhere."""

    def pinned(self, name: Callable[[str], str]) -> BisectRequest:
        """Return the same request with every revision in its canonical spelling.

        A branch moves; what was begun is resumed, and repeated, with what it meant then.

        Args:
            name: gives the canonical spelling of a revision.
        """
        words, runtimes = [], self.bench.runtimes
        for word in self.words:
            key, _, value = word.partition("=")
            if key == "runtime" and runtimes:
                value = runtimes[0]
            words.append(f"{key}={name(value)}" if key in ("good", "bad", "runtime") else word)
        return replace(
            self,
            good=name(self.good) if self.good else None,
            bad=name(self.bad) if self.bad else None,
            bench=replace(self.bench, runtimes=runtimes and tuple(map(name, runtimes))),
            words=tuple(words),
        )


def load_bisect(metric: str, words: Sequence[str], conf: Path = CONF) -> BisectRequest:
    """Check a command line such as ``encode_peak good=v1.2.0 bad=v1.4.1 model=small``.

    Raises:
        RequestError: on anything wrong, in one line that names the valid choices.
    """
    own, cell = _split(without_nulls(words, compose_one([], conf)))
    chosen = metric_of(metric, _metrics(cell))
    defaults = _defaults(chosen, conf)
    if ("good" in own) != ("bad" in own):
        missing = "bad" if "good" in own else "good"
        raise RequestError(f"{missing}: give both good= and bad=, or neither (all releases)")
    text = {key: own.get(key, str(defaults[key])) for key in ("direction", "floor", "repeats")}
    if text["direction"] not in DIRECTIONS:
        raise choices("direction", text["direction"], list(DIRECTIONS))
    for key in ("relevance", "companion"):
        if own.get(key, "on") not in ("on", "off"):
            raise choices(key, own[key], ["on", "off"])
    if own.get("explain", "off") not in ("memray", "off"):
        raise choices("explain", own["explain"], ["memray", "off"])
    explain = own.get("explain") == "memray"
    if explain:
        watched_until(chosen)
    request = load([*_unless_given(defaults["bench"], cell), *cell], conf)
    if len(request.choices) != 1 or len(request.samples) != 1:
        raise RequestError("bisect: measures one cell: no comma lists of model, precision, ...")
    if chosen.unit == "seconds" and not KINDS[launcher_of(request.launch)].local:
        raise RequestError(
            f"{GROUP}: {chosen.name} is a time, and times of several machines do not compare"
        )
    parallel = _parallel(own.get("parallel", "1"), chosen)
    if parallel > 1 and not request.launch:
        launcher_of([f"{GROUP}=joblib"])  # which says what is missing
    if own_runner(request.choices[0]):
        raise RequestError(
            "runner: your own binary gives totals, and is the same at every revision: bisect with "
            "runner=python or native"
        )
    runtimes = request.runtimes
    if runtimes and chosen.method == "export":
        raise RequestError(f"runtime: {chosen.name} is measured in the export, which runs nothing")
    if runtimes and len(runtimes) > 1:
        raise RequestError("runtime: a bisection holds one runtime still, not a list")
    return BisectRequest(
        metric=chosen,
        good=own.get("good"),
        bad=own.get("bad"),
        settings=Settings(
            direction=cast(Any, text["direction"]),
            floor=chosen.parse("floor", text["floor"]),
            repeats=parse_int("repeats", text["repeats"], 1 if chosen.exact else 2, 16),
            confidence=_share("confidence", own.get("confidence", "0.95"), 0.5, 0.999),
            minor_share=_share("share", own.get("share", "0.1"), 0.01, 0.5),
            budget=parse_int("budget", own.get("budget", "200"), 1),
            parallel=parallel,
        ),
        relevance=own.get("relevance", "on") == "on",
        companion=own.get("companion", "on") == "on",
        explain=explain,
        bench=request,
        words=(*(f"{key}={value}" for key, value in own.items()), *cell),
    )


def _parallel(text: str, metric: Metric) -> int:
    count = parse_int("parallel", text, 1, MOST_PARALLEL)
    if count > 1 and metric.unit == "seconds":
        raise RequestError(
            f"parallel: {metric.name} is a time, and times are measured one by one: leave it out"
        )
    return count


def _defaults(metric: Metric, conf: Path) -> Mapping[str, Any]:
    root = metric.name.partition(".")[0]
    if root in METRICS:
        return _file(root, conf)
    what = root.rpartition("_")[2]  # peak or time, of a method that the user named
    found = _file(f"encode_{what}", conf)
    return {**found, "bench": {**found["bench"], "method": metric.method}}


def _file(name: str, conf: Path) -> dict[str, Any]:
    found = OmegaConf.to_container(OmegaConf.load(conf / "bisect" / f"{name}.yaml"))
    return cast(dict[str, Any], found)


def _metrics(cell: Sequence[str]) -> Mapping[str, Metric]:
    """Return the metrics there are: those of the user's script, where the cell names one."""
    script = next((word.partition("=")[2] for word in cell if word.startswith("script=")), None)
    return metrics_of(read_script(script).methods) if script else METRICS


def _split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    own: dict[str, str] = {}
    cell: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if key in ("method", "commit", "exporter"):
            raise RequestError(f"{key}: the metric and good=/bad= decide it")
        if key in ("pte", "inputs", "packages"):
            why = "has many environments" if key == "packages" else "exports its programs"
            raise RequestError(f"{key}: of nox -s bench only: a bisection {why}")
        if key == "resume":
            raise RequestError("resume: goes first and alone: python -m bisect resume=ID")
        if key == "out":
            raise RequestError("out: not of a bisection; ET_PEAK_RESULTS moves where they are kept")
        word = lasting_word(word)
        if equals and key in OWN:
            if key in own:
                raise RequestError(f"{key}: given twice ({own[key]!r} and {value!r})")
            own[key] = value
        else:
            cell.append(word)
    return own, cell


def _unless_given(defaults: Mapping[str, Any], cell: Sequence[str]) -> list[str]:
    given = {word.partition("=")[0] for word in cell}
    return [f"{key}={value}" for key, value in defaults.items() if key not in given]


def _share(name: str, text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not low <= value <= high:
        raise RequestError(f"{name}: {text!r} is not a number from {low} to {high}")
    return value
