"""Carry a plan out: environments, programs, one worker after the other, every end recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from bench import machine
from bench.config import Limits
from bench.environment import Environment, worker_env
from bench.errors import BuildError
from bench.estimate import seconds_of
from bench.measure import WORKER_ROOT, Outcome, run_worker
from bench.plan import Job, Plan
from bench.programs import Program, ProgramStore, program_key
from bench.report.progress import RunProgress
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows, phase_rows
from bench.results.tables import frame, phases_frame, to_csv
from bench.values import format_mb, format_seconds

# glibc reads these at start; one that leaks in from the user's shell would be a different metric.
_ALLOCATOR: dict[str, dict[str, str]] = {
    "default": {},
    "fixed": {"MALLOC_MMAP_THRESHOLD_": "262144"},
}


class Environments(Protocol):
    """Gives the environment of a revision, building it where it must."""

    def get(self, revision: str) -> Environment:
        """Return the environment.

        Raises:
            BuildError: if it can't be built.

        """


class _NoProgramError(Exception):
    """The program a run needs could not be exported; the message says why."""


@dataclass
class Runner:
    """Carries out one plan in one run folder."""

    plan: Plan
    folder: RunFolder
    environments: Environments
    programs: ProgramStore
    limits: Limits
    progress: RunProgress
    known_s: Mapping[str, float]
    _broken: dict[str, str] = field(default_factory=dict)
    """Why a program can't be had, by export key: tried once per run, not once per method."""

    def run(self) -> list[dict[str, Any]]:
        """Measure every job that has no record yet; return all records in the plan's order."""
        records = {record["job_key"]: record for record in self.folder.records()}
        self._remember_failures(records)
        left = [job for job in self.plan.jobs if job.key not in records]
        for number, job in enumerate(left):
            self.progress.begin(job.label, sum(seconds_of(j, self.known_s) for j in left[number:]))
            record = self._measure(job)
            self.folder.append(record)
            records[job.key] = record
            self.progress.end(_summary(job, record))
            self._write_tables(records)
        self._write_tables(records)
        return [records[job.key] for job in self.plan.jobs]

    def _remember_failures(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        for job in self.plan.jobs:
            record = records.get(job.key)
            if record and job.kind == "export" and record["status"] != "ok":
                self._broken[job.export_key] = f"{record['status']}: {record['reason']}"

    def _measure(self, job: Job) -> dict[str, Any]:
        record: dict[str, Any] = {
            "job_key": job.key,
            "cells": [asdict(cell) for cell in job.cells],
            "repeat": job.repeat,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine.label(),
            "memory_cap": self.limits.memory_cap,
            "events": [],
        }
        if job.unsupported:
            return record | {"status": "unsupported", "reason": job.unsupported}
        try:
            exporter = self._environment(job.cells[0].exporter)
            record |= {"exporter_sha": exporter.git_sha}
            environment = exporter if job.kind == "export" else self._environment(job.revision)
        except BuildError as error:
            return record | {"status": "untestable", "reason": str(error)}
        record |= _about(environment)
        if job.kind == "export":
            outcome, program = self._export(job, environment)
        else:
            record["runtime_sha"] = environment.git_sha
            try:
                program = self._program(job, exporter)
            except _NoProgramError as error:
                return record | {"status": "failed", "reason": f"no program to run: {error}"}
            outcome = self._start(job, environment, program.path)
        return record | _about_outcome(outcome) | {"program": program.info if program else None}

    def _program(self, job: Job, exporter: Environment) -> Program:
        """Return the program of a run job, exporting it first where it is not in the store."""
        if job.export_key in self._broken:
            raise _NoProgramError(self._broken[job.export_key])
        found = self.programs.find(self._program_key(job, exporter))
        if found is None:
            export = self.plan.export_of(job)
            self.progress.say(f"exporting the program first: {export.label}")
            outcome, found = self._export(export, exporter)
            if found is None:
                raise _NoProgramError(f"{outcome.status}: {outcome.reason}")
        return found

    def _export(self, job: Job, environment: Environment) -> tuple[Outcome, Program | None]:
        pte = self.programs.incoming()
        try:
            outcome = self._start(job, environment, pte)
            if outcome.status == "ok":
                info = next(e for e in reversed(outcome.events) if e["event"] == "result")
                key = self._program_key(job, environment)
                return outcome, self.programs.keep(key, pte, info)
            self._broken[job.export_key] = f"{outcome.status}: {outcome.reason}"
            return outcome, None
        finally:
            pte.unlink(missing_ok=True)

    def _start(self, job: Job, environment: Environment, program: Path) -> Outcome:
        scratch = self.folder.path / "work" / f"{job.key}-{os.getpid()}"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        env = {k: v for k, v in worker_env(environment).items() if not k.startswith("MALLOC_")}
        try:
            outcome = run_worker(
                environment.python,
                {**job.request, "program": str(program)},
                env=env | _ALLOCATOR[job.cells[0].allocator],
                folder=scratch,
                limits=self.limits,
                on_phase=self.progress.phase,
            )
            if outcome.status != "ok":
                logs = self.folder.path / "logs"
                logs.mkdir(exist_ok=True)
                shutil.copyfile(scratch / "worker.log", logs / f"{job.key}.log")
            return outcome
        finally:
            shutil.rmtree(self.folder.path / "work", ignore_errors=True)

    def _environment(self, revision: str) -> Environment:
        environment = self.environments.get(revision)
        listing = self.folder.path / f"packages-{environment.build_key}.txt"
        if not listing.exists():
            shutil.copyfile(environment.packages, listing)
        return environment

    def _program_key(self, job: Job, environment: Environment) -> str:
        return program_key(job.export_key, environment.build_key, WORKER_ROOT)

    def _write_tables(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        ordered = [records[job.key] for job in self.plan.jobs if job.key in records]
        rows = [row for record in ordered for row in measurement_rows(record)]
        self.folder.write("measurements.csv", to_csv(frame(rows)))
        phases = [row for record in ordered for row in phase_rows(record)]
        self.folder.write("phases.csv", to_csv(phases_frame(phases)))


def _about(environment: Environment) -> dict[str, Any]:
    return {
        "rung": environment.rung,
        "torch": environment.torch,
        "build_key": environment.build_key,
        "packages_hash": environment.packages_hash,
    }


def _about_outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "reason": outcome.reason,
        "events": outcome.events,
        "total_s": outcome.wall_s,
        "rusage_peak_bytes": outcome.rusage_peak_bytes,
        "sampled_peak_bytes": outcome.sampled_peak_bytes,
        "log_tail": outcome.log_tail,
    }


def _summary(job: Job, record: Mapping[str, Any]) -> str:
    """One line on a finished job: its peak above the baseline, or why there is none."""
    if record["status"] != "ok":
        return f"{job.label}: {record['status']}: {record['reason']}"
    row = measurement_rows(record)[-1]
    return (
        f"{job.label}: {format_mb(row.get('peak_delta_bytes'))} MB above the baseline, "
        f"{format_seconds(record['total_s'])}"
    )
