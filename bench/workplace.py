"""Where the workers of a run are started: their environments, their folders, their limits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.disk import DiskError, blames_disk, check_room, writing
from bench.environment import Environment, worker_env
from bench.jobs import Job
from bench.ladder import Needs
from bench.measure import Outcome, run_worker
from bench.programs import ProgramStore
from bench.progress import Progress
from bench.request import Limits
from bench.results.record import RunFolder, write_whole

# Read by glibc, jemalloc and their like at start, or what puts another malloc in glibc's place: one
# that leaks in from the user's shell would be a different metric.
_NOT_THE_SHELLS = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "Malloc")
_ALLOCATOR: dict[str, dict[str, str]] = {
    "default": {},
    "fixed": {"MALLOC_MMAP_THRESHOLD_": "262144"},
}


class Environments(Protocol):
    """Gives the environment of a revision, building it where it must."""

    def get(self, revision: str, *, needs: Needs) -> Environment:
        """Return the environment for one side of a measurement.

        Raises:
            BuildError: if it can't be built.

        """


@dataclass
class Workplace:
    """Starts the workers of one run, one at a time.

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
    timeline: bool = False
    """Whether the RSS of each process is sampled against time."""

    def start(
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

    def environment(self, revision: str, needs: Needs) -> Environment:
        """Return the environment for one side of a measurement; note its packages in the folder.

        Raises:
            BuildError: if it can't be built.
            DiskError: if the list of its packages can't be written.

        """
        environment = self.environments.get(revision, needs=needs)
        # An environment that was built anew has the same key, and packages of that day.
        name = f"packages-{environment.build_key}-{environment.packages_hash}.txt"
        listing = self.folder.path / name
        if not listing.exists():
            with writing(self.folder.path):
                write_whole(listing, environment.packages.read_text(encoding="utf-8"))
        return environment
