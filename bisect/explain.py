"""Explain a culprit: run it and its parent once more under memray, and read what it changed.

What can't be found out is said in the verdict, and never costs it.
"""

from __future__ import annotations

import json
from bisect.explanation import Explanation
from bisect.finding import Culprit
from bisect.holders import Comparison, Held, compare
from bisect.metrics import watched_until
from bisect.patch import Excerpt, excerpt
from bisect.rig import Rig
from bisect.stages import Searched
from bisect.verdict import Named
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.environment.tools import ensure_memray
from bench.errors import EtPeakError
from bench.jobs import Job
from bench.measure import Outcome
from bench.repository import Repository, patch
from bench.results.record import RunFolder
from bench.revision.relevance import files_read

_FOLDER = "explain"
_PACKAGE = "executorch/"


def explain(rig: Rig, searched: Searched) -> dict[int, Explanation]:
    """Explain what a search named, by its index; the memory only of what is confirmed."""
    stage, finding = searched.stage, searched.finding
    if not (finding.culprits or finding.suspects):
        return {}
    listener = rig.listener(stage.range.names)
    profiles = None
    if rig.request.explain and finding.culprits:
        # A prober of its own: the revisions are told this stage's cell, which may not be the last.
        prober = rig.prober(stage.name, stage.range.names, stage.bench, stage.sides, listener)
        cache = rig.revisions.store.root.parent
        until = watched_until(rig.metric)
        profiles = Profiles(prober, rig.folder, cache, until, listener.say, rig.replaying)
    read = files_read(run for runs in searched.records.values() for run in runs)
    with listener:
        return {
            culprit.index: _explain_one(
                culprit, searched.named, profiles, stage.repository, read, listener.say
            )
            for culprit in (*finding.culprits, *finding.suspects)
        }


def _explain_one(
    culprit: Culprit,
    revisions: Sequence[Named],
    profiles: Profiles | None,
    repository: Repository | None,
    read: Collection[str],
    say: Callable[[str], None],
) -> Explanation:
    parent, named = (revisions[i] for i in (culprit.parent, culprit.index))
    held, phases, why_not = None, ("", ""), ""
    if profiles is not None and culprit.confirmed:
        try:
            held, phases = profiles.compare(parent.name, named.name)
        except (EtPeakError, OSError) as error:
            why_not = str(error)
    changed = None
    if repository is not None:
        try:
            changed = changed_lines(repository, named, read, held)
        except EtPeakError as error:  # a clone without contents, and no network
            say(f"the changed lines can't be shown: {error}")
    return Explanation(held, phases, why_not, changed, named.sha or "")


def changed_lines(
    repository: Repository, named: Named, read: Collection[str], held: Comparison | None
) -> Excerpt:
    """Return the lines of a commit that touch what was read; files of who held more come first.

    Args:
        repository: where the commit is.
        named: the commit, with its files.
        read: repository paths of what the measured processes read.
        held: who held the memory, where that is known.

    Raises:
        EtPeakError: if git can't show the commit.
    """
    if named.sha is None:
        return Excerpt((), 0)
    first = [file.removeprefix(_PACKAGE) for file in (held.files if held else ())]
    wanted = [path for path in named.files if path in read]
    return excerpt(patch(repository, named.sha, wanted), first)


class Profiled(Protocol):
    """Knows the processes of a range, and runs them once more."""

    def job(self, name: str, repeat: int) -> Job:
        """Return the process that measures a revision."""

    def profile(self, name: str, explain: Mapping[str, Any]) -> Outcome:
        """Run it once more under a profiler.

        Raises:
            EtPeakError: if it can't be run, or may not be.
        """


class NoProfileError(EtPeakError):
    """A process under memray did not come to its end; the message says why."""


@dataclass(frozen=True)
class Profiles:
    """What memray says of revisions: taken once, and kept in the bisection's folder.

    Attributes:
        prober: runs the processes.
        folder: of the bisection.
        cache: et-peak's cache folder, where memray is kept.
        until: the phase after which nothing counts; None for the whole process.
        say: is told what goes on.
        replaying: use what is kept only.
    """

    prober: Profiled
    folder: RunFolder
    cache: Path
    until: str | None
    say: Callable[[str], None]
    replaying: bool = False

    def compare(self, parent: str, culprit: str) -> tuple[Comparison, tuple[str, str]]:
        """Compare two revisions; also return the phases in which their marks were reached.

        Raises:
            EtPeakError: if one of them can't be run under memray.
        """
        before, after = (self._kept(name) for name in (parent, culprit))
        found = compare(Held.of(before["held"]), Held.of(after["held"]))
        return found, (before["phase"], after["phase"])

    def _kept(self, name: str) -> Mapping[str, Any]:
        key = self.prober.job(name, 0).key
        path = f"{_FOLDER}/{key}.json"
        try:
            kept: Mapping[str, Any] = json.loads((self.folder.path / path).read_text())
        except (OSError, ValueError):
            kept = self._take(name, key)
            self.folder.write(path, json.dumps(kept) + "\n")
        return kept

    def _take(self, name: str, key: str) -> Mapping[str, Any]:
        if self.replaying:
            raise NoProfileError(f"no profile of {name} was kept")
        tools = ensure_memray(self.cache, self.say)
        self.say(f"{name} under memray: slower, and no measurement")
        place = self.folder.path.absolute() / _FOLDER
        place.mkdir(exist_ok=True)
        capture = place / f"{key}.bin"
        capture.unlink(missing_ok=True)  # of a start that was killed
        told = {"tools": str(tools), "capture": str(capture), "until": self.until}
        try:
            outcome = self.prober.profile(name, told)
        finally:
            capture.unlink(missing_ok=True)
        held = next((e for e in outcome.events if e["event"] == "held"), None)
        if outcome.status != "ok" or held is None:
            raise NoProfileError(f"{name} under memray: {outcome.status}: {outcome.reason}")
        return {"revision": name, "phase": reached(outcome.events, self.until), "held": held}


def reached(events: Sequence[Mapping[str, Any]], until: str | None) -> str:
    """Return the phase of the highest RSS after the baseline, up to the one that ends the watch."""
    began = next(n for n, event in enumerate(events) if event["event"] == "baseline")
    phases = [event for event in events[began:] if event["event"] == "phase"]
    names = [event["name"] for event in phases]
    counted = phases[: names.index(until) + 1] if until in names else phases
    return str(max(counted, key=lambda event: event["peak_bytes"])["name"])
