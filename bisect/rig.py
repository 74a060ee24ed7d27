"""What the stages of one bisection measure with: its folder, its revisions, where it is shown.

The environment of a probe is made when it is asked for, never beside a measurement. Making those
of both possible next probes ahead would save little: a verdict says which share of its time was
spent outside the workers, and over ExecuTorch's 426 commits that was 1% on a busy machine and
6% on a quiet one, start, builds and verdict together; an overlay takes about half a second.
"""

from __future__ import annotations

from bisect.clock import Clock
from bisect.listener import ConsoleListener
from bisect.metrics import Metric
from bisect.prober import RealProber, Recorded
from bisect.request import BisectRequest
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console

from bench import machine
from bench.compose import default_commit, host
from bench.environment import releases
from bench.errors import BuildError
from bench.launch.fleet import Fleet, memory_budget
from bench.launch.kinds import GROUP, SERIAL, launcher_of
from bench.measurer import Measurer
from bench.needs import peaks
from bench.request import Request
from bench.results.record import RunFolder
from bench.revision import Revisions

Sides = Callable[[str], tuple[str, str | None]]
"""Gives (exporter, runtime) for a revision of a range; the runtime is None for an export."""
DEFAULT_BASE = default_commit()
"""Base of release exporters where none is asked for: its torch is the one to hold still."""


@dataclass
class Rig:
    """Makes the probers of one bisection.

    Attributes:
        replaying: use the recorded values only: nothing is measured, built or written.
        probers: those made so far.
        clock: counts the seconds of all starts of the bisection.
    """

    request: BisectRequest
    revisions: Revisions
    folder: RunFolder
    console: Console
    replaying: bool = False
    probers: list[RealProber] = field(default_factory=list)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self._earlier = self.folder.records()
        self.clock = Clock(self.folder)

    @property
    def metric(self) -> Metric:
        """What is bisected on."""
        return self.request.metric

    @property
    def worker_s(self) -> float:
        """Seconds that workers took, in all starts of this bisection."""
        return sum(
            (record.get("total_s") or 0.0) + (record.get("export_s") or 0.0)
            for record in self.folder.records()
        )

    @property
    def base(self) -> str:
        """The release whose native libraries the exporters get, unless bad takes another."""
        return (self.request.bench.origin.base or DEFAULT_BASE).removeprefix("v")

    def say(self, line: str) -> None:
        """Print a line."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def listener(self, names: Sequence[str], *, in_turn: bool = False) -> ConsoleListener:
        """Make what shows the search of a range, or of names that are run in turn."""
        return ConsoleListener(self.console, names, self.metric, in_turn=in_turn)

    def prober(
        self,
        stage: str,
        names: Sequence[str],
        bench: Request,
        sides: Sides,
        listener: ConsoleListener,
        ends: Sequence[str] = (),
        seen: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    ) -> RealProber:
        """Make what measures the revisions of a stage.

        Args:
            stage: names it in the records.
            names: the revisions of the range, good first.
            bench: the cell and how environments are made.
            sides: what each name is: exporter and runtime.
            listener: is told of builds and phases.
            ends: what is looked up at once; the ends of the range where not given.
            seen: measurements that another stage took of the same, by revision.
        """
        taken = [
            record | {"stage": stage, "revision": name}
            for name, records in (seen or {}).items()
            for record in records
        ]
        prober = RealProber(
            names,
            self.metric,
            bench,
            sides,
            self._measurer(bench, listener, ends or (names[0], names[-1])),
            stage,
            host(),
            [*taken, *self._earlier],
            companions=self.request.companion,
            elapsed=lambda: self.clock.seconds,
            fleet=self._fleet(bench, listener, ends or (names[0], names[-1])),
        )
        self.probers.append(prober)
        listener.source = prober
        return prober

    def _measurer(
        self, bench: Request, listener: ConsoleListener, names: Sequence[str]
    ) -> Measurer | Recorded:
        """Return what measures; the revisions are told the cell and the ends of the range."""
        if self.replaying:
            return Recorded()
        self.revisions.resolve_all(_asked(bench, names))
        self.revisions.say = listener.say
        programs = self.revisions.programs()
        return Measurer(self.folder, self.revisions, programs, bench.limits, listener)

    def _fleet(
        self, bench: Request, listener: ConsoleListener, names: Sequence[str]
    ) -> Fleet | None:
        """Return what measures elsewhere, or side by side; None where all runs here in turn."""
        parallel = self.request.settings.parallel
        words = bench.launch or ((f"{GROUP}=joblib",) if parallel > 1 else ())
        if self.replaying or launcher_of(words) == SERIAL:
            return None
        return Fleet(
            self.folder,
            _asked(bench, names),
            words,
            memory_budget(bench.memory_budget, machine.available_bytes()),
            self.metric.unit == "seconds",
            listener,
            width=parallel,
            apart=True,
            known=peaks(self._earlier),
        )

    def on_base(self, bench: Request) -> Request:
        """Lay releases over one base, so that torch and native code are the same for all."""
        return replace(bench, origin=replace(bench.origin, rung="overlay", base=self.base))

    def on_base_of(self, bench: Request, bad: str) -> tuple[Request, str]:
        """Lay every commit over the base that bad takes, so that none is tried out first.

        One base, and so one torch, for the whole range is also what makes its values comparable.
        Also return a note where that could not be done.
        """
        if self.replaying or bench.origin.base or bench.origin.rung not in ("auto", "overlay"):
            return bench, ""
        self.revisions.resolve_all(replace(bench, exporters=(bad,), runtimes=None))
        self.revisions.say = lambda line: self.say(f"  {line}")
        try:
            base = self.revisions.get(bad, needs="export").base
        except BuildError as error:
            return bench, f"The environment of bad ({bad}) could not be built: {error}"
        kind, _, release = base.rpartition("-")[0].partition("-")
        if kind != "wheel":
            return bench, ""
        return replace(bench, origin=replace(bench.origin, base=f"v{release}")), ""


def _asked(bench: Request, names: Sequence[str]) -> Request:
    """Return the request that tells the revisions of a range what cell they are for."""
    exporters = tuple(dict.fromkeys(names))
    return replace(bench, exporters=exporters, runtimes=None, methods=("export",))


def same_torch(names: Sequence[str], base: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part releases into those of the base's torch, and the others."""
    torch = releases()[base]
    fit = tuple(n for n in names if releases().get(n.removeprefix("v")) == torch)
    return fit or (f"v{base}",), tuple(n for n in names if n not in fit)


def failure(record: dict[str, Any]) -> str:
    """Say how a measurement ended that gave no value."""
    return f"{record['status']}: {record['reason']}"
