"""The cells of a matrix, the processes that measure them, and their order. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from bench.pte import ProgramFile

Kind = Literal["export", "run"]


def digest(content: Any) -> str:
    """Hash JSON-like content to 16 hexadecimal digits, whatever the order of its keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Cell:
    """One point of the matrix: one row of the table, per repeat."""

    model: str
    precision: str
    backend: str
    method: str
    iterations: int | None
    """Executions in one process after which the row is taken; None for an export."""
    samples: int | None
    """Waveform length; None for a model without one."""
    max_tokens: int | None
    """Length of the decoder's static KV cache; None for a model without one."""
    seed: int
    runner: str
    """What executes the program; empty for an export."""
    load_mode: str
    allocator: str
    exporter: str
    runtime: str | None
    """Revision that runs the program; None for an export."""
    key: str
    """Hash of what is asked for, sizes and seed included; environment and machine are not."""


@dataclass(frozen=True)
class Job:
    """One fresh process: the cells it measures, and what the worker is told.

    A run job has one cell per iteration count: they are marks within one process.
    """

    kind: Kind
    cells: tuple[Cell, ...]
    repeat: int
    export_key: str
    """Names the program: equal keys are one ``.pte``, whoever runs it."""
    request: Mapping[str, Any]
    source: str | None = None
    """Where the model's file is; its content, not its place, is in the request."""
    program: ProgramFile | None = None
    """The program of a run where it is from elsewhere: nothing is exported then."""
    unsupported: str | None = None
    """Why this host or backend can't, where it can't: nothing is started then."""
    own_runner: Mapping[str, Any] | None = None
    """The user's binary, where that runs the program: its path and what it can be told."""
    fed_by: str | None = None
    """The revision whose environment makes the inputs of a binary, which brings its own runtime."""

    @property
    def key(self) -> str:
        """Identity within a run; the same job has the same key after a resume."""
        return digest([cell.key for cell in self.cells] + [self.repeat, self.kind])

    @property
    def revision(self) -> str:
        """The revision whose environment the process needs."""
        cell = self.cells[0]
        return self.fed_by or (cell.exporter if cell.runtime is None else cell.runtime)

    @property
    def exporter(self) -> str | None:
        """The revision that writes the program; None where it is from elsewhere."""
        return None if self.program else self.cells[0].exporter

    @property
    def label(self) -> str:
        """Words for the progress line, such as ``tiny fp32 xnnpack encode @ v1.4.1``."""
        cell = self.cells[0]
        where = " on ".join(dict.fromkeys(filter(None, (self.exporter, cell.runtime))))
        again = f" #{self.repeat + 1}" if self.repeat else ""
        runner = cell.runner if cell.runner != "python" else None
        words = filter(None, (cell.model, cell.precision, cell.backend, cell.method, runner))
        return f"{' '.join(words)} @ {where}{again}"


@dataclass(frozen=True)
class Plan:
    """Every job in the order it runs: exports before the runs that need their program."""

    jobs: tuple[Job, ...]

    @property
    def cells(self) -> list[Cell]:
        """Return each cell once, in order."""
        return list(dict.fromkeys(cell for job in self.jobs for cell in job.cells))

    def without(self, done: Collection[str]) -> Plan:
        """Return what is left of it; ``done`` holds the keys of finished jobs."""
        return Plan(tuple(job for job in self.jobs if job.key not in done))

    def exports_of(self, done: Collection[str]) -> set[str]:
        """Return the export keys that finished jobs have met."""
        return {job.export_key for job in self.jobs if job.key in done}

    @property
    def revisions(self) -> list[str]:
        """Return the revisions whose environments are needed, in order of first need."""
        need: dict[str, None] = {}
        for job in self.jobs:
            if not job.unsupported:
                need |= dict.fromkeys(filter(None, (job.exporter, job.revision)))
        return list(need)


def job_id(job: Job) -> str:
    """Name a measurement whatever its repeat."""
    return digest([cell.key for cell in job.cells])


def as_export(job: Job) -> Job:
    """Return the export job that makes the program of a run job."""
    cell = job.cells[0]
    content = job.request["export"]
    exported = replace(
        cell,
        method="export",
        iterations=None,
        runtime=None,
        runner="",
        load_mode="",
        samples=content.get("samples"),
        key=digest([content, None, cell.exporter, None, cell.allocator, ""]),
    )
    return Job("export", (exported,), 0, job.export_key, content, job.source)
