"""Measures revisions of a range for real, and remembers each measurement on disk."""

from __future__ import annotations

from bisect.companion import COMPANIONS, Companion, choose
from bisect.metrics import METRICS, Metric
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from bench.errors import EtPeakError
from bench.measure import Outcome
from bench.measurer import Measurer
from bench.plan import Job, as_export, make_plan
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
    ) -> None:
        self._names = names
        self._metric = metric
        self._request = request
        self._sides = sides
        self._measurer = measurer
        self.stage = stage
        self._host = host
        self._companions = companions
        self.records: dict[int, list[dict[str, Any]]] = defaultdict(list)
        """Measurements of the metric, by revision."""
        self.programs: dict[int, dict[str, Any]] = {}
        """Exports that only made a program, by revision."""
        self.worker_s = 0.0
        """Seconds that workers took since this start."""
        self._left: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for record in earlier:
            if record["stage"] == stage:
                self._left[record["revision"], record["cells"][0]["method"]].append(record)

    @property
    def all_records(self) -> list[dict[str, Any]]:
        """What every process said, programs made for their numbers included."""
        measured = (record for records in self.records.values() for record in records)
        return [*measured, *self.programs.values()]

    def measure(self, index: int) -> float | None:
        """Take one more measurement of a revision; None where it can't be measured."""
        name = self._names[index]
        repeat = len(self.records[index])
        record = self._take(name, self._metric.method, lambda m: m.measure(self.job(name, repeat)))
        self.records[index].append(record)
        return self._metric.value(record)

    def companion(self, low: int, high: int, difference: float) -> Companion | None:
        """Return an exact number of the program that changes between two measured revisions."""
        if not self._companions:
            return None
        return choose(self._numbers(low), self._numbers(high), difference, self._metric.unit)

    def program(self, index: int, name: str) -> float | None:
        """Return an exact number of a revision's program; None where it is not known (yet)."""
        return self._numbers(index).get(name)

    def make_program(self, index: int) -> bool:
        """Make a revision's program where the metric is one of running it."""
        if self._metric.method == "export":
            return False
        name = self._names[index]
        self.programs[index] = self._take(
            name, "export", lambda m: m.program(as_export(self.job(name, 0)))
        )
        return True

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
        self, name: str, method: str, measure: Callable[[Measurer], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the next record of a revision: an earlier start's, or a new one, kept."""
        if self._left[name, method]:
            return self._left[name, method].pop(0)
        if isinstance(self._measurer, Recorded):
            self._measurer.refuse(name)
        record = measure(self._measurer)
        self.worker_s += (record.get("total_s") or 0.0) + (record.get("export_s") or 0.0)
        record |= {"stage": self.stage, "revision": name, "metric": self._metric.name}
        self._measurer.folder.append(record)
        return record

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
