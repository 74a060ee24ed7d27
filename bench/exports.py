"""The programs that runs need: found in the store, or exported first; none that is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.disk import DiskError
from bench.environment import Environment
from bench.fit import compared_by_default
from bench.jobs import Job, as_export
from bench.measure import WORKER_ROOT, Outcome, Status
from bench.programs import Program, program_key
from bench.pte import changed
from bench.script import unchanged
from bench.workplace import Workplace


class NoProgramError(Exception):
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


class Failures(dict[str, tuple[Status, str]]):
    """Why programs can't be had, by export key: status and reason of the export."""

    def remember(self, job: Job, status: Status, reason: str) -> None:
        """Note how the export of a job ended: one that failed is not tried again in this run."""
        if status == "ok":
            self.pop(job.export_key, None)
        else:
            self[job.export_key] = status, reason


@dataclass
class Exports(Workplace):
    """Exports programs, each once, and keeps those that are right."""

    check: str = "off"
    """Whether each program is compared with its model: on, off, or auto (where that is cheap)."""
    broken: Failures = field(default_factory=Failures)
    """Which programs can't be had: tried once per run, not once per method."""

    def program_of(self, job: Job, exporter: Environment | None) -> tuple[Program, float]:
        """Return the program of a run job, exporting it first where it is not in the store.

        With the seconds that the export took.

        Raises:
            NoProgramError: it can't be had.
            DiskError: a disk is full.

        """
        if job.program is not None:
            if other := changed(job.program):
                raise NoProgramError("failed", other)
            return Program(job.program.path, job.program.info), 0.0
        if exporter is None:
            raise AssertionError(f"{job.label}: neither a program nor an exporter")
        found, seconds = self.stored(job, exporter), 0.0
        if found is None:
            export = as_export(job)
            self.progress.say(f"exporting the program first: {export.label}")
            outcome, found = self.export(export, exporter)
            seconds = outcome.wall_s
            if found is None:
                raise NoProgramError(outcome.status, outcome.reason)
        return found, seconds

    def stored(self, job: Job, exporter: Environment) -> Program | None:
        """Find the program of a job, exported before; one that is wrong is none.

        It may have been exported without the comparison that is asked for now: it is made then.

        Raises:
            NoProgramError: its export failed in this run, or it was compared and is wrong.

        """
        if job.export_key in self.broken:
            raise NoProgramError(*self.broken[job.export_key])
        key = self._program_key(job, exporter)
        found = self.programs.find(key)
        if found is None:
            return None
        if job.source and not unchanged(Path(job.source), found.info.get("neighbours", {})):
            return None
        if found.info.get("check"):
            return found
        export = as_export(job) if job.kind == "run" else job
        check = self._check(export, exporter, found.path, found.info)
        if wrong := check.get("wrong"):
            self.programs.remove(key)
            self.broken.remember(job, "failed", wrong)
            raise NoProgramError("failed", wrong)
        if check:
            found = replace(found, info={**found.info, "check": check})
            with contextlib.suppress(DiskError):  # a cache that can only be read
                self.programs.keep(key, found.path, found.info)
        return found

    def export(self, job: Job, environment: Environment) -> tuple[Outcome, Program | None]:
        """Export a program, compare it if that is asked for, and keep it; None where it is wrong.

        Raises:
            DiskError: a disk is full.

        """
        key = self._program_key(job, environment)
        pte = self.programs.incoming()
        try:
            outcome = self.start(job, environment, pte, {"source": job.source})
            if outcome.status == "ok":
                info = next(e for e in reversed(outcome.events) if e["event"] == "result")
                info = {**info, "trace": [e for e in outcome.events if e["event"] == "trace"]}
                info["check"] = self._check(job, environment, pte, info)
                if wrong := info["check"].get("wrong"):
                    self.programs.remove(key)
                    outcome = replace(outcome, status="failed", reason=wrong)
            self.broken.remember(job, outcome.status, outcome.reason)
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
        outcome = self.start(check, environment, program, told)
        if outcome.status == "ok":
            result = next(e for e in outcome.events if e["event"] == "result")
            return {"errors": result["errors"], "seconds": outcome.wall_s}
        error = next((e for e in outcome.events if e["event"] == "error"), {})
        wrong = error.get("kind") in ("output", "program")
        return {"wrong" if wrong else "note": outcome.reason, "seconds": outcome.wall_s}

    def _program_key(self, job: Job, environment: Environment) -> str:
        return program_key(job.export_key, environment.build_key, WORKER_ROOT)
