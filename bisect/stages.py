"""One stage of a bisection: the search of one range of releases or of commits."""

from __future__ import annotations

from bisect import native
from bisect.driver import Bisection
from bisect.finding import Finding
from bisect.listener import ConsoleListener
from bisect.prober import RealProber
from bisect.problem import Problem, relevance_prior
from bisect.ranges import SearchRange, details, name_all
from bisect.rig import Rig, Sides
from bisect.sides import Side
from bisect.verdict import NO_NARROWING, Named
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.repository import Repository
from bench.request import Request
from bench.revision.relevance import alike, files_read, relevant

_BUILT = ("nightly", "source")
"""Rungs whose native code is the commit's own: what is read does not tell what matters there."""


@dataclass(frozen=True)
class Stage:
    """What to search.

    Attributes:
        name: as in the records: releases, runtimes or commits.
        range: the revisions, good first.
        bench: the cell, and how environments are made.
        varied: the side that the revisions are.
        held: the revision that is the other side; empty where there is none.
        repository: where commits are looked up; None for releases.
        seen: measurements that the crossings took of its revisions already.
    """

    name: str
    range: SearchRange
    bench: Request
    varied: Side = "exporter"
    held: str = ""
    repository: Repository | None = None
    seen: Mapping[str, Sequence[dict[str, Any]]] = field(default_factory=dict)

    @property
    def sides(self) -> Sides:
        """Exporter and runtime for each revision of the range."""
        held = self.held
        if self.varied == "runtime":
            return lambda name: (held, name)
        return lambda name: (name, held or None)


@dataclass(frozen=True)
class Searched:
    """What the search of a stage found, and all that a verdict wants to know of it.

    Attributes:
        named: the revisions of the range, those of the verdict looked up.
        relevant: how many candidates can matter.
        why_relevant: why just these.
        records: the measurements of each revision, by its index.
        native: a sentence on native code that was not built; empty where there is none.
    """

    stage: Stage
    finding: Finding
    named: tuple[Named, ...]
    relevant: int
    why_relevant: str
    records: Mapping[int, Sequence[Mapping[str, Any]]]
    native: str


def search(rig: Rig, stage: Stage) -> Searched:
    """Search a stage to its end.

    Raises:
        RequestError: if a revision can't be had as was asked.
        NotRecordedError: if a replay asks for what was not measured.
    """
    names, settings = stage.range.names, rig.request.settings
    last = len(names) - 1
    rig.say(f"{stage.name}: {last} candidate{'s' * (last != 1)} between {names[0]} and {names[-1]}")
    listener = rig.listener(names)
    prober = rig.prober(stage.name, names, stage.bench, stage.sides, listener, seen=stage.seen)
    problem = Problem(last, exact=rig.metric.exact)
    narrow = None
    if rig.request.relevance and stage.range.changes and stage.bench.origin.rung not in _BUILT:
        narrow = _Narrowing(stage.range, prober, listener)
    with listener:
        finding = Bisection(problem, prober, settings, listener, narrow).run()
    wanted = candidates(stage.range, prober.all_records) if narrow else list(range(1, last + 1))
    why = "they touch a file that the measured process read" if narrow and wanted else NO_NARROWING
    if narrow and wanted and narrow.alike:
        why += f"; the environment of {len(narrow.alike)} is that of the one before"
    if not wanted:  # nothing was traced, or nothing of it changed: all are weighed alike
        wanted = list(range(1, last + 1))
    elif narrow and len(wanted) == last:
        why = "each touches a file that the measured process read, or native code was built"
    said = native.note(
        prober.all_records, stage.range.changes, stage.range.shas[1:], _runtime(rig, stage)
    )
    return Searched(
        stage, finding, _look_up(stage, finding), len(wanted), why, dict(prober.records), said
    )


def candidates(stage: SearchRange, records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the candidates that can matter: all, once native code was built of a commit."""
    if any((r.get("exporter_rung") or r.get("rung")) in _BUILT for r in records):
        return list(range(1, len(stage.names)))
    return relevant(stage.changes, stage.shas[1:], files_read(records))


class _Narrowing:
    """Gives the prior of the candidates, by what was read so far; says when it changes."""

    def __init__(self, stage: SearchRange, prober: RealProber, listener: ConsoleListener) -> None:
        self._stage = stage
        self._prober = prober
        self._listener = listener
        self._shown: set[int] = set()
        self.alike = alike(stage.changes, stage.shas[1:])
        """Candidates whose environment is, by its build key, that of the one before."""

    def __call__(self) -> tuple[float, ...]:
        last = len(self._stage.names) - 1
        wanted = candidates(self._stage, self._prober.all_records)
        if len(wanted) not in self._shown:
            self._shown.add(len(wanted))
            same = f"; the environment of {len(self.alike)} is that of the one before"
            self._listener.say(
                f"a file that was read is touched by {len(wanted)} of {last} candidates"
                + (same if self.alike else "")
            )
        return relevance_prior(last, wanted, self.alike)


def _runtime(rig: Rig, stage: Stage) -> str:
    return stage.held if stage.varied == "exporter" and rig.metric.method != "export" else ""


def _look_up(stage: Stage, finding: Finding) -> tuple[Named, ...]:
    """Name the revisions; of the commits that the verdict names also who, when and what."""
    named = name_all(stage.repository, stage.range)
    if stage.repository is not None:
        for culprit in (*finding.culprits, *finding.suspects):
            for index in {culprit.index, *culprit.verdict.credible_set}:
                named[index] = details(stage.repository, named[index])
    return tuple(named)
