"""Measure the request of a row, in its own environment where that can be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from bench import machine
from bench.analysis.cells import COLUMNS
from bench.compose import host
from bench.errors import BuildError, RequestError
from bench.jobs import Job, Plan
from bench.needs import refuse_too_large
from bench.packages import differences
from bench.plan import make_plan
from bench.request import Request
from bench.rerun.asked import Asked
from bench.rerun.find import Recorded
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows
from bench.results.tables import frame
from bench.revision import Revisions
from bench.session import begin, carry_out

_MOST = 5
_DIGITS = 12  # of a hash, for a person


@dataclass(frozen=True)
class Again:
    """A row's second measurement.

    Attributes:
        table: its rows, with the columns of :data:`bench.analysis.cells.COLUMNS`.
        otherwise: what was not as it was when the row was recorded.
        remarks: what else is worth knowing.

    """

    table: pd.DataFrame
    otherwise: tuple[str, ...]
    remarks: tuple[str, ...]


def measure_again(
    recorded: Recorded, asked: Asked, revisions: Revisions, console: Console, *, dry: bool
) -> Again | None:
    """Build the row's environment and measure in it; with ``dry``, say what would be done.

    Where the recorded packages can't be installed here, they are resolved anew, and
    ``otherwise`` names what differs.

    Raises:
        RequestError: if a revision does not exist.
        KeyboardInterrupt, DiskError: see :func:`bench.session.carry_out`.

    """

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    row = recorded.row
    request = _resolved(asked, revisions)
    plan = _plan(request)
    job = plan.jobs[0]
    other = _other_cell(row, job)
    for line in other:
        say(f"  {line}")
    if dry:
        known = f"list {asked.packages}" if asked.packages else "no list of them is known here"
        say(f"packages {row['packages_hash']}: {known}")
        say(f"environment {job.revision}: {revisions.describe(job.revision)}")
        return None
    if request.origin.packages:
        try:
            revisions.get(job.revision, needs=job.kind)
        except BuildError as error:
            say(f"the recorded packages can't be had, they are resolved anew: {error}")
            request = _resolved(asked.without_packages(), revisions)
            plan = _plan(request)
    folder = RunFolder.create(request.out)
    with folder.lock():
        begin(request, plan, folder)
        records = carry_out(request, plan, {}, revisions, folder, console)
    table = frame((r for record in records for r in measurement_rows(record)), COLUMNS)
    new = table.iloc[0].to_dict()
    other += _other_packages(row, new, asked.packages, folder.path)
    return Again(table, tuple(other), (*_remarks(row, new), f"{folder.path}/measurements.csv"))


def _resolved(asked: Asked, revisions: Revisions) -> Request:
    return revisions.resolve_all(asked.request)


def _plan(request: Request) -> Plan:
    plan = refuse_too_large(make_plan(request, host()), machine.memory_bytes())
    if len(plan.cells) != 1:
        raise RequestError(f"the row names {len(plan.cells)} cells, not one")
    return plan


def _other_cell(row: Mapping[str, Any], job: Job) -> list[str]:
    """Say how the cell that the words mean now is not the recorded one."""
    found, key = [], job.cells[0].key
    program, runner = job.program, job.own_runner
    if program and row["pte_sha256"] != program.sha256:
        hashes = f"{program.sha256[:_DIGITS]}, recorded was {str(row['pte_sha256'])[:_DIGITS]}"
        found.append(f"{program.path} is another program: {hashes}")
    if runner and not runner["sha256"].startswith(str(row["runtime"]).rpartition("@")[2]):
        hashes = f"{runner['label']}, recorded was {row['runtime']}"
        found.append(f"{runner['path']} is another binary: {hashes}")
    if found or key == row["cell_key"]:
        return found
    changed = f"{job.source}, conf/ or et-peak" if job.source else "conf/ or et-peak"
    return [f"the same words mean another cell now, {key}: {changed} changed since"]


def _other_packages(row: Any, new: Any, listed: Path | None, run: Path) -> list[str]:
    """Say how the environment is not the recorded one."""
    was, now = row["packages_hash"], new["packages_hash"]
    if pd.isna(now) or was == now:  # never built, which the status says
        return []
    if was is None:
        return [f"the row does not say which packages it had; now {now}"]
    if listed is None:
        return [f"packages {was}, of which no list is here, are {now} now"]
    current = run / f"packages-{new['build_key']}-{now}.txt"
    changed = differences(listed.read_text(encoding="utf-8"), current.read_text(encoding="utf-8"))
    more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
    return [f"other packages: {', '.join(changed[:_MOST])}{more}"]


def _remarks(row: Any, new: Any) -> list[str]:
    found = []
    if row["packages_hash"] and row["packages_hash"] == new["packages_hash"]:
        found.append(f"the same packages ({row['packages_hash']})")
    for column, what in (("pte_sha256", "program file"), ("output_sha", "set of outputs")):
        before, after = row[column], new[column]
        if before and not pd.isna(after):
            alike = " of the same size" * (row["pte_bytes"] == new["pte_bytes"])
            other = f"another {what}{alike if column == 'pte_sha256' else ''}"
            found.append(f"the same {what}, bit by bit" if before == after else other)
    return found
