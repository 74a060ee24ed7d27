"""``nox -s report`` of a bisection: its verdict, and its report.html."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.errors import RequestError, choices
from bench.place import expanded
from bench.report.html.bisection import facts, headline
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows, phase_rows
from bench.results.tables import frame, phases_frame

_FORMATS = ("table", "markdown", "json")


def find_bisection(word: str, results: Path) -> Path | None:
    """Return the folder of the bisection that a word names, by path or id; None if it is none.

    Raises:
        RequestError: if it names one that has no verdict (yet).

    """
    path = expanded(word)
    if path.name == "verdict.json" and path.is_file():
        return path.parent
    kept = Path(os.environ.get("ET_PEAK_RESULTS", results)) / "bisect"
    for folder in (path, *([kept / word] if "/" not in word else [])):
        if (folder / "verdict.json").is_file():
            return folder
        if folder.parent.name == "bisect" and (folder / "request.json").is_file():
            raise RequestError(
                f"bisection {folder.name} has no verdict yet; go on with: "
                f"python -m bisect resume={folder.name}"
            )
    return None


def report_bisection(folder: Path, form: str, html: Path | None, console: Console) -> None:
    """Show a bisection and write its page.

    Args:
        folder: with ``verdict.json``, ``verdict.md`` and ``raw.jsonl``.
        form: table, markdown or json.
        html: where the page goes; None for none.
        console: where a table goes.

    Raises:
        RequestError: for another format, or a file that no bisection wrote.

    """
    if form not in _FORMATS:
        raise choices("format", form, list(_FORMATS))
    path = folder / "verdict.json"
    try:
        verdict: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lines = [headline(verdict), *(f"  {term}: {text}" for term, text in facts(verdict))]
        if html is not None:
            from bench.report.html import write_report  # its plots take a second to import

            records = RunFolder(folder).records()
            rows = frame(row for record in records for row in measurement_rows(record))
            phases = phases_frame(row for record in records for row in phase_rows(record))
            write_report(html, rows, phases, (), verdict)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{path}: not the verdict of a bisection ({error!r})") from None
    said = folder / "verdict.md"
    if form == "json":
        print(json.dumps(verdict, indent=2))
    elif form == "markdown" and said.is_file():
        print(said.read_text(encoding="utf-8"), end="")
    else:
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
