"""From a request to the cells of the matrix and the processes that measure them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from bench.fit import ABOUT, misfit
from bench.pte import EXPORTER, ProgramFile
from bench.request import Choice, Request
from bench.runners import LARGEST_ONLY, cannot_feed, own_runner, run_by, runtime_of

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


def make_plan(request: Request, host: str) -> Plan:
    """Lay out a request's jobs for a host such as ``linux-x86_64``.

    Order: program by program (exporter, model, precision, backend), each exported first, then
    run by each runtime. The whole is repeated, not each job: what is compared is measured in
    turn, so that a machine that slows down in the meantime slows all of it down.
    """
    jobs = [job for choice in request.choices for job in _given_jobs(request, choice)]
    exported = [choice for choice in request.choices if choice.given is None]
    for exporter, choice in product(request.exporters, exported):
        if "export" in request.methods:
            jobs.extend(_export_jobs(request, choice, exporter))
        runtimes = request.runtimes or (exporter,)
        runs = [method for method in request.methods if method != "export"]
        lengths = request.samples if "samples" in choice.model else (None,)
        for runtime, method, samples in product(runtimes, runs, lengths):
            jobs.extend(_run_jobs(request, choice, exporter, runtime, method, samples, host))
    # An export is the same whatever is to run it: once, where runners are swept.
    once = {job.key: job for job in jobs}.values()
    return Plan(tuple(sorted(once, key=lambda job: job.repeat)))


def job_id(job: Job) -> str:
    """Name a measurement whatever its repeat."""
    return digest([cell.key for cell in job.cells])


def recipe_of(choice: Choice) -> Mapping[str, Any] | None:
    """Return how the backend stores and computes this precision; None where it has no recipe."""
    found: Mapping[str, Any] | None = choice.backend["precisions"].get(choice.precision["name"])
    return found


def _export_request(request: Request, choice: Choice) -> dict[str, Any]:
    content = {
        "task": "export",
        "model": {key: value for key, value in choice.model.items() if key not in ABOUT},
        "precision": {"name": choice.precision["name"], **(recipe_of(choice) or {})},
        "backend": {"name": choice.backend["name"]},
        "seed": request.seed,
    }
    # Only where they are not as usual: no other cell is another for them.
    content |= {} if request.steps else {"steps": False}
    content |= {"memprofile": True} if request.memprofile else {}
    if "samples" in choice.model:  # a waveform to encode, and with it a cache to decode into
        content |= {"samples": choice.model["samples"]["max"], "max_tokens": request.max_tokens}
    return content


def _export_jobs(request: Request, choice: Choice, exporter: str) -> Iterator[Job]:
    content = _export_request(request, choice)
    cell = _cell(request, choice, "export", None, content.get("samples"), exporter, None, content)
    for repeat in range(request.repeats):
        yield Job(
            "export",
            (cell,),
            repeat,
            digest([exporter, request.allocator, content]),
            content,
            _source(choice),
            unsupported=_no_recipe(choice),
        )


def _run_jobs(
    request: Request,
    choice: Choice,
    exporter: str,
    runtime: str,
    method: str,
    samples: int | None,
    host: str,
) -> Iterator[Job]:
    export = _export_request(request, choice)
    content = {
        "task": "run",
        "method": method,
        **run_by(request, choice),
        "samples": samples,
        "tokens": 1,
        "model": export["model"],
        "seed": request.seed,
        "export": export,
    }
    own, by = own_runner(choice), runtime_of(choice, runtime)
    cells = tuple(
        _cell(request, choice, method, count, samples, exporter, by, content)
        for count in request.iterations
    )
    cannot = _no_recipe(choice) or _cannot_run(choice, host) or cannot_feed(choice, samples)
    for repeat in range(request.repeats):
        yield Job(
            "run",
            cells,
            repeat,
            digest([exporter, request.allocator, export]),
            content,
            _source(choice),
            unsupported=cannot,
            own_runner=own,
            fed_by=exporter if own else None,
        )


def _given_jobs(request: Request, choice: Choice) -> Iterator[Job]:
    """Lay out the runs of a program from elsewhere; none where the choice has none."""
    if choice.given is None:
        return
    program = choice.given.program
    for runtime, (method, inputs) in product(request.runtimes or (), choice.given.inputs.items()):
        content = {
            "task": "run",
            "method": method,
            **run_by(request, choice),
            "pte_sha256": program.sha256,
            "inputs": inputs,
            "backends": choice.given.backends(method),
            "seed": request.seed,
        }
        cells = tuple(
            _cell(
                request, choice, method, count, None, EXPORTER, runtime_of(choice, runtime), content
            )
            for count in request.iterations
        )
        cannot = inputs if isinstance(inputs, str) else None
        own = own_runner(choice)
        if own and not choice.given.largest(method):
            cannot = f"{LARGEST_ONLY}: leave out inputs="
        fed_by = runtime if own else None
        for repeat in range(request.repeats):
            job = Job("run", cells, repeat, program.sha256, content, None, program, cannot)
            yield replace(job, own_runner=own, fed_by=fed_by)


def _cell(
    request: Request,
    choice: Choice,
    method: str,
    iterations: int | None,
    samples: int | None,
    exporter: str,
    runtime: str | None,
    content: Mapping[str, Any],
) -> Cell:
    # `marks` is left out: asking for other iteration counts beside it makes no other cell.
    deciding = {key: value for key, value in content.items() if key != "marks"}
    runner = "" if iterations is None else choice.runner["name"]
    # What a binary is called, and where it lies, decides nothing: its hash is in the content.
    by = None if own_runner(choice) else runtime
    identity = [deciding, iterations, exporter, by, request.allocator, runner]
    return Cell(
        model=choice.model["name"],
        precision=choice.precision["name"],
        backend=choice.backend["name"],
        method=method,
        iterations=iterations,
        samples=samples,
        max_tokens=request.max_tokens if "samples" in choice.model else None,
        seed=request.seed,
        runner=runner,
        load_mode="" if iterations is None else choice.runner.get("load_mode", "own"),
        allocator=request.allocator,
        exporter=exporter,
        runtime=runtime,
        key=digest(identity),
    )


def as_export(job: Job) -> Job:
    """Return the export job that makes the program of a run job."""
    cell = job.cells[0]
    content = job.request["export"]
    as_export = Cell(
        **{
            **cell.__dict__,
            "method": "export",
            "iterations": None,
            "runtime": None,
            "runner": "",
            "load_mode": "",
            "samples": content.get("samples"),
            "key": digest([content, None, cell.exporter, None, cell.allocator, ""]),
        }
    )
    return Job("export", (as_export,), 0, job.export_key, content, job.source)


def _source(choice: Choice) -> str | None:
    return str(choice.source) if choice.source else None


def _no_recipe(choice: Choice) -> str | None:
    unfit = misfit(choice.model, choice.precision)
    if unfit or recipe_of(choice) is not None:
        return unfit
    return (
        f"{choice.backend['name']} has no {choice.precision['name']} recipe "
        f"({', '.join(choice.backend['precisions'])})"
    )


def _cannot_run(choice: Choice, host: str) -> str | None:
    hosts: Sequence[str] = choice.backend["runs_on"]
    if not hosts or host in hosts:
        return None
    return f"{choice.backend['name']} programs run on {', '.join(hosts)} only; this is {host}"
