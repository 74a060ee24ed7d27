"""What the attribution looks at: one figure per cell, and cells that differ in one axis alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import pandas as pd

from bench.analysis.cells import cells
from bench.analysis.noise import Noise, Scale, between_environments
from bench.order import ORDER
from bench.results.cells import as_list
from bench.values import format_size

LEVEL = 0.95
"""Of every interval here."""
CONDITIONS = ("place", "kind", "counter", "runner", "allocator", "load_mode", "samples")
"""How it was measured: never an explanation, so they must be equal in whatever is compared."""
AXES = ("model", "precision", "backend", "method", "commit", "exporter", "runtime", "place")
"""What may explain the memory."""
_CONTEXT = ("rung", "exporter_rung", "torch", "max_tokens", "seed", "stored_dtype", "compute_dtype")
_BUILD = "build_key"
WHERE = (*AXES, *CONDITIONS[1:], *_CONTEXT, _BUILD)
"""All that tells one observation from another, but for the marks of one process."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The median peak of one cell.

    Attributes:
        value: bytes; above the baseline or with it, as ``kind`` says.
        steady: RSS after the last execution, on the same scale; None where it was not measured.
        pte: size of the program, bytes.
        n: repeats behind the medians.
        censored: whether the value is only a lower bound (``over_memory``).
        commit: the revision, where one both exported and ran; else empty.
        scale: noise of one fresh process.
        between: what two environments alone make, relative.
        where: its texts by :data:`WHERE`, together.

    """

    key: str
    model: str
    precision: str
    backend: str
    method: str
    iterations: int | None
    commit: str
    exporter: str
    runtime: str
    place: str
    kind: str
    counter: str
    runner: str
    allocator: str
    load_mode: str
    samples: str
    value: float
    steady: float | None
    pte: float | None
    n: int
    censored: bool
    scale: Scale
    between: float
    where: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The figure: ``+930.0 MB`` above a baseline, ``208.0 MB`` with it, ``>=`` for a bound."""
        sign = "+" if self.kind == "delta" else ""
        bound = "at least " if self.censored else ""
        return f"{bound}{sign}{format_size(self.value)}"

    @property
    def name(self) -> str:
        """What a person calls it: ``small bf16 encode``."""
        return " ".join(filter(None, (self.model, self.precision, self.method)))


def reach(low: Observation, high: Observation) -> float:
    """Return how far two figures may differ by noise, relative to the first."""
    return low.scale.reach(low.n, high.n, LEVEL)


def observe(table: pd.DataFrame) -> list[Observation]:
    """Reduce rows to observations: cells with a figure, in a person's order of their axes."""
    noise = Noise([table])
    frame = cells(table)
    frame = frame[frame["status"].isin(["ok", "over_memory"]) & frame["value"].notna()]
    texts = {
        column: frame[column].astype("string").fillna("").tolist()
        for column in (
            *("cell_key", "model", "precision", "backend", "method", "exporter", "runtime"),
            *("place", "kind", "counter", "runner", "allocator", "load_mode", "samples", "status"),
            *(*_CONTEXT, _BUILD),
        )
    }
    numbers = {
        column: as_list(frame[column].astype("float64"))
        for column in ("value", "steady", "pte_bytes", "iterations", "n")
    }
    found = []
    scales: dict[tuple[str, str, str], Scale] = {}
    for i in range(len(frame)):
        row = {column: values[i] for column, values in texts.items()}
        number: dict[str, Any] = {column: values[i] for column, values in numbers.items()}
        what = (row["method"], row["backend"], row["precision"])
        if what not in scales:
            scales[what] = noise.scale("memory", *what)
        row["commit"] = row["exporter"] if row["runtime"] in ("", row["exporter"]) else ""
        found.append(
            Observation(
                key=row["cell_key"],
                **{axis: row[axis] for axis in ("model", "precision", "backend", "method")},
                iterations=None if number["iterations"] is None else int(number["iterations"]),
                **{axis: row[axis] for axis in ("commit", "exporter", "runtime", *CONDITIONS)},
                value=number["value"],
                steady=number["steady"],
                pte=number["pte_bytes"],
                n=int(number["n"]),
                censored=row["status"] == "over_memory",
                scale=scales[what],
                between=between_environments(row["method"], row["backend"], row["allocator"]),
                where=tuple(row[name] for name in WHERE),
            )
        )
    return found


