"""Look back at a bisection: its log, and its search again on the recorded values."""

from __future__ import annotations

import json
from bisect.metrics import Metric
from bisect.request import BisectRequest
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.errors import Exit, RequestError
from bench.results.record import RunFolder


def show_log(metric: Metric, folder: RunFolder, console: Console) -> int:
    """Print every measurement in the order it was taken."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for title in ("#", "stage", "revision", "process", metric.name, "seconds", "rung", "status"):
        table.add_column(title)
    for number, record in enumerate(folder.records(), 1):
        value = metric.value(record)
        table.add_row(
            str(number),
            record["stage"],
            record["revision"],
            record["cells"][-1]["method"],
            "" if value is None else metric.show(value),
            f"{record.get('total_s') or 0:.1f}",
            record.get("rung", ""),
            record["status"] + (escape(f": {record['reason']}") if record["reason"] else ""),
        )
    console.print(table)
    return Exit.OK


def replay(request: BisectRequest, folder: RunFolder, console: Console) -> int:
    """Run the search anew on the recorded values; say whether the verdict is the same.

    Raises:
        RequestError: if the bisection never came to a verdict, or is being measured just now.
        NotRecordedError: if the search asks for a measurement that was not taken.
    """
    from bisect.session import BisectSession, resolve_ends

    from bench.environment import Store
    from bench.revision import Revisions

    try:
        before = json.loads((folder.path / "verdict.json").read_text())
    except (OSError, ValueError):
        mend = f"python -m bisect resume={folder.id}"
        raise RequestError(f"{folder.id} has no verdict yet: {mend}") from None
    with folder.lock():
        revisions = Revisions(Store())
        request = resolve_ends(request, revisions)
        session = BisectSession(request, revisions, folder, console, replaying=True)
        code = session.run()
    same = _essence(before) == _essence(session.verdict)
    # Nothing is written, and a run that is missing ends it: so none was ever taken anew.
    print(f"{'the same verdict' if same else 'ANOTHER verdict'}, 0 measurements taken anew")
    return code


def _essence(verdict: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what makes two verdicts the same."""
    culprit = verdict["culprit"] or {}
    return verdict["status"], culprit.get("name"), verdict["credible_set"]
