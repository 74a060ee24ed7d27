"""Measures revisions of a range for real, and remembers each measurement on disk."""

from __future__ import annotations

from bisect.companion import COMPANIONS, Companion, choose
from bisect.metrics import METRICS, Metric
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from bench.errors import EtPeakError
from bench.jobs import Job, as_export
from bench.launch.fleet import Fleet
from bench.measure import Outcome
from bench.measurer import How, Measurer
from bench.plan import make_plan
from bench.request import Request
from bench.results.rows import delegation


class NotRecordedError(EtPeakError):
    """A replay asks for a measurement that the bisection did not take."""


class Recorded:
    """Stands for what measures where nothing may be measured."""

    def refuse(self, name: str) -> NoReturn:
        """Say that a run of a revision is missing.

        Raises:
            NotRecordedError: always.
        """
        raise NotRecordedError(f"replay: the search now asks for a run of {name} not recorded")


class RealProber:
    """One metric of one cell, at each revision of a range.

    A record that an earlier start of the same bisection left is used before anything is measured
    anew: so a killed bisection goes on where it was, and measures nothing twice.

    Args:
        names: the revisions of the range, good first, in canonical spelling.
        request: the cell; its exporters and runtimes are replaced.
        sides: gives (exporter, runtime) for a revision; the runtime is None for an export.
        earlier: records of an earlier start, in the order they were taken; those of this stage
            are used.
        companions: whether exact numbers of the program may be searched by.
        fleet: measures in the measurer's place, several side by side; None where it is done here.
        elapsed: seconds that the bisection took up to now, kept with each measurement.
    """

    def __init__(
        self,
        names: Sequence[str],
        metric: Metric,
        request: Request,
        sides: Callable[[str], tuple[str, str | None]],
        measurer: Measurer | Recorded,
        stage: str,
        host: str,
        earlier: Iterable[dict[str, Any]] = (),
        *,
        companions: bool = True,
        fleet: Fleet | None = None,
        elapsed: Callable[[], float] = float,
    ) -> None:
        self._names = names
        self._metric = metric
        self._request = request
        self._sides = sides
        self._measurer = measurer
        self.stage = stage
        self._host = host
        self._companions = companions
        self._fleet = fleet
        self._elapsed = elapsed
        self.records: dict[int, list[dict[str, Any]]] = defaultdict(list)
        """Measurements of the metric, by revision."""
        self.programs: dict[int, dict[str, Any]] = {}
        """Exports that only made a program, by revision."""
        self._left: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for record in earlier:
            if record["stage"] == stage:
                self._left[record["revision"], record["cells"][0]["method"]].append(record)

    @property
    def all_records(self) -> list[dict[str, Any]]:
        """What every process said, programs made for their numbers included."""
        measured = (record for records in self.records.values() for record in records)
        return [*measured, *self.programs.values()]

    @property
    def makes_programs(self) -> bool:
        """Whether the metric is one of running a program, which can be had for less."""
        return self._metric.method != "export"

    def measure(self, indices: Sequence[int]) -> list[float | None]:
        """Take one more measurement of each revision named; None where one can't be measured."""
        taken = Counter[int]()
        asked = []
        for index in indices:
            repeat = len(self.records[index]) + taken[index]
            asked.append((self._names[index], self.job(self._names[index], repeat)))
            taken[index] += 1
        records = self._take(asked, self._metric.method, "measure")
        for index, record in zip(indices, records, strict=True):
            self.records[index].append(record)
        return [self._metric.value(record) for record in records]

    def recorded(self, index: int) -> bool:
        """Say whether a revision's next value is there from an earlier start."""
        return bool(self._left[self._names[index], self._metric.method])

    def failure(self, index: int) -> str:
        """Say how a revision's last measurement failed; empty where there is none."""
        last = self.records[index][-1] if self.records[index] else None
        return f"{last['status']}: {last['reason']}" if last else ""

    def companion(self, low: int, high: int, difference: float) -> Companion | None:
        """Return an exact number of the program that changes between two measured revisions."""
        if not self._companions:
            return None
        return choose(self._numbers(low), self._numbers(high), difference, self._metric.unit)

    def program(self, index: int, name: str) -> float | None:
        """Return an exact number of a revision's program; None where it is not known (yet)."""
        return self._numbers(index).get(name)

    def make_programs(self, indices: Sequence[int]) -> None:
        """Make revisions' programs where the metric is one of running them."""
        names = [self._names[index] for index in indices]
        asked = [(name, as_export(self.job(name, 0))) for name in names]
        self.programs |= zip(indices, self._take(asked, "export", "program"), strict=True)

    def profile(self, name: str, explain: Mapping[str, Any]) -> Outcome:
        """Run a revision's process once more under a profiler; it makes no record.

        Raises:
            EtPeakError: if it can't be run, or may not be.
        """
        if isinstance(self._measurer, Recorded):
            self._measurer.refuse(name)
        return self._measurer.profile(self.job(name, 0), explain)

    def job(self, name: str, repeat: int) -> Job:
        """Return the one process that measures the metric at a revision."""
        exporter, runtime = self._sides(name)
        request = replace(
            self._request,
            exporters=(exporter,),
            runtimes=None if runtime is None else (runtime,),
            repeats=1,
        )
        (job,) = make_plan(request, self._host).jobs
        return replace(job, repeat=repeat)

    def _take(
        self, asked: Sequence[tuple[str, Job]], method: str, how: How
    ) -> list[dict[str, Any]]:
        """Return the next record of each revision: an earlier start's, or a new one, kept.

        Args:
            asked: revisions by name, and what to measure.
            method: of their records.
            how: what the measurer is to do with the job.
        """
        found = [self._left[n, method].pop(0) if self._left[n, method] else None for n, _ in asked]
        new = [one for one, record in zip(asked, found, strict=True) if record is None]
        taken = iter(self._measured(new, how))
        return [next(taken) if record is None else record for record in found]

    def _measured(self, asked: Sequence[tuple[str, Job]], how: How) -> list[dict[str, Any]]:
        """Measure revisions, each kept as soon as it is there; in the order asked."""
        if isinstance(self._measurer, Recorded):
            return [self._measurer.refuse(name) for name, _ in asked]
        names = {job.key: name for name, job in asked}
        records: dict[str, dict[str, Any]] = {}
        taker = self._fleet or self._measurer
        for record in taker.measure_all([job for _, job in asked], how):
            name = names[record["job_key"]]
            record |= {"stage": self.stage, "revision": name, "metric": self._metric.name}
            record["elapsed_s"] = round(self._elapsed(), 1)
            self._measurer.folder.append(record)
            records[record["job_key"]] = record
        return [records[job.key] for _, job in asked]

    def _numbers(self, index: int) -> dict[str, float]:
        """Return the exact numbers of a revision's program, on which all its exports agree."""
        method = None if self._metric.method == "export" else self._metric.method
        records = [*self.records.get(index, ()), *filter(None, [self.programs.get(index)])]
        seen = [delegation(r["program"], method) for r in records if r.get("program")]
        numbers = {}
        for name in COMPANIONS:
            values = {row[METRICS[name].column] for row in seen}
            if len(values) == 1 and None not in values:
                numbers[name] = float(*values)
        return numbers
