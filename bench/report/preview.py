"""What ``--dry-run`` shows: the cells in their order, the environments, an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.estimate import estimate, seconds_of
from bench.plan import Plan
from bench.values import format_seconds


class Describer(Protocol):
    """Says what a revision's environment is, without building it."""

    def describe(self, revision: str) -> str:
        """Return words such as ``wheel 1.4.1, torch 2.13.0: ready``."""


def preview(
    console: Console, plan: Plan, known: Mapping[str, float], environments: Describer
) -> None:
    """Print a plan. Nothing is built or measured."""
    table = Table(title=f"{len(plan.cells)} cells, {len(plan.jobs)} processes, in this order")
    for name in ("#", "process", "iterations", "about", "note"):
        right = name in ("#", "about")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "note")
    for number, job in enumerate(plan.jobs, 1):
        counts = ",".join(str(cell.iterations) for cell in job.cells if cell.iterations)
        took = "" if job.unsupported else format_seconds(seconds_of(job, known))
        note = f"unsupported: {job.unsupported}" if job.unsupported else ""
        table.add_row(str(number), escape(job.label), counts, took, escape(note))
    console.print(table)
    for revision in plan.revisions:
        console.print(
            f"environment {revision}: {environments.describe(revision)}",
            markup=False,
            highlight=False,
        )
    total = estimate(plan, known)
    source = f"{total.from_history} of {total.jobs} from earlier runs, the others by a rough rule"
    console.print(f"about {format_seconds(total.seconds)} ({source})", highlight=False)
