"""A run from its request to its table: begin or resume, measure, show."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import machine
from bench.command import ENDS, resumable
from bench.compose import host
from bench.config import load
from bench.disk import DiskError
from bench.errors import Exit, RequestError
from bench.estimate import estimate, history, programs_first
from bench.experiment import WORD, Experiment, decided, load_experiment, resolved, sentence
from bench.jobs import Plan
from bench.launch.fleet import Fleet, memory_budget, take_in
from bench.launch.kinds import GROUP, KINDS, SERIAL, is_launch_word, launcher_of
from bench.measurer import Measurer
from bench.needs import peaks, refuse_too_large
from bench.place import ROOT
from bench.plan import make_plan
from bench.report.preview import NOTHING_LEFT, preview
from bench.report.progress import RunProgress
from bench.report.table import legend, narrowed, rich_table, summarise
from bench.request import Request, composed
from bench.results.record import RunFolder, list_runs
from bench.results.rows import measurement_rows
from bench.results.tables import frame
from bench.revision import Revisions
from bench.run import Runner
from bench.values import format_seconds


def run(
    request: Request,
    revisions: Revisions,
    console: Console,
    *,
    dry: bool,
    experiment: Experiment | None = None,
) -> int:
    """Measure what is asked for, or with ``dry`` only show the plan; return the exit code.

    Of an experiment, both arms are measured, and its sentence ends it.

    Raises:
        RequestError: if the run to resume does not exist, or is at work.

    """
    folder: RunFolder | None = None
    if request.resume:
        folder = RunFolder.find(request.out, request.resume)
        request, experiment = _resumed(request, folder, revisions)
    plan = experiment.plan(host()) if experiment else make_plan(request, host())
    if KINDS[launcher_of(request.launch)].local:  # other machines judge by their own memory
        plan = refuse_too_large(plan, machine.memory_bytes())
    if folder and folder.read("cells") != [cell.key for cell in plan.cells]:
        raise RequestError(
            f"run {folder.id}: its request no longer means the cells it was begun with "
            "(conf/, et-peak or the file of pte= changed since): start it anew"
        )
    known = _history(request.out)
    if dry:
        done = {record["job_key"] for record in folder.records()} if folder else set()
        preview(console, plan, done, known, revisions)
        return Exit.OK
    return _measure(request, plan, known, revisions, folder, console, experiment)


def _measure(
    request: Request,
    plan: Plan,
    known: Mapping[str, float],
    revisions: Revisions,
    folder: RunFolder | None,
    console: Console,
    experiment: Experiment | None,
) -> int:
    resuming = folder is not None
    folder = folder or RunFolder.create(request.out)
    with folder.lock():
        if not resuming:
            begin(request, plan, folder)
        try:
            records = carry_out(request, plan, known, revisions, folder, console)
        except ENDS as end:
            return resumable(end, f"nox -s bench -- resume={folder.id}{_elsewhere(folder)}")
    code = _show(records, folder, console)
    if experiment:
        rows = [row for record in records for row in measurement_rows(record)]
        if not decided(experiment, rows):
            code = Exit.UNDECIDED
        answer = sentence(experiment, rows)
        folder.write("answer.txt", f"{answer}\n")
        console.print(f"\n{answer}", markup=False, highlight=False, soft_wrap=True)
    return code


def _measurer(
    request: Request, folder: RunFolder, revisions: Revisions, progress: RunProgress
) -> Measurer | Fleet:
    """Return what measures: this process, one by one, or what the launcher gives."""
    programs = revisions.programs()
    if launcher_of(request.launch) == SERIAL:
        return Measurer(
            folder,
            revisions,
            programs,
            request.limits,
            progress,
            check=request.check,
            timeline=request.timeline,
            timed=request.timing,
        )
    if request.timing and KINDS[launcher_of(request.launch)].local:
        progress.say("times are measured one by one: timing=off lets memory run side by side")
    return Fleet(
        folder,
        request,
        request.launch,
        memory_budget(request.memory_budget, machine.available_bytes()),
        request.timing,
        progress,
        known=peaks(_earlier(request.out)),
    )


def begin(request: Request, plan: Plan, folder: RunFolder) -> None:
    """Write what the run is about, request.json last: with it the run can be resumed.

    Raises:
        DiskError: if it can't be written; the folder is gone then.

    """
    cells = [cell.key for cell in plan.cells]
    jobs = {job.key: job.label for job in plan.jobs}
    content = {"overrides": list(request.overrides), "cells": cells, "jobs": jobs}
    try:
        folder.write("config.yaml", composed(request))
        folder.write("machine.json", json.dumps(machine.describe(), indent=2) + "\n")
        folder.write("request.json", json.dumps(content, indent=2) + "\n")
    except DiskError:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise


def carry_out(
    request: Request,
    plan: Plan,
    known: Mapping[str, float],
    revisions: Revisions,
    folder: RunFolder,
    console: Console,
) -> list[dict[str, Any]]:
    """Measure what a run lacks, telling how far it is; return all records in the plan's order.

    Args:
        request: what the run was begun for.
        plan: its cells.
        known: seconds of earlier measurements, see :func:`bench.estimate.history`.
        revisions: gives the environments.
        folder: of the run, its lock held by the caller.
        console: where to print.

    Raises:
        KeyboardInterrupt, DiskError: what was measured until then is kept.

    """
    take_in(folder)
    done = {record["job_key"] for record in folder.records()}
    left = estimate(plan.without(done), known, plan.exports_of(done))
    about = f"{left.jobs} measurements to take, about {format_seconds(left.seconds)}"
    about += programs_first(left)
    console.print(
        f"run {folder.id}: {len(plan.cells)} cells, "
        f"{f'{about} besides building environments' if left.jobs else NOTHING_LEFT}",
        highlight=False,
    )
    progress = RunProgress(console, len(plan.jobs), len(done))
    revisions.say = progress.say
    measurer = _measurer(request, folder, revisions, progress)
    runner = Runner(plan, folder, measurer, progress, known)
    with progress.shown():
        return runner.run()


def _resumed(
    request: Request, folder: RunFolder, revisions: Revisions
) -> tuple[Request, Experiment | None]:
    """Return what the run to finish is about; nothing else may be given beside `resume=`."""
    extra = [w for w in request.overrides if not w.startswith("out=") and w not in request.launch]
    if extra:
        raise RequestError(
            f"resume: goes with nothing else but out= and {GROUP}= (given: {extra[0]!r})"
        )
    words = folder.read("overrides")
    if request.launch:  # on another machine than it was begun on, say
        words = [*(word for word in words if not is_launch_word(word)), *request.launch]
    if words and words[0].startswith(WORD):
        experiment = load_experiment(words[0].removeprefix(WORD), words[1:])
        experiment = resolved(experiment, revisions.resolve_all)
        return experiment.requests[0], experiment
    return revisions.resolve_all(load(words)), None


def _show(records: list[dict[str, Any]], folder: RunFolder, console: Console) -> int:
    rows = frame(row for record in records for row in measurement_rows(record))
    summary = summarise(rows)
    narrow = narrowed(summary, console.width)
    console.print()
    console.print(rich_table(narrow))
    for line in summary.reasons:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"[dim]{legend(narrow.header)}[/]", highlight=False)
    if left_out := [name for name in summary.header if name not in narrow.header]:
        console.print(f"[dim]too narrow for {', '.join(left_out)}: see the file[/]")
    tables = ("measurements.csv", "phases.csv", "timeline.csv")
    there = ", ".join(name for name in tables if (folder.path / name).exists())
    console.print(f"{folder.path}/{there}", markup=False, highlight=False, soft_wrap=True)
    statuses = set(rows["status"])
    return Exit.OK if statuses & {"ok", "unsupported"} else Exit.UNDECIDED


def _history(out: Path) -> dict[str, float]:
    return history(_earlier(out))


def _earlier(out: Path) -> list[dict[str, Any]]:
    """Return the records of the latest runs: an estimate can do without any of them."""
    records: list[dict[str, Any]] = []
    for run in list_runs(out)[-50:]:
        with contextlib.suppress(RequestError, OSError):
            records += RunFolder(out / run).records()
    return records


def _elsewhere(folder: RunFolder) -> str:
    """Return the `out=` that a resume needs, where the run is not in the usual place."""
    out = folder.path.parent.absolute()
    return "" if out == ROOT / "results/runs" else f" {shlex.quote(f'out={out}')}"
