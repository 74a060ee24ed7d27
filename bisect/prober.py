"""Measures revisions of a range for real, and remembers each measurement on disk."""

from __future__ import annotations

from bisect.metrics import Metric
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from bench.config import Request
from bench.errors import EtPeakError
from bench.measurer import Measurer
from bench.plan import Job, make_plan


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
    ) -> None:
        self._names = names
        self._metric = metric
        self._request = request
        self._sides = sides
        self._measurer = measurer
        self._stage = stage
        self._host = host
        self.records: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.worker_s = 0.0
        self._left: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in earlier:
            if record["stage"] == stage:
                self._left[record["revision"]].append(record)

    def measure(self, index: int) -> float | None:
        """Take one more measurement of a revision; None where it can't be measured."""
        name = self._names[index]
        if self._left[name]:
            record = self._left[name].pop(0)
        else:
            if isinstance(self._measurer, Recorded):
                self._measurer.refuse(name)
            record = self._measurer.measure(self.job(name, len(self.records[index])))
            record |= {"stage": self._stage, "revision": name, "metric": self._metric.name}
            self._measurer.folder.append(record)
        self.records[index].append(record)
        self.worker_s += record.get("total_s") or 0.0
        return self._metric.value(record)

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
