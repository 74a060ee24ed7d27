"""A bisection from its request to its verdict: releases, sides, commits."""

from __future__ import annotations

import json
import os
import sys
import time
from bisect.driver import Bisection
from bisect.finding import Finding
from bisect.listener import ConsoleListener
from bisect.metrics import Metric
from bisect.prober import RealProber, Recorded
from bisect.problem import Problem, relevance_prior
from bisect.ranges import (
    SearchRange,
    between_releases,
    commit_range,
    details,
    name_all,
    release_range,
)
from bisect.request import BisectRequest
from bisect.sides import Crossing, Side, effects, side_to_search
from bisect.verdict import Context, as_json, as_markdown
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown

from bench import machine
from bench.config import Request, default_commit, host
from bench.environment import releases
from bench.errors import BuildError, Exit, RequestError
from bench.measurer import Measurer
from bench.repository import Repository
from bench.results.record import RunFolder
from bench.revision import Revisions
from bench.revision.relevance import files_read, relevant

_BASE = default_commit()
"""Base of release exporters where none is asked for: its torch is the one to hold still."""
Sides = Callable[[str], tuple[str, str | None]]
_BUILT = ("nightly", "source")
"""Rungs whose native code is the commit's own: what is read does not tell what matters there."""


@dataclass
class BisectSession:
    """One bisection in one folder under ``results/bisect/``.

    Attributes:
        replaying: use the recorded values only: nothing is measured, built or written.
        verdict: content of verdict.json, once there is one.
    """

    request: BisectRequest
    revisions: Revisions
    folder: RunFolder
    console: Console
    replaying: bool = False

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._earlier = self.folder.records()
        self._worker_s = 0.0
        self._notes: list[str] = []
        self._varied: Side = "exporter"
        self._held = ""
        self._moved: Side | None = None
        self.verdict: dict[str, Any] = {}

    @property
    def _metric(self) -> Metric:
        return self.request.metric

    def run(self) -> int:
        """Search to a verdict, write it, show it; return the exit code.

        Raises:
            RequestError: if good or bad is no revision, or there is nothing between them.
            NotRecordedError: if a replay asks for what was not measured.
        """
        good, bad = self._endpoints()
        if good is None or bad is None:
            finding, context = self._commits(*self._given_commits())
        else:
            finding, context = self._releases(release_range(good, bad))
        return self._conclude(finding, context)

    def _endpoints(self) -> tuple[str | None, str | None]:
        """Return good and bad as releases; None for both where they are commits."""
        if self.request.good is None or self.request.bad is None:
            found = release_range(None, None).names
            return found[0].removeprefix("v"), found[-1].removeprefix("v")
        ends = [self.revisions.resolve(n) for n in (self.request.good, self.request.bad)]
        if all(end.release for end in ends):
            return ends[0].release, ends[1].release
        return None, None

    def _given_commits(self) -> tuple[Repository, SearchRange]:
        repository = self.revisions.repository()
        shas = []
        for name, text in (("good", self.request.good), ("bad", self.request.bad)):
            revision = self.revisions.resolve(str(text))
            if revision.kind == "working_tree" or revision.sha is None:
                raise RequestError(f"{name}: {text!r} is no commit of {repository.label}")
            shas.append(revision.sha)
        return repository, commit_range(repository, *shas)

    def _releases(self, stage: SearchRange) -> tuple[Finding, Context]:
        """Search the releases, their exporters on one torch; then the commits in between."""
        bench = self.request.bench
        base = (bench.origin.base or _BASE).removeprefix("v")
        origin = replace(bench.origin, rung="overlay", base=base)
        sides: Sides = lambda name: (name, None)  # noqa: E731
        if self._metric.method != "export":
            if bench.runtimes:
                self._held = bench.runtimes[0]
            else:
                fit = self._runtimes(stage, base)
                self._held = fit[-1]
                self._cross(stage, replace(bench, origin=origin), (fit[0], fit[-1]))
                if self._moved == "runtime":
                    return self._search_runtimes(stage, replace(bench, origin=origin), fit)
            runtime = self._held
            sides = lambda name: (name, runtime)  # noqa: E731
        over_base = replace(bench, origin=origin)
        finding, context = self._search("releases", stage, over_base, sides, None)
        if not finding.culprits:
            return finding, context
        culprit = finding.culprits[0]
        pair = (stage.names[culprit.index - 1], stage.names[culprit.index])
        self.console.print(f"between {pair[0]} and {pair[1]}; now the commits", highlight=False)
        try:
            repository = self.revisions.repository()
            commits = between_releases(repository, *pair)
        except RequestError as error:
            note = f"The commits between {pair[0]} and {pair[1]} were not searched: {error}"
            return finding, replace(context, notes=(*context.notes, note))
        found, where = self._commits(repository, commits)
        if found.culprits:
            return found, where
        note = (
            f"Between the branch points of {pair[0]} and {pair[1]} on main the search ended "
            f"with: {found.status}. What changed may be on a release branch, or in a dependency."
        )
        if found.suspects:
            title = where.revisions[found.suspects[0].index].title
            note = (
                f"Among the commits between the branch points of {pair[0]} and {pair[1]} the "
                f"search points to {title}, which the confirmation did not bear out."
            )
        return finding, replace(context, notes=(*context.notes, note))

    def _search_runtimes(
        self, stage: SearchRange, bench: Request, fit: tuple[str, ...]
    ) -> tuple[Finding, Context]:
        """Search the runtimes of one torch, on programs of one exporter: the newest."""
        exporter = stage.names[-1]
        self._varied, self._held = "runtime", exporter
        self._notes.append(
            f"The runtime moved it, between {fit[0]} and {fit[-1]}. Its commits are not searched: "
            "their native code would have to be built one by one."
        )
        runtimes = SearchRange(fit, (), {})
        return self._search("runtimes", runtimes, bench, lambda name: (exporter, name), None)

    def _runtimes(self, stage: SearchRange, base: str) -> tuple[str, ...]:
        """Return the runtimes in the range that share the base's torch, oldest first."""
        torch = releases()[base]
        fit = [n for n in stage.names if releases().get(n.removeprefix("v")) == torch]
        left_out = [n for n in stage.names if n not in fit]
        if left_out:
            self._notes.append(
                f"Runtimes of {', '.join(left_out)} were not crossed: they need another torch "
                f"than {torch}, which was held still."
            )
        return tuple(fit) or (f"v{base}",)

    def _cross(self, stage: SearchRange, bench: Request, runtimes: tuple[str, str]) -> None:
        """Measure the crossings of old and new: which side moved it, where they tell."""
        old, new = runtimes
        if old == new:
            return
        ends: dict[Crossing, tuple[str, str]] = {
            (e, r): (stage.names[0 if e == "old" else -1], old if r == "old" else new)
            for e in ("old", "new")
            for r in ("old", "new")
        }
        names = [f"{exporter} on {runtime}" for exporter, runtime in ends.values()]
        by_name = dict(zip(names, ends.values(), strict=True))
        listener = ConsoleListener(self.console, names, self._metric)
        measurer = self._measurer(bench, listener, [e for pair in ends.values() for e in pair])
        prober = RealProber(
            names, self._metric, bench, lambda n: by_name[n], measurer, "crossings", host(),
            self._earlier,
        )  # fmt: skip
        values: dict[Crossing, list[float]] = {key: [] for key in ends}
        with listener:
            listener.stage("exporter or runtime: old and new of both")
            for run in range(max(2, self.request.settings.repeats)):
                for number, key in enumerate(ends):
                    listener.probing(number, run + 1, self.request.settings.repeats)
                    value = prober.measure(number)
                    listener.measured(number, value)
                    if value is None:
                        why = prober.records[number][-1]["reason"]
                        self._notes.append(f"Not crossed: {names[number]}: {why}")
                        self._worker_s += prober.worker_s
                        return
                    values[key].append(value)
        self._worker_s += prober.worker_s
        found = effects(values)
        for effect in found:
            low, high = (self._metric.show(v) for v in effect.interval)
            self._notes.append(
                f"From old to new, the {effect.side} changes it by "
                f"{self._metric.show(effect.size)} (95%: {low} to {high})."
            )
        self._moved = side_to_search(found, self.request.settings.floor)

    def _commits(self, repository: Repository, stage: SearchRange) -> tuple[Finding, Context]:
        bench = self._one_base(self.request.bench, stage)
        sides: Sides = lambda name: (name, None)  # noqa: E731
        if self._metric.method != "export":
            base = (bench.origin.base or _BASE).removeprefix("v")
            runtime = bench.runtimes[0] if bench.runtimes else f"v{base}"
            sides = lambda name: (name, runtime)  # noqa: E731
            self._held = runtime
        if stage.note:
            self._notes.append(stage.note)
        return self._search("commits", stage, bench, sides, repository)

    def _one_base(self, bench: Request, stage: SearchRange) -> Request:
        """Lay every commit over the base that bad takes, so that none is tried out first.

        One base, and so one torch, for the whole range is also what makes its values comparable.
        """
        if self.replaying or bench.origin.base or bench.origin.rung not in ("auto", "overlay"):
            return bench
        bad = stage.names[-1]
        self.revisions.resolve_all(replace(bench, exporters=(bad,), runtimes=None))
        self.revisions.say = lambda line: self.console.print(f"  {line}", highlight=False)
        try:
            base = self.revisions.get(bad, needs="export").base
        except BuildError as error:
            self._notes.append(f"The environment of bad ({bad}) could not be built: {error}")
            return bench
        kind, _, release = base.rpartition("-")[0].partition("-")
        if kind != "wheel":
            return bench
        return replace(bench, origin=replace(bench.origin, base=f"v{release}"))

    def _search(
        self,
        name: str,
        stage: SearchRange,
        bench: Request,
        sides: Sides,
        repository: Repository | None,
    ) -> tuple[Finding, Context]:
        last = len(stage.names) - 1
        self.console.print(
            f"{name}: {last} candidates between {stage.names[0]} and {stage.names[-1]}",
            highlight=False,
        )
        listener = ConsoleListener(self.console, stage.names, self._metric)
        measurer = self._measurer(bench, listener, [stage.names[0], stage.names[-1]])
        prober = RealProber(
            stage.names, self._metric, bench, sides, measurer, name, host(), self._earlier
        )
        shown: set[int] = set()

        def narrow() -> tuple[float, ...]:
            wanted = self._relevant(stage, prober)
            if len(wanted) not in shown:
                shown.add(len(wanted))
                listener.say(f"  {len(wanted)} of {last} candidates touch a file that was read")
            return relevance_prior(last, wanted)

        told = _Told(prober, listener)
        problem = Problem(last, exact=self._metric.exact)
        narrows = self.request.relevance and stage.changes and bench.origin.rung not in _BUILT
        use = narrow if narrows else None
        with listener:
            bisection = Bisection(problem, told, self.request.settings, listener, use)
            finding = bisection.run()
        self._worker_s += prober.worker_s
        wanted = self._relevant(stage, prober) if use else list(range(1, last + 1))
        named = name_all(repository, stage)
        if repository is not None:
            for culprit in (*finding.culprits, *finding.suspects):
                for index in {culprit.index, *culprit.verdict.credible_set}:
                    named[index] = details(repository, named[index])
        why = "they touch a file that the measured process read" if use else "no narrowing"
        return finding, self._context(named, len(wanted), why, prober, bench)

    def _relevant(self, stage: SearchRange, prober: RealProber) -> list[int]:
        """Return the candidates that can matter: all, once native code was built of a commit."""
        records = [r for records in prober.records.values() for r in records]
        if any((r.get("exporter_rung") or r.get("rung")) in _BUILT for r in records):
            return list(range(1, len(stage.names)))
        read = files_read(records)
        return relevant(stage.changes, stage.shas[1:], read)

    def _measurer(
        self, bench: Request, listener: ConsoleListener, names: list[str]
    ) -> Measurer | Recorded:
        """Return what measures; the revisions are told the cell and the ends of the range."""
        if self.replaying:
            return Recorded()
        asked = replace(bench, exporters=tuple(dict.fromkeys(names)), runtimes=None)
        self.revisions.resolve_all(replace(asked, methods=("export",)))
        self.revisions.say = listener.say
        programs = self.revisions.programs()
        return Measurer(self.folder, self.revisions, programs, bench.limits, listener)

    def _context(
        self, named: list[Any], wanted: int, why: str, prober: RealProber, bench: Request
    ) -> Context:
        record = next((r for rs in prober.records.values() for r in rs if r.get("torch")), {})
        words = " ".join(self.request.words)
        return Context(
            metric=self._metric,
            revisions=named,
            relevant=wanted,
            why_relevant=why,
            varied=self._varied,
            held=self._held,
            moved=self._moved,
            cell=_cell_of(record),
            records=dict(prober.records),
            command=f"python -m bisect {self._metric.name} {words}".strip(),
            wall_s=time.monotonic() - self._began,
            worker_s=self._worker_s,
            environment=f"{machine.label()}; torch {record.get('torch', '?')}; "
            f"rung {record.get('rung', '?')}; allocator {bench.allocator}",
            confidence=self.request.settings.confidence,
            notes=tuple(self._notes),
        )

    def _conclude(self, finding: Finding, context: Context) -> int:
        self.verdict, text = as_json(finding, context), as_markdown(finding, context)
        if not self.replaying:
            self.folder.write("verdict.json", json.dumps(self.verdict, indent=2) + "\n")
            self.folder.write("verdict.md", text)
        if self.console.is_terminal:
            self.console.print(Markdown(text))
        else:
            print(text)
        if not self.replaying:
            print(f"{self.folder.path}/verdict.md, verdict.json", file=sys.stderr)
        match finding.status:
            case "found" | "narrowed":
                return Exit.FOUND
            case "unmeasurable":
                return Exit.BAD_REQUEST
            case _:
                return Exit.UNDECIDED


