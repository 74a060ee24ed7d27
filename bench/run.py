"""Carry a plan out: one measurement after the other, every record kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.estimate import seconds_left
from bench.jobs import Job, Plan
from bench.launch.fleet import Fleet
from bench.measurer import Measurer
from bench.report.progress import RunProgress
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows, phase_rows, timeline_rows
from bench.results.schema import TIMELINE
from bench.results.tables import frame, phases_frame, to_csv
from bench.values import format_mb, format_seconds


@dataclass
class Runner:
    """Carries out one plan in one run folder: here one by one, or on what a launcher gives."""

    plan: Plan
    folder: RunFolder
    measurer: Measurer | Fleet
    progress: RunProgress
    known_s: Mapping[str, float]

    def run(self) -> list[dict[str, Any]]:
        """Measure every job that has no record yet; return all records in the plan's order."""
        records = {record["job_key"]: record for record in self.folder.records()}
        self._remember_failures(records)
        left = [job for job in self.plan.jobs if job.key not in records]
        taken = self._here(left) if isinstance(self.measurer, Measurer) else self._away(left)
        for record in taken:
            self.folder.append(record)
            records[record["job_key"]] = record
            self._write_tables(records)
        self._write_tables(records)
        return [records[job.key] for job in self.plan.jobs]

    def _here(self, left: Sequence[Job]) -> Iterator[dict[str, Any]]:
        met = self.plan.exports_of({job.key for job in self.plan.jobs} - {job.key for job in left})
        for number, job in enumerate(left):
            self.progress.begin(job.label, seconds_left(left[number:], self.known_s, met))
            met.add(job.export_key)
            for record in self.measurer.measure_all([job]):
                yield record
                self.progress.end(_summary(job, record))

    def _away(self, left: Sequence[Job]) -> Iterator[dict[str, Any]]:
        jobs = {job.key: job for job in left}

        def arrived(record: Mapping[str, Any]) -> None:
            if job := jobs.get(record["job_key"]):
                self.progress.arrived(_summary(job, record))

        if isinstance(self.measurer, Fleet):
            self.measurer.arrived = arrived
        yield from self.measurer.measure_all(left)

    def _remember_failures(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        for job in self.plan.jobs:
            record = records.get(job.key)
            if record and job.kind == "export":
                self.measurer.broken.remember(job, record["status"], record["reason"])

    def _write_tables(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        ordered = [records[job.key] for job in self.plan.jobs if job.key in records]
        rows = [row for record in ordered for row in measurement_rows(record)]
        self.folder.write("measurements.csv", to_csv(frame(rows)))
        phases = [row for record in ordered for row in phase_rows(record)]
        self.folder.write("phases.csv", to_csv(phases_frame(phases)))
        if self.measurer.timeline:
            times = [row for record in ordered for row in timeline_rows(record)]
            self.folder.write("timeline.csv", to_csv(frame(times, TIMELINE)))


def _summary(job: Job, record: Mapping[str, Any]) -> str:
    """One line on a finished job: its peak above the baseline, or why there is none."""
    if record["status"] != "ok":
        return f"{job.label}: {record['status']}: {record['reason']}"
    row = measurement_rows(record)[-1]
    took = f", {format_seconds(record['total_s'])}" if record.get("timed", True) else ""
    above = row.get("peak_delta_bytes")
    total = f"{format_mb(row.get('peak_bytes'))} MB in all"
    peak = total if above is None else f"{format_mb(above)} MB above the baseline"
    return f"{job.label}: {peak}{took}"
