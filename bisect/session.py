"""A bisection from its request to its verdict: which stages there are, and what comes after which.

Releases first, and before them old and new of exporter and runtime; then the commits between the
two neighbouring releases.
"""

from __future__ import annotations

import os
from bisect.conclusion import Conclusion
from bisect.crossings import Crossed, cross
from bisect.explain import explain
from bisect.finding import Culprit
from bisect.middle import look_between
from bisect.ranges import SearchRange, between_releases, commit_range, release_range
from bisect.request import BisectRequest
from bisect.rig import Rig
from bisect.stages import Searched, Stage, search
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.disk import DiskError
from bench.errors import RequestError
from bench.repository import Repository
from bench.results.record import RunFolder
from bench.revision import Revisions


class BisectSession:
    """One bisection in one folder under ``results/bisect/``.

    Args:
        request: what is asked, its revisions resolved.
        revisions: gives environments.
        folder: where measurements and verdict are kept.
        console: where it is shown.
        replaying: use the recorded values only: nothing is measured, built or written.
    """

    def __init__(
        self,
        request: BisectRequest,
        revisions: Revisions,
        folder: RunFolder,
        console: Console,
        *,
        replaying: bool = False,
    ) -> None:
        self.rig = Rig(request, revisions, folder, console, replaying)
        self._request = request
        self._revisions = revisions
        self._notes: list[str] = []
        self._crossed: Crossed | None = None
        self.verdict: dict[str, Any] = {}
        """Content of verdict.json, once there is one."""

    def run(self) -> int:
        """Search to a verdict, write it, show it; return the exit code.

        Raises:
            RequestError: if good or bad is no revision, or there is nothing between them.
            NotRecordedError: if a replay asks for what was not measured.
        """
        try:
            searched = self._search()
        finally:
            seconds = self.rig.clock.seconds
            if not self.rig.replaying:
                with suppress(DiskError):  # then it is the measurements that say so
                    self.rig.clock.keep(seconds)
        conclusion = Conclusion(self.rig, searched, self._crossed, tuple(self._notes), seconds)
        conclusion.write()  # whatever becomes of the explanation
        conclusion = replace(conclusion, explained=explain(self.rig, searched))
        self.verdict = conclusion.content
        return conclusion.show()

    def _search(self) -> Searched:
        """Search the commits between two, or the releases first."""
        good, bad = self._endpoints()
        begun = f"bisection {self.rig.folder.id}: {self.rig.metric.meaning}"
        if good is None or bad is None:
            repository, commits = self._given_commits()
            self.rig.say(begun)
            return self._commits(repository, commits)
        releases = release_range(good, bad)
        self.rig.say(begun)
        return self._releases(releases)

    def _endpoints(self) -> tuple[str | None, str | None]:
        """Return good and bad as releases; None for both where they are commits."""
        if self._request.good is None or self._request.bad is None:
            found = release_range(None, None).names
            return found[0].removeprefix("v"), found[-1].removeprefix("v")
        ends = [self._revisions.resolve(n) for n in (self._request.good, self._request.bad)]
        if all(end.release for end in ends):
            return ends[0].release, ends[1].release
        return None, None

    def _given_commits(self) -> tuple[Repository, SearchRange]:
        repository = self._revisions.repository()
        shas = []
        for name, text in (("good", self._request.good), ("bad", self._request.bad)):
            revision = self._revisions.resolve(str(text))
            if revision.kind == "working_tree" or revision.sha is None:
                raise RequestError(f"{name}: {text!r} is no commit of {repository.label}")
            shas.append(revision.sha)
        return repository, commit_range(repository, *shas)

    def _releases(self, found: SearchRange) -> Searched:
        """Search the releases, their exporters on one torch; then the commits in between."""
        bench = self.rig.on_base(self._request.bench)
        stage = Stage("releases", found, bench)
        self._notes.append(
            f"Exporters are each release's Python over ExecuTorch {self.rig.base}, on its torch: "
            "what a release's own torch, dependencies or native code did does not show."
        )
        if self.rig.metric.method != "export":
            if bench.runtimes:
                stage = replace(stage, held=bench.runtimes[0])
            else:
                self._crossed = crossed = cross(self.rig, found.names, bench)
                self._notes += crossed.notes
                if crossed.moved == "runtime":
                    return self._runtimes(crossed, found.names[-1])
                held = crossed.held
                seen = {e: records for (e, r), records in crossed.records.items() if r == held}
                stage = replace(stage, held=held, seen=seen)
        searched = search(self.rig, stage)
        agree = searched.finding.status in ("no_difference", "opposite")
        if agree and self._request.good is None and len(found.names) > 2:
            searched, note = look_between(self.rig, stage, searched)
            self._notes.append(note)
        if not searched.finding.culprits:
            return searched
        return self._between(searched, searched.finding.culprits[0])

    def _between(self, searched: Searched, culprit: Culprit) -> Searched:
        """Go on to the commits between two releases; return what says more.

        Over the same base, and with the same runtime, as the releases. Shares stay those of the
        difference between the releases, and what else changed between them is not forgotten.
        """
        names = searched.stage.range.names
        before, after = names[culprit.parent], names[culprit.after]
        self.rig.say(f"between {before} and {after}; now the commits")
        try:
            repository = self._revisions.repository()
            commits = between_releases(repository, before, after)
        except RequestError as error:
            self._notes.append(
                f"The commits between {before} and {after} were not searched: {error}"
            )
            return searched
        earlier = list(self._notes)
        self._notes += filter(None, [commits.note])
        stage = replace(
            searched.stage, name="commits", range=commits, repository=repository, seen={}
        )
        deeper = search(self.rig, stage)
        if deeper.finding.culprits:
            self._notes += self._not_followed(searched, culprit)
            endpoint = searched.finding.endpoint
            if endpoint is None or not endpoint.difference:
                return deeper
            return replace(deeper, finding=deeper.finding.of_whole(endpoint.difference))
        said = Conclusion(self.rig, deeper, self._crossed, (), 0.0).headline
        self._notes = [*earlier, _no_commit(deeper, said, before, after)]
        return searched

    def _not_followed(self, searched: Searched, followed: Culprit) -> list[str]:
        """Say of what the shares are, what other releases changed, and how to follow that."""
        names, metric, endpoint = (
            searched.stage.range.names,
            self.rig.metric,
            searched.finding.endpoint,
        )
        others = [c for c in searched.finding.culprits if c is not followed]
        if endpoint is None or len(names) == 1 + followed.after - followed.parent:
            return []
        said = [
            f"The whole difference is that between {names[0]} and {names[-1]}: "
            f"{metric.change(endpoint.difference)}."
        ]
        held, words = searched.stage.held, self._request.words
        words = tuple(w for w in words if w.partition("=")[0] not in ("good", "bad"))
        if held and not any(word.startswith("runtime=") for word in words):
            words += (f"runtime={held}",)
        for other in others:
            before, after = names[other.parent], names[other.after]
            command = " ".join([metric.name, f"good={before}", f"bad={after}", *words])
            said.append(
                f"Between {before} and {after} it changed too, by {metric.change(other.step)} "
                f"({other.share:.0%} of the whole difference); these commits were not searched: "
                f"python -m bisect {command}"
            )
        return said

    def _runtimes(self, crossed: Crossed, exporter: str) -> Searched:
        """Search the runtimes of one torch, on programs of one exporter: the newest."""
        fit = crossed.runtimes
        self._notes.append(
            f"The runtime moved it, between {fit[0]} and {fit[-1]}. Its commits are not searched: "
            "their native code would have to be built one by one."
        )
        bench = self.rig.on_base(self._request.bench)
        runtimes = SearchRange(fit, (), {})
        seen = {r: records for (e, r), records in crossed.records.items() if e == exporter}
        return search(self.rig, Stage("runtimes", runtimes, bench, "runtime", exporter, seen=seen))

    def _commits(self, repository: Repository, found: SearchRange) -> Searched:
        bench, note = self.rig.on_base_of(self._request.bench, found.names[-1])
        self._notes += filter(None, [note, found.note])
        held = ""
        if self.rig.metric.method != "export":
            base = (bench.origin.base or self.rig.base).removeprefix("v")
            held = bench.runtimes[0] if bench.runtimes else f"v{base}"
        return search(self.rig, Stage("commits", found, bench, "exporter", held, repository))


