"""Take one measurement: its environment, its program, its worker; every end is a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bench import machine, told
from bench.environment import Environment
from bench.environment.native import NoRunnerError
from bench.errors import BuildError
from bench.exports import Exports, NoProgramError
from bench.jobs import Job
from bench.measure import Outcome
from bench.programs import Program
from bench.request import Limits

_SLOWER, _LARGER = 10, 2
"""So many times the person's limits of time and memory are given to a process under a profiler."""

# What a record says of the environment of the process, of the exporter's, and of the end.
_ENVIRONMENT = ("rung", "why", "torch", "build_key", "packages_hash")
_EXPORTER = ("rung", "why", "build_key")
_OUTCOME = ("status", "reason", "events", "rusage_peak_bytes", "sampled_peak_bytes", "log_tail")


How = Literal["measure", "program"]
"""What is wanted of a job: its measurement; or its program alone, which may be there already."""


@dataclass
class Measurer(Exports):
    """Measures jobs one by one, each in a fresh process."""

    timed: bool = True
    """Whether it runs alone, so that its seconds mean something."""

    def measure_all(self, jobs: Iterable[Job], how: How = "measure") -> Iterator[dict[str, Any]]:
        """Take measurements one after the other; give each one's record as soon as it is there.

        Raises:
            DiskError: if nothing can be said of the cells, as a disk was full.

        """
        for job in jobs:
            yield self.measure(job) if how == "measure" else self.program(job)

    def measure(self, job: Job) -> dict[str, Any]:
        """Take one measurement and return its record, however it ended.

        Raises:
            DiskError: if nothing can be said of the cells, as a disk was full.

        """
        record = self._begun(job)
        if job.unsupported:
            return record | {"status": "unsupported", "reason": job.unsupported}
        exporter: Environment | None = None
        try:
            if job.exporter is not None:
                exporter = self.environment(job.exporter, "export")
                record |= _told_exporter(exporter)
            environment = exporter or self.environment(job.revision, "run")
            if job.kind == "run" and exporter:
                environment = self.environment(job.revision, "run")
        except BuildError as error:
            return record | {"status": "untestable", "reason": str(error)}
        record |= _told(environment, _ENVIRONMENT)
        if job.kind == "export":
            outcome, program = self.export(job, environment)
        else:
            record["runtime_sha"] = environment.git_sha
            try:
                program, record["export_s"] = self.program_of(job, exporter)
            except NoProgramError as error:
                reason = f"no program to run: {error}"
                return record | {"status": error.of_the_run, "reason": reason}
            if job.own_runner:
                record |= told.of_binary(job.own_runner)
            try:
                run = told.of_run(job, environment, program)
            except NoRunnerError as error:
                return record | {"status": "unsupported", "reason": str(error)}
            outcome = self.start(job, environment, program.path, run)
        record |= _told(outcome, _OUTCOME)
        if outcome.timeline:
            record["timeline"] = [list(point) for point in outcome.timeline]
        if job.own_runner:  # the leader only watched it
            record |= {"rusage_peak_bytes": None, "sampled_peak_bytes": _sampled(outcome)}
        return record | {"total_s": outcome.wall_s, "program": program.info if program else None}

    def profile(self, job: Job, explain: Mapping[str, Any]) -> Outcome:
        """Run a job's process once more under a profiler (see ``et_worker.highwater``).

        It is slower and larger than the process it explains: how it ends makes no record, its
        program is thrown away, and the limits are wider.

        Args:
            job: what is to be explained.
            explain: what the worker is told of the profiler.

        Raises:
            BuildError: if the environment, or the program that a run needs, can't be had.
        """
        if job.cells[0].runner not in ("", "python"):
            raise BuildError(f"memray watches Python's runner, not {job.cells[0].runner}")
        watched = replace(job, request={**job.request, "explain": explain})
        cap = self.limits.memory_cap
        limits = Limits(_SLOWER * self.limits.timeout_s, cap and _LARGER * cap)
        exporter = self.environment(job.cells[0].exporter, "export")
        if job.kind == "export":
            scratch = self.programs.incoming()
            try:
                return self.start(watched, exporter, scratch, {"source": job.source}, limits)
            finally:
                scratch.unlink(missing_ok=True)
        try:
            program, _ = self.program_of(job, exporter)
        except NoProgramError as error:
            raise BuildError(f"no program to run: {error}") from error
        environment = self.environment(job.revision, "run")
        return self.start(watched, environment, program.path, told.inputs(job, program), limits)

    def write_inputs(self, job: Job, program: Program, folder: Path) -> Outcome:
        """Have a worker write the inputs of a run job into a folder.

        Raises:
            BuildError: if the environment can't be had.
            DiskError: if a disk is full.

        """
        environment = self.environment(job.exporter or job.revision, "export")
        wanted = replace(job, request={**job.request, "task": "inputs"})
        fed = {**told.inputs(job, program), "folder": str(folder.absolute())}
        return self.start(wanted, environment, program.path, fed)

    def _begun(self, job: Job) -> dict[str, Any]:
        return {
            "job_key": job.key,
            "cells": [asdict(cell) for cell in job.cells],
            "repeat": job.repeat,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine.label(),
            "memory_cap": self.limits.memory_cap,
            "timed": self.timed,
            "events": [],
        }

    def program(self, job: Job) -> dict[str, Any]:
        """Return the record of an export: an empty one with its program, where that is stored.

        Raises:
            DiskError: if nothing can be said of it, as a disk was full.

        """
        if job.exporter is None or job.unsupported:
            return self.measure(job)
        try:
            exporter = self.environment(job.exporter, "export")
        except BuildError:
            return self.measure(job)  # which says so
        record = self._begun(job) | _told_exporter(exporter) | _told(exporter, _ENVIRONMENT)
        try:
            found = self.stored(job, exporter)
        except NoProgramError as error:
            return record | {"status": error.status, "reason": error.reason}
        if found is None:
            return self.measure(job)
        return record | {"status": "ok", "reason": "exported before", "program": found.info}


def _told(about: Environment | Outcome, fields: Iterable[str]) -> dict[str, Any]:
    """Return some fields of what a record is about, under their own names."""
    return {name: getattr(about, name) for name in fields}


def _sampled(outcome: Outcome) -> int | None:
    results = [event for event in outcome.events if event["event"] == "result"]
    return results[-1].get("sampled_peak_bytes") if results else None


def _told_exporter(exporter: Environment) -> dict[str, Any]:
    told = {f"exporter_{name}": value for name, value in _told(exporter, _EXPORTER).items()}
    return {"exporter_sha": exporter.git_sha, **told}