def last_marks(found: Iterable[Observation]) -> list[Observation]:
    """Keep, of the marks of one process, the one with most executions."""
    kept: dict[tuple[str, ...], Observation] = {}
    for one in found:
        old = kept.get(one.where)
        if old is None or (one.iterations or 0) >= (old.iterations or 0):
            kept[one.where] = one
    return list(kept.values())


@cache
def _kept(*without: str) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    gone = {*without, _BUILD}  # two revisions have two builds; compare does not ask for them
    if "precision" in gone:
        gone |= {"stored_dtype", "compute_dtype"}  # what it is about
    if "commit" in gone:
        gone |= {"exporter", "runtime"}
    elif gone & {"exporter", "runtime"}:
        gone.add("commit")
    return itemgetter(*(n for n, name in enumerate(WHERE) if name not in gone))


def identity(one: Observation, *without: str) -> tuple[str, ...]:
    """Return all that must be equal for two observations to differ in these axes alone.

    ``commit`` stands for exporter and runtime together; ``exporter`` alone leaves the runtime.
    """
    return _kept(*without)(one.where)


@dataclass(frozen=True)
class Stratum:
    """Observations that differ in one axis alone, by its level, in a person's order."""

    axis: str
    levels: Mapping[str, Observation]

    @property
    def low(self) -> Observation:
        """The smallest."""
        return min(self.levels.values(), key=lambda one: one.value)

    @property
    def high(self) -> Observation:
        """The largest; a bound at that value is larger still."""
        return max(self.levels.values(), key=lambda one: (one.value, one.censored))


def strata(
    found: Sequence[Observation], axis: str, keep: Callable[[Observation], bool] = lambda _: True
) -> list[Stratum]:
    """Group observations by everything but an axis; only groups in which it varies."""
    groups: dict[tuple[str, ...], dict[str, Observation]] = defaultdict(dict)
    rest, place = _kept(axis), WHERE.index(axis)
    # One order for all groups, whichever level each of them has first.
    levels_of = dict.fromkeys(one.where[place] for one in found)
    order = {level: at for at, level in enumerate(sorted(levels_of, key=rank))}
    for one in found:
        level = one.where[place]
        if level and keep(one):
            groups[rest(one.where)].setdefault(level, one)
    return [
        Stratum(axis, {level: levels[level] for level in sorted(levels, key=order.__getitem__)})
        for levels in groups.values()
        if len(levels) > 1
    ]


def varies_alone(found: Iterable[Observation], axis: str) -> bool:
    """Tell whether there are two observations that differ in nothing but an axis."""
    rest, place = _kept(axis), WHERE.index(axis)
    seen: dict[tuple[str, ...], str] = {}
    return any(
        seen.setdefault(rest(one.where), one.where[place]) != one.where[place]
        for one in found
        if one.where[place]
    )


def rank(level: str) -> int:
    """Order levels as a person does: tiny, base, small; others (revisions) stay as they come."""
    return ORDER.index(level) if level in ORDER else len(ORDER)


def notable(found: Sequence[Observation], share: float = 1 / 20) -> Callable[[Observation], bool]:
    """Return a test: is a figure at least this share of the largest measured the same way?"""
    largest: dict[tuple[str, str, str], float] = {}
    for one in found:
        where = (one.place, one.kind, one.counter)
        largest[where] = max(largest.get(where, 0.0), one.value)
    return lambda one: one.value >= largest[(one.place, one.kind, one.counter)] * share
