"""Take one measurement: its environment, its program, its worker; every end is a record."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from bench import machine, told
from bench.disk import DiskError, blames_disk, check_room, writing
from bench.environment import Environment, worker_env
from bench.environment.native import NoRunnerError
from bench.errors import BuildError
from bench.fit import compared_by_default
from bench.ladder import Needs
from bench.measure import WORKER_ROOT, Outcome, Status, run_worker
from bench.plan import Job, as_export
from bench.programs import Program, ProgramStore, program_key
from bench.progress import Progress
from bench.pte import changed
from bench.request import Limits
from bench.results.record import RunFolder, write_whole
from bench.script import unchanged

# Read by glibc, jemalloc and their like at start, or what puts another malloc in glibc's place: one
# that leaks in from the user's shell would be a different metric.
_NOT_THE_SHELLS = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "Malloc")
_ALLOCATOR: dict[str, dict[str, str]] = {
    "default": {},
    "fixed": {"MALLOC_MMAP_THRESHOLD_": "262144"},
}
_SLOWER, _LARGER = 10, 2
"""So many times the person's limits of time and memory are given to a process under a profiler."""

# What a record says of the environment of the process, of the exporter's, and of the end.
_ENVIRONMENT = ("rung", "why", "torch", "build_key", "packages_hash")
_EXPORTER = ("rung", "why", "build_key")
_OUTCOME = ("status", "reason", "events", "rusage_peak_bytes", "sampled_peak_bytes", "log_tail")


How = Literal["measure", "program"]
"""What is wanted of a job: its measurement; or its program alone, which may be there already."""


class Environments(Protocol):
    """Gives the environment of a revision, building it where it must."""

    def get(self, revision: str, *, needs: Needs) -> Environment:
        """Return the environment for one side of a measurement.

        Raises:
            BuildError: if it can't be built.

        """


