"""From a request to the cells of the matrix and the processes that measure them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from bench.fit import ABOUT, misfit
from bench.jobs import Cell, Job, Plan, digest
from bench.pte import EXPORTER
from bench.request import Choice, Request
from bench.runners import LARGEST_ONLY, cannot_feed, own_runner, run_by, runtime_of


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
        model=choice.model["name"] + ("" if choice.given else _unusual(request)),
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


def _unusual(request: Request) -> str:
    """Name what is not as usual about an export, as changed fields of a model are named."""
    steps = "" if request.steps else "[steps=off]"
    return steps + ("[memprofile=on]" if request.memprofile else "")


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