class _Told:
    """A prober whose measurements the listener is told."""

    def __init__(self, prober: RealProber, listener: ConsoleListener) -> None:
        self._prober = prober
        self._listener = listener

    def measure(self, index: int) -> float | None:
        value = self._prober.measure(index)
        self._listener.measured(index, value)
        return value


def _cell_of(record: dict[str, Any]) -> dict[str, Any]:
    cells = record.get("cells") or [{}]
    return {k: v for k, v in cells[-1].items() if k not in ("key", "exporter")}


def resolve_ends(request: BisectRequest, revisions: Revisions) -> BisectRequest:
    """Look up what a request names; return it with every name as the revision it means now.

    Raises:
        RequestError: if a revision does not exist, or can't be had as was asked.
    """
    bench = request.bench
    ends = tuple(end for end in (request.good, request.bad) if end)
    asked = replace(bench, exporters=ends or bench.exporters, methods=("export",), runtimes=None)
    revisions.resolve_all(asked)
    return request.pinned(lambda name: revisions.resolve(name).name)


def bisect_root() -> Path:
    """Return where bisections are kept: in et-peak's own folder, wherever one starts.

    The environment variable ``ET_PEAK_RESULTS`` moves it.
    """
    own = Path(__file__).resolve().parent.parent / "results"
    return Path(os.environ.get("ET_PEAK_RESULTS", own)) / "bisect"
