"""Carry a plan out: one measurement after the other, every record kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.estimate import seconds_of
from bench.measurer import Measurer
from bench.plan import Job, Plan
from bench.report.progress import RunProgress
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows, phase_rows, timeline_rows
from bench.results.schema import TIMELINE
from bench.results.tables import frame, phases_frame, to_csv
from bench.values import format_mb, format_seconds


@dataclass
class Runner:
    """Carries out one plan in one run folder."""

    plan: Plan
    folder: RunFolder
    measurer: Measurer
    progress: RunProgress
    known_s: Mapping[str, float]

    def run(self) -> list[dict[str, Any]]:
        """Measure every job that has no record yet; return all records in the plan's order."""
        records = {record["job_key"]: record for record in self.folder.records()}
        self._remember_failures(records)
        left = [job for job in self.plan.jobs if job.key not in records]
        for number, job in enumerate(left):
            self.progress.begin(job.label, sum(seconds_of(j, self.known_s) for j in left[number:]))
            record = self.measurer.measure(job)
            self.folder.append(record)
            records[job.key] = record
            self.progress.end(_summary(job, record))
            self._write_tables(records)
        self._write_tables(records)
        return [records[job.key] for job in self.plan.jobs]

    def _remember_failures(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        for job in self.plan.jobs:
            record = records.get(job.key)
            if record and job.kind == "export":
                self.measurer.remember(job, record["status"], record["reason"])

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
    return (
        f"{job.label}: {format_mb(row.get('peak_delta_bytes'))} MB above the baseline, "
        f"{format_seconds(record['total_s'])}"
    )
