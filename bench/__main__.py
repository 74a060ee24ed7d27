"""``python -m bench``: measure a matrix. ``nox -s bench -- ...`` runs it in its environment."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from omegaconf import OmegaConf
from rich.console import Console

from bench import machine
from bench.config import CONF, Request, composed, host, load
from bench.environment import Store
from bench.errors import EtPeakError, Exit, RequestError
from bench.estimate import estimate, history
from bench.plan import Plan, make_plan
from bench.programs import ProgramStore
from bench.report import help as help_text
from bench.report.preview import preview
from bench.report.progress import RunProgress
from bench.report.table import LEGEND, rich_table, summarise
from bench.results.record import RunFolder, list_runs
from bench.results.rows import measurement_rows
from bench.results.tables import frame
from bench.revision import Revisions
from bench.run import Runner
from bench.values import format_seconds


class _Parser(argparse.ArgumentParser):
    """argparse, with its refusals as our one-line errors."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message} (flags: --help, --cfg job, --dry-run, key=value)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (see :class:`bench.errors.Exit`)."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _main(list(sys.argv[1:] if argv is None else argv), console)
    except EtPeakError as error:
        print(f"et-peak: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # a full disk, a folder we may not write
        print(f"et-peak: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return Exit.UNDECIDED


def _main(argv: list[str], console: Console) -> int:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--cfg", choices=["job"])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(argv)
    if given.help:
        console.print(help_text.text(CONF), markup=False, highlight=False, soft_wrap=True)
        return Exit.OK
    request = load(given.overrides)
    folder: RunFolder | None = None
    if request.resume:
        folder = RunFolder.find(request.out, request.resume)
        request = _resumed(request, folder)
    if given.cfg:
        print(composed(request), end="")
        return Exit.OK
    revisions = Revisions(Store())
    plan = make_plan(revisions.resolve_all(request), host())
    known = _history(request.out)
    if given.dry_run:
        preview(console, plan, known, revisions)
        return Exit.OK
    return _measure(request, plan, known, revisions, folder, console)


def _measure(
    request: Request,
    plan: Plan,
    known: dict[str, float],
    revisions: Revisions,
    folder: RunFolder | None,
    console: Console,
) -> int:
    resuming = folder is not None
    folder = folder or RunFolder.create(request.out)
    with folder.lock():
        if not resuming:
            _begin(request, plan, folder)
        done = [record["job_key"] for record in folder.records()]
        left = estimate(plan, known, done)
        console.print(
            f"run {folder.id}: {len(plan.cells)} cells, {left.jobs} measurements to take, "
            f"about {format_seconds(left.seconds)} besides building environments",
            highlight=False,
        )
        progress = RunProgress(console, len(plan.jobs), len(done))
        revisions.say = progress.say
        programs = ProgramStore(revisions.store.root.parent / "programs")
        programs.prune()
        runner = Runner(plan, folder, revisions, programs, request.limits, progress, known)
        try:
            with progress.shown():
                records = runner.run()
        except KeyboardInterrupt:
            print(
                f"et-peak: interrupted; what was measured is kept. "
                f"Go on with: nox -s bench -- resume={folder.id}",
                file=sys.stderr,
            )
            return Exit.INTERRUPTED
    return _show(records, folder, console)


def _begin(request: Request, plan: Plan, folder: RunFolder) -> None:
    """Write what the run is about, request.json last: with it the run can be resumed."""
    folder.write("config.yaml", composed(request))
    folder.write("machine.json", json.dumps(machine.describe(), indent=2) + "\n")
    cells = [cell.key for cell in plan.cells]
    content = {"overrides": list(request.overrides), "cells": cells}
    folder.write("request.json", json.dumps(content, indent=2) + "\n")


def _resumed(request: Request, folder: RunFolder) -> Request:
    """Return the request of the run to finish; nothing else may be given beside `resume=`."""
    extra = [word for word in request.overrides if not word.startswith("out=")]
    if extra:
        raise RequestError(f"resume: goes with nothing else but out= (given: {extra[0]!r})")
    return load(folder.read_request())


def _show(records: list[dict[str, Any]], folder: RunFolder, console: Console) -> int:
    rows = frame(row for record in records for row in measurement_rows(record))
    summary = summarise(rows)
    console.print()
    console.print(rich_table(summary))
    for line in summary.reasons:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"[dim]{LEGEND}[/]", highlight=False)
    console.print(f"{folder.path}/measurements.csv, phases.csv", highlight=False, soft_wrap=True)
    statuses = set(rows["status"])
    return Exit.OK if statuses & {"ok", "unsupported"} else Exit.UNDECIDED


def _history(out: Path) -> dict[str, float]:
    recent = list_runs(out)[-50:]
    return history(record for run in recent for record in RunFolder(out / run).records())


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