def _no_commit(deeper: Searched, said: str, before: str, after: str) -> str:
    """Say why the commits between two releases do not name one."""
    where = f"between the branch points of {before} and {after}"
    if suspects := deeper.finding.suspects:
        title = deeper.named[suspects[0].index].title
        return (
            f"Among the commits {where} the search points to {title}, which the confirmation did "
            "not bear out."
        )
    if deeper.finding.status == "no_difference":
        said += ". What changed may be on a release branch, or in a dependency"
    return f"{where.capitalize()} on main: {said}."


def resolve_ends(request: BisectRequest, revisions: Revisions) -> BisectRequest:
    """Look up what a request names; return it with every name as the revision it means now.

    Raises:
        RequestError: if a revision does not exist, or can't be had as was asked.
    """
    bench = request.bench
    ends = tuple(end for end in (request.good, request.bad) if end)
    asked = replace(bench, exporters=ends or bench.exporters, methods=("export",), runtimes=None)
    try:
        revisions.resolve_all(asked)
    except RequestError as error:
        # Which of the two it is that has no such commit.
        text = str(error)
        named = [k for k in ("good", "bad") if repr(getattr(request, k)) in text]
        if not named or not text.startswith("commit: "):
            raise
        raise RequestError(f"{named[0]}: {text.removeprefix('commit: ')}") from None
    return request.pinned(lambda name: revisions.resolve(name).name)


def bisect_root() -> Path:
    """Return where bisections are kept: in et-peak's own folder, wherever one starts.

    The environment variable ``ET_PEAK_RESULTS`` moves it.
    """
    own = Path(__file__).resolve().parent.parent / "results"
    return Path(os.environ.get("ET_PEAK_RESULTS", own)) / "bisect"
