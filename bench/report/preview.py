"""What ``--dry-run`` shows: the cells in their order, the environments, an estimate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.estimate import estimate, programs_first, seconds_of
from bench.jobs import Plan
from bench.values import format_seconds

NOTHING_LEFT = "nothing is left to measure"


class Describer(Protocol):
    """Says what a revision's environment is, without building it."""

    def describe(self, revision: str) -> str:
        """Return words such as ``wheel 1.4.1, torch 2.13.0: ready``."""


def preview(
    console: Console,
    whole: Plan,
    done: Collection[str],
    known: Mapping[str, float],
    environments: Describer,
) -> None:
    """Print what of a plan is to be measured. Nothing is built or measured.

    Args:
        console: where to print.
        whole: the plan.
        done: keys of the jobs that are finished.
        known: seconds of earlier measurements, see :func:`bench.estimate.history`.
        environments: says what they are.
    """
    plan = whole.without(done)
    if not plan.jobs:
        console.print(NOTHING_LEFT)
        return
    console.print(_table(plan, known))
    for line in _unsupported(plan):
        _say(console, line)
    for revision in plan.revisions:
        _say(console, f"environment {revision}: {environments.describe(revision)}")
    total = estimate(plan, known, whole.exports_of(done))
    source = f"{total.from_history} of {total.jobs} from earlier runs, the others by a rough rule"
    _say(console, f"about {format_seconds(total.seconds)} ({source}){programs_first(total)}")


def _table(plan: Plan, known: Mapping[str, float]) -> Table:
    """Build the list of processes; where a terminal is narrow, the names are what wraps."""
    table = Table(
        title=f"cells: {len(plan.cells)}, processes: {len(plan.jobs)}, in this order",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("process")
    table.add_column("iterations")
    table.add_column("about", justify="right", no_wrap=True)
    for number, job in enumerate(plan.jobs, 1):
        counts = ",".join(str(cell.iterations) for cell in job.cells if cell.iterations)
        took = "unsupported" if job.unsupported else format_seconds(seconds_of(job, known))
        table.add_row(str(number), escape(job.label), counts, took)
    return table


def _unsupported(plan: Plan) -> list[str]:
    """Return each reason once, with the numbers of the processes it holds for."""
    numbers: dict[str, list[str]] = {}
    for number, job in enumerate(plan.jobs, 1):
        if job.unsupported:
            numbers.setdefault(job.unsupported, []).append(str(number))
    return [f"unsupported: {why}  [{', '.join(held)}]" for why, held in numbers.items()]


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
