"""Explain a culprit: run it and its parent once more under memray, and read what it changed."""

from __future__ import annotations

import json
from bisect.explanation import Explanation, operator_changes
from bisect.finding import Culprit
from bisect.holders import Comparison, Held, compare
from bisect.patch import Excerpt, excerpt
from bisect.relevance import files_read
from bisect.verdict import Named
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environment.tools import ensure_memray
from bench.errors import EtPeakError
from bench.measure import Outcome
from bench.measurer import Measurer
from bench.plan import Job
from bench.repository import Repository, patch
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows

_FOLDER = "explain"
_PACKAGE = "executorch/"


class _NoProfileError(EtPeakError):
    """A process under memray did not come to its end; the message says why."""


@dataclass(frozen=True)
class Explainer:
    """Explains what one search found. What can't be found out is said, never raised.

    Attributes:
        records: the measurements of each revision by its index.
        job: gives the process that measures the metric at a revision.
        measurer: runs it once more; None where nothing may be run.
        folder: of the bisection; each profile is kept there, and not taken twice.
        repository: where the commits are; None for releases.
        cache: et-peak's cache folder, where memray is kept.
        until: the phase after which nothing counts; None for the whole process.
        memray: whether to find out who held the memory.
        say: is told what goes on.
    """

    records: Mapping[int, Sequence[Mapping[str, Any]]]
    job: Callable[[str], Job]
    measurer: Measurer | None
    folder: RunFolder
    repository: Repository | None
    cache: Path
    until: str | None
    memray: bool
    say: Callable[[str], None]

    def explain(self, culprit: Culprit, revisions: Sequence[Named]) -> Explanation:
        """Explain one culprit, its commit looked up; a suspect's memory is not looked into."""
        held, phases, why_not = None, ("", ""), ""
        if self.memray and culprit.confirmed:
            try:
                names = [revisions[i].name for i in (culprit.parent, culprit.index)]
                held, phases = self._compare(*names)
            except (EtPeakError, OSError) as error:
                why_not = str(error)
        return Explanation(
            held=held,
            phases=phases,
            why_not=why_not,
            operators=self._operators(culprit),
            excerpt=self._excerpt(revisions[culprit.index], held),
            sha=revisions[culprit.index].sha or "",
        )

    def _compare(self, parent: str, culprit: str) -> tuple[Comparison, tuple[str, str]]:
        sides = [self._profile(name) for name in (parent, culprit)]
        before, after = (Held.of(side["held"]) for side in sides)
        return compare(before, after), (sides[0]["phase"], sides[1]["phase"])

    def _profile(self, name: str) -> Mapping[str, Any]:
        """Return what memray says of a revision, from an earlier start where there was one."""
        job = self.job(name)
        path = f"{_FOLDER}/{job.key}.json"
        try:
            kept: Mapping[str, Any] = json.loads((self.folder.path / path).read_text())
        except (OSError, ValueError):
            kept = self._take(name, job)
            self.folder.write(path, json.dumps(kept) + "\n")
        return kept

    def _take(self, name: str, job: Job) -> Mapping[str, Any]:
        if self.measurer is None:
            raise _NoProfileError(f"no profile of {name} was taken")
        self.say(f"  explaining {name} under memray: slower, and no measurement")
        place = self.folder.path / _FOLDER
        place.mkdir(exist_ok=True)
        capture = place.absolute() / f"{job.key}.bin"
        tools = ensure_memray(self.cache, self.say)
        capture.unlink(missing_ok=True)
        told = {"tools": str(tools), "capture": str(capture), "until": self.until}
        try:
            outcome = self.measurer.profile(job, told)
        finally:
            capture.unlink(missing_ok=True)
        held = next((e for e in outcome.events if e["event"] == "held"), None)
        if outcome.status != "ok" or held is None:
            raise _NoProfileError(f"{name} under memray: {outcome.status}: {outcome.reason}")
        return {"revision": name, "phase": _reached(outcome, self.until), "held": held}

    def _operators(self, culprit: Culprit) -> dict[str, tuple[int, int]]:
        """Compare what was left outside delegates; the same program always gives the same."""
        texts = []
        for index in (culprit.parent, culprit.index):
            good = [r for r in self.records.get(index, ()) if r["status"] == "ok"]
            if not good:
                return {}
            texts.append(measurement_rows(good[-1])[-1]["undelegated_ops"])
        return operator_changes(*texts)

    def _excerpt(self, named: Named, held: Comparison | None) -> Excerpt | None:
        if self.repository is None or named.sha is None:
            return None
        records = [r for each in self.records.values() for r in each]
        wanted = files_read(records).intersection(named.files)
        telling = held.largest() if held else ()
        first = [one.holder[1].removeprefix(_PACKAGE) for one in telling]
        try:
            return excerpt(patch(self.repository, named.sha, wanted), first)
        except EtPeakError as error:  # a clone without contents, and no network
            self.say(f"  the changed lines can't be shown: {error}")
            return None


def _reached(outcome: Outcome, until: str | None) -> str:
    """Return the phase of the highest RSS since the baseline, none after the one that ends it."""
    since = next(n for n, e in enumerate(outcome.events) if e["event"] == "baseline")
    phases = [e for e in outcome.events[since:] if e["event"] == "phase"]
    names = [e["name"] for e in phases]
    counted = phases[: names.index(until) + 1] if until in names else phases
    return str(max(counted, key=lambda e: e["peak_bytes"])["name"])