class _NoProgramError(Exception):
    """The program a run needs can't be had.

    Attributes:
        status: of its export.
        reason: of that status.

    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status: Status = status
        self.reason = reason

    @property
    def of_the_run(self) -> Status:
        """What the run's own cells are.

        What can't be exported here can't be run here either. But a limit that the export went over
        says nothing about the limits of a run: that is failed, for want of a program.
        """
        return self.status if self.status in ("unsupported", "untestable") else "failed"


@dataclass
class Measurer:
    """Measures jobs one by one, each in a fresh process.

    Attributes:
        folder: where packages, logs and scratch files of the run go.
        environments: gives the environment of a revision.
        programs: where exported programs are kept and found again.
        limits: seconds and bytes after which a worker is ended.
        progress: is told what goes on.
    """

    folder: RunFolder
    environments: Environments
    programs: ProgramStore
    limits: Limits
    progress: Progress
    check: str = "off"
    """Whether each program is compared with its model: on, off, or auto (where that is cheap)."""
    timeline: bool = False
    """Whether the RSS of each process is sampled against time."""
    timed: bool = True
    """Whether it runs alone, so that its seconds mean something."""
    broken: dict[str, tuple[Status, str]] = field(default_factory=dict)
    """Why a program can't be had, by export key: tried once per run, not once per method."""

    def remember(self, job: Job, status: Status, reason: str) -> None:
        """Note how the export of a job ended: one that failed is not tried again in this run."""
        if status == "ok":
            self.broken.pop(job.export_key, None)
        else:
            self.broken[job.export_key] = status, reason

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
                exporter = self._environment(job.exporter, "export")
                record |= _told_exporter(exporter)
            environment = exporter or self._environment(job.revision, "run")
            if job.kind == "run" and exporter:
                environment = self._environment(job.revision, "run")
        except BuildError as error:
            return record | {"status": "untestable", "reason": str(error)}
        record |= _told(environment, _ENVIRONMENT)
        if job.kind == "export":
            outcome, program = self._export(job, environment)
        else:
            record["runtime_sha"] = environment.git_sha
            try:
                program, record["export_s"] = self._program(job, exporter)
            except _NoProgramError as error:
                reason = f"no program to run: {error}"
                return record | {"status": error.of_the_run, "reason": reason}
            if job.own_runner:
                record |= told.of_binary(job.own_runner)
            try:
                run = told.of_run(job, environment, program)
            except NoRunnerError as error:
                return record | {"status": "unsupported", "reason": str(error)}
            outcome = self._start(job, environment, program.path, run)
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
        exporter = self._environment(job.cells[0].exporter, "export")
        if job.kind == "export":
            scratch = self.programs.incoming()
            try:
                return self._start(watched, exporter, scratch, {"source": job.source}, limits)
            finally:
                scratch.unlink(missing_ok=True)
        try:
            program, _ = self._program(job, exporter)
        except _NoProgramError as error:
            raise BuildError(f"no program to run: {error}") from error
        environment = self._environment(job.revision, "run")
        return self._start(watched, environment, program.path, told.inputs(job, program), limits)

    def write_inputs(self, job: Job, program: Program, folder: Path) -> Outcome:
        """Have a worker write the inputs of a run job into a folder.

        Raises:
            BuildError: if the environment can't be had.
            DiskError: if a disk is full.

        """
        environment = self._environment(job.exporter or job.revision, "export")
        wanted = replace(job, request={**job.request, "task": "inputs"})
        fed = {**told.inputs(job, program), "folder": str(folder.absolute())}
        return self._start(wanted, environment, program.path, fed)

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
            exporter = self._environment(job.exporter, "export")
        except BuildError:
            return self.measure(job)  # which says so
        record = self._begun(job) | _told_exporter(exporter) | _told(exporter, _ENVIRONMENT)
        try:
            found = self._stored(job, exporter)
        except _NoProgramError as error:
            return record | {"status": error.status, "reason": error.reason}
        if found is None:
            return self.measure(job)
        return record | {"status": "ok", "reason": "exported before", "program": found.info}

    def _program(self, job: Job, exporter: Environment | None) -> tuple[Program, float]:
        """Return the program of a run job, exporting it first where it is not in the store.

        With the seconds that the export took.
        """
        if job.program is not None:
            if other := changed(job.program):
                raise _NoProgramError("failed", other)
            return Program(job.program.path, job.program.info), 0.0
        if exporter is None:
            raise AssertionError(f"{job.label}: neither a program nor an exporter")
        found, seconds = self._stored(job, exporter), 0.0
        if found is None:
            export = as_export(job)
            self.progress.say(f"exporting the program first: {export.label}")
            outcome, found = self._export(export, exporter)
            seconds = outcome.wall_s
            if found is None:
                raise _NoProgramError(outcome.status, outcome.reason)
        return found, seconds

    def _stored(self, job: Job, exporter: Environment) -> Program | None:
        """Find the program of a job, exported before; one that is wrong is none.

        It may have been exported without the comparison that is asked for now: it is made then.

        Raises:
            _NoProgramError: its export failed in this run, or it was compared and is wrong.

        """
        if job.export_key in self.broken:
            raise _NoProgramError(*self.broken[job.export_key])
        key = self._program_key(job, exporter)
        found = self.programs.find(key)
        if (
            found
            and job.source
            and not unchanged(Path(job.source), found.info.get("neighbours", {}))
        ):
            return None
        if found is None or found.info.get("check"):
            return found
        export = as_export(job) if job.kind == "run" else job
        check = self._check(export, exporter, found.path, found.info)
        if wrong := check.get("wrong"):
            self.programs.remove(key)
            self.remember(job, "failed", wrong)
            raise _NoProgramError("failed", wrong)
        if check:
            found = replace(found, info={**found.info, "check": check})
            with contextlib.suppress(DiskError):  # a cache that can only be read
                self.programs.keep(key, found.path, found.info)
        return found

    def _export(self, job: Job, environment: Environment) -> tuple[Outcome, Program | None]:
        key = self._program_key(job, environment)
        pte = self.programs.incoming()
        try:
            outcome = self._start(job, environment, pte, {"source": job.source})
            if outcome.status == "ok":
                info = next(e for e in reversed(outcome.events) if e["event"] == "result")
                info = {**info, "trace": [e for e in outcome.events if e["event"] == "trace"]}
                info["check"] = self._check(job, environment, pte, info)
                if wrong := info["check"].get("wrong"):
                    self.programs.remove(key)
                    outcome = replace(outcome, status="failed", reason=wrong)
            self.remember(job, outcome.status, outcome.reason)
            if outcome.status != "ok":
                return outcome, None
            return outcome, self.programs.keep(key, pte, info)
        finally:
            pte.unlink(missing_ok=True)

    def _check(
        self, job: Job, environment: Environment, program: Path, info: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Compare a program with its model; say how far it is off, why it is wrong, or neither."""
        auto = self.check == "auto" and compared_by_default(job.request, info["pte_bytes"])
        if self.check != "on" and not auto:
            return {}
        self.progress.say(f"comparing the program with its model: {job.label}")
        check = replace(job, request={**job.request, "task": "check"})
        told = {"source": job.source, "inputs": info.get("inputs")}
        outcome = self._start(check, environment, program, told)
        if outcome.status == "ok":
            result = next(e for e in outcome.events if e["event"] == "result")
            return {"errors": result["errors"], "seconds": outcome.wall_s}
        error = next((e for e in outcome.events if e["event"] == "error"), {})
        wrong = error.get("kind") in ("output", "program")
        return {"wrong" if wrong else "note": outcome.reason, "seconds": outcome.wall_s}

    def _start(
        self,
        job: Job,
        environment: Environment,
        program: Path,
        told: Mapping[str, Any],
        limits: Limits | None = None,
    ) -> Outcome:
        """Run the worker of a job, within the person's limits if no others are given.

        Args:
            job: the measurement.
            environment: to run it in.
            program: where the program is, or is to be.
            told: what the worker is told besides its request.
            limits: after which it is ended; None for the person's.

        Raises:
            DiskError: if it failed because a disk was full: that is no finding about its cells.

        """
        scratch = self.folder.path / "work" / f"{job.key}-{os.getpid()}"
        shutil.rmtree(scratch, ignore_errors=True)
        with writing(self.folder.path):
            scratch.mkdir(parents=True)
        inherited = worker_env(environment).items()
        env = {k: v for k, v in inherited if not k.startswith(_NOT_THE_SHELLS)}
        try:
            outcome = run_worker(
                environment.python,
                {**job.request, **told, "program": str(program)},
                env=env | _ALLOCATOR[job.cells[0].allocator],
                folder=scratch,
                limits=limits or self.limits,
                on_phase=self.progress.phase,
                timeline=self.timeline,
            )
            if outcome.status == "failed":
                check_room([scratch, program.parent] if job.kind == "export" else [scratch])
                if line := blames_disk(f"{outcome.reason}\n{outcome.log_tail}"):
                    raise DiskError(f"{line} ({job.label}, writing to {program.parent})")
            if outcome.status != "ok":
                logs = self.folder.path / "logs"
                with writing(self.folder.path):
                    logs.mkdir(exist_ok=True)
                    shutil.copyfile(scratch / "worker.log", logs / f"{job.key}.log")
            return outcome
        finally:
            shutil.rmtree(self.folder.path / "work", ignore_errors=True)

    def _environment(self, revision: str, needs: Needs) -> Environment:
        environment = self.environments.get(revision, needs=needs)
        # An environment that was built anew has the same key, and packages of that day.
        name = f"packages-{environment.build_key}-{environment.packages_hash}.txt"
        listing = self.folder.path / name
        if not listing.exists():
            with writing(self.folder.path):
                write_whole(listing, environment.packages.read_text(encoding="utf-8"))
        return environment

    def _program_key(self, job: Job, environment: Environment) -> str:
        return program_key(job.export_key, environment.build_key, WORKER_ROOT)


def _told(about: Environment | Outcome, fields: Iterable[str]) -> dict[str, Any]:
    """Return some fields of what a record is about, under their own names."""
    return {name: getattr(about, name) for name in fields}


def _sampled(outcome: Outcome) -> int | None:
    results = [event for event in outcome.events if event["event"] == "result"]
    return results[-1].get("sampled_peak_bytes") if results else None


def _told_exporter(exporter: Environment) -> dict[str, Any]:
    told = {f"exporter_{name}": value for name, value in _told(exporter, _EXPORTER).items()}
    return {"exporter_sha": exporter.git_sha, **told}
