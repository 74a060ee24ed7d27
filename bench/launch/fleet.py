"""Measure jobs on other processes or machines; every record once, whatever becomes of a node."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.disk import writing
from bench.errors import EtPeakError, RequestError
from bench.exports import Failures
from bench.jobs import Job
from bench.launch.kinds import KINDS, launcher_of, width_of
from bench.launch.launchers import NodeFailedError, launch
from bench.launch.node import (
    NodeEnvironments,
    Order,
    Report,
    environments_here,
    read_report,
    write_report,
)
from bench.launch.units import Unit, by_program, one_by_one, waves
from bench.measurer import How
from bench.needs import memory_need
from bench.progress import Progress
from bench.request import Request
from bench.results.record import RunFolder

_PARTS = "parts"
_TRIES = 3
_LOOK_S = 0.5


class LostError(EtPeakError):
    """Nodes were lost again and again with what they were to measure. Exit code 3: resumable."""


@dataclass
class Fleet:
    """Hands measurements to a launcher's processes; takes the place of a :class:`Measurer`.

    What a node measured stands in a folder of its own, ``parts/<unit>`` of the run, until it is
    merged: a controller that was killed finds it there when the run is resumed.

    Attributes:
        folder: of the run.
        request: names the revisions, in the spelling that is the same everywhere.
        words: of the command line, which name the launcher and set its fields.
        budget: bytes that processes side by side on this machine may take together.
        timed: whether seconds are wanted; then nothing runs beside another on one machine.
        progress: is told what goes on.
        width: the most processes side by side; None is the launcher's own.
        apart: whether measurements of one program may run at once, as in a bisection's round.
        known: the highest RSS of measurements taken before, by job id.
        arrived: is told of each record as soon as the controller sees it.
        broken: which programs can't be had.
        environments: gives those of a node; for tests.
    """

    folder: RunFolder
    request: Request
    words: tuple[str, ...]
    budget: int
    timed: bool
    progress: Progress
    width: int | None = None
    apart: bool = False
    known: Mapping[str, int] = field(default_factory=dict)
    arrived: Callable[[Mapping[str, Any]], None] = lambda _record: None
    broken: Failures = field(default_factory=Failures)
    environments: Callable[[Request], NodeEnvironments] = environments_here

    def __post_init__(self) -> None:
        self._name = launcher_of(self.words)
        self._kind = KINDS[self._name]
        self._parts = self.folder.path / _PARTS

    @property
    def timeline(self) -> bool:
        """Whether the RSS of each process is sampled against time."""
        return self.request.timeline

    def measure_all(self, jobs: Sequence[Job], how: How = "measure") -> Iterator[dict[str, Any]]:
        """Take measurements; give each one's record once, as soon as its group is done.

        Raises:
            LostError: if nodes are lost again and again.
            EtPeakError: what a node says of what can't be had anywhere, such as a full disk.
        """
        left = {job.key: job for job in jobs}
        units = one_by_one(jobs) if self.apart else by_program(jobs)
        for unit in units:  # of an earlier start
            yield from self._merge(unit, left)
        why = ""
        for more in reversed(range(_TRIES)):
            todo = [unit.without(set(unit_keys(unit)) - left.keys()) for unit in units]
            for group in self._groups([unit for unit in todo if unit.jobs]):
                try:
                    self._launch(group, how)
                except NodeFailedError as error:
                    why = str(error)
                    anew = "; what it was to measure is begun anew" if more else ""
                    self.progress.say(f"lost: {why}{anew}")
                for unit in group:
                    yield from self._merge(unit, left)
            if not left:
                shutil.rmtree(self._parts, ignore_errors=True)
                return
        raise LostError(f"{len(left)} measurements were lost with their nodes ({why})")

    def _groups(self, units: list[Unit]) -> Iterator[list[Unit]]:
        """Give what is handed out at once: all to a cluster, which has its own queue."""
        if not units:
            return
        if not self._kind.local:
            yield units
            return
        yield from waves(
            units,
            self._need,
            width=self.width or width_of(self.words),
            budget=self.budget,
            timed=self.timed,
        )

    def _need(self, job: Job) -> int | None:
        return memory_need(job, self.known)

    def _launch(self, units: Sequence[Unit], how: How) -> None:
        with writing(self._parts):
            self._parts.mkdir(exist_ok=True)
        orders = [self._order(unit, how) for unit in units]
        needs = [_most([self._need(job) for job in unit.jobs]) for unit in units]
        with self._watched(units):
            launch(self._words(len(units)), orders, self._parts, self._note, needs)

    def _order(self, unit: Unit, how: How) -> Order:
        keys = {job.export_key for job in unit.jobs}
        return Order(
            unit,
            self.request,
            str(self._part(unit.key).path.absolute()) if self._kind.shared_disk else None,
            how,
            self.timed,
            {key: why for key, why in self.broken.items() if key in keys},
            os.getpid() if self._kind.local else None,
            self.environments,
        )

    def _words(self, processes: int) -> list[str]:
        """Return the launcher's words, with as many processes as are handed out.

        At least two: joblib takes one to be this very process.
        """
        other = [word for word in self.words if not word.startswith("hydra.launcher.n_jobs=")]
        width = [f"hydra.launcher.n_jobs={max(2, processes)}"] if self._name == "joblib" else []
        return [*other, *width]

    def _part(self, unit: str) -> RunFolder:
        return RunFolder(self._parts / unit)

    def _note(self, report: Report) -> None:
        """Keep a report of a node that shares no disk with us."""
        if not self._kind.shared_disk:
            write_report(report, self._part(report.unit))

    def _merge(self, unit: Unit, left: dict[str, Job]) -> Iterator[dict[str, Any]]:
        """Give the records of a unit that are still wanted; its files go to the run's folder."""
        part = self._part(unit.key)
        report = read_report(unit.key, part)
        for name, text in report.files.items():
            if not (self.folder.path / name).exists():
                self.folder.write(name, text)
        for record in report.records:
            if left.pop(record["job_key"], None) is not None:
                yield record
        if not left.keys() & unit_keys(unit):
            shutil.rmtree(part.path, ignore_errors=True)

    @contextmanager
    def _watched(self, units: Sequence[Unit]) -> Iterator[None]:
        """Tell of each record while the launcher has us wait for all of them."""
        over, told = threading.Event(), set[str]()
        for unit in units:
            told |= {record["job_key"] for record in self._part(unit.key).records()}

        def look() -> None:
            for unit in units:
                for record in self._part(unit.key).records():
                    if record["job_key"] not in told:
                        told.add(record["job_key"])
                        self.arrived(record)

        def watch() -> None:
            while not over.wait(_LOOK_S):
                look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            look()


def take_in(run: RunFolder) -> None:
    """Keep in a run what nodes had measured when an earlier start of it was ended.

    Whatever measures the rest. What a node is at work in stays: jobs of Slurm outlive a controller.

    Raises:
        DiskError: if it can't be written; it is in the nodes' folders still.
    """
    parts, idle = run.path / _PARTS, True
    with ExitStack() as held:
        for path in sorted(parts.glob("[!.]*/")):  # submitit's own begins with a dot
            part = RunFolder(path)
            try:
                held.enter_context(part.lock())
            except RequestError:
                idle = False
            write_report(read_report(part.id, part), run)
        if idle:
            shutil.rmtree(parts, ignore_errors=True)


def unit_keys(unit: Unit) -> set[str]:
    """Return the keys of a unit's jobs."""
    return {job.key for job in unit.jobs}


def _most(needs: Sequence[int | None]) -> int | None:
    known = [need for need in needs if need is not None]
    return max(known) if known and len(known) == len(needs) else None


def memory_budget(given: int | None, available: int) -> int:
    """Return the bytes that processes side by side may take: four fifths where nothing is given."""
    return given if given is not None else available * 4 // 5
