"""The page put together: template, styles, scripts and data in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from bench.analysis.conclusion import Conclusion
from bench.report.html import bisection as bisections
from bench.report.html.cells import Cells, reduce_cells
from bench.report.html.payload import (
    cells_content,
    evidence,
    pack,
    phases_content,
    positions,
    timeline_content,
)
from bench.report.html.plots import PARTS, SHADES, plots
from bench.report.html.vega import vega_script
from bench.report.table import legend
from bench.results.record import write_whole

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("store.js", "format.js", "filter.js", "cell.js", "table.js", "plots.js", "main.js")
KINDS = (
    ("rules_out", "Ruled out"),
    ("finding", "Found"),
    ("open", "Not decided by these cells"),
)
_EXPLAINED = ("peak", "total", "first", "steady", "d/file", "time", ".pte", "deleg/not")
_CAPTION = ("model", "precision", "backend", "revision", "allocator", "torch", "machine", "device")


def write_report(
    path: Path,
    rows: pd.DataFrame,
    phases: pd.DataFrame | None,
    conclusions: Sequence[Conclusion],
    bisection: Mapping[str, Any] | None,
    timeline: pd.DataFrame | None = None,
) -> None:
    """Write the page.

    Args:
        path: the file to write, whole or not at all.
        rows: as ``measurements.csv`` of a run folder; may be empty beside a bisection.
        phases: as ``phases.csv`` of the same folder, if there is one.
        conclusions: what the rows show, in the order to be read.
        bisection: content of a bisection's ``verdict.json``.
        timeline: as ``timeline.csv`` of the folder, if there is one.

    """
    write_whole(path, render(rows, phases, conclusions, bisection, timeline))


def render(
    rows: pd.DataFrame,
    phases: pd.DataFrame | None = None,
    conclusions: Sequence[Conclusion] = (),
    bisection: Mapping[str, Any] | None = None,
    timeline: pd.DataFrame | None = None,
) -> str:
    """Return the page as :func:`write_report` writes it. The same input gives the same text."""
    cells = reduce_cells(rows)
    phase_columns = phases_content(phases, cells)
    times = timeline_content(timeline, cells)
    plot = bisections.plot_content(bisection) if bisection else None
    table = cells.table
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return environment.get_template("report.html.j2").render(
        title=_title(cells, bisection),
        caption=_caption(cells),
        count=len(table),
        legend=legend(_EXPLAINED),
        kinds=KINDS,
        conclusions=_by_kind(conclusions, cells),
        statuses=list(table["status"].value_counts().items()),
        reasons=_reasons(table),
        revisions=len(cells.revisions),
        has_phases=bool(phase_columns["process"]),
        has_timeline=bool(times["process"]),
        shades=SHADES,
        has_iterations=table.dropna(subset=["steady_bytes"])["iterations"].nunique() > 1,
        parts=PARTS,
        bisection=None
        if bisection is None
        else {
            "headline": bisections.headline(bisection),
            "facts": bisections.facts(bisection),
            "plot": plot is not None,
            "command": bisection["command"],
        },
        plots=plots(),
        page_facts={"parts": PARTS, "shades": SHADES},
        data=pack(
            {
                **{"cells": cells_content(cells), "phases": phase_columns},
                **{"timeline": times, "bisection": plot},
            }
        ),
        css=Markup((_PAGE / "report.css").read_text(encoding="utf-8")),  # noqa: S704  # our own
        vega=Markup(vega_script()),  # noqa: S704  # a package's own
        script=Markup("\n".join(_script(name) for name in _SCRIPTS)),  # noqa: S704  # our own
    )


def _script(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _title(cells: Cells, bisection: Mapping[str, Any] | None) -> str:
    if cells.table.empty and bisection:
        return f"et-peak: bisection of {bisection['metric']}"
    revisions = cells.revisions
    if len(revisions) > 3:
        return f"et-peak: {len(revisions)} revisions of ExecuTorch"
    return f"et-peak: ExecuTorch {', '.join(revisions)}"


def _caption(cells: Cells) -> str:
    """Say what all cells have in common."""
    if cells.table.empty:
        return ""
    common = {axis: cells.table[axis].replace("", pd.NA).dropna().unique() for axis in _CAPTION}
    parts = [f"{len(cells.table)} cells"]
    said = {axis: f"{axis} " * (axis in ("allocator", "torch")) for axis in _CAPTION}
    parts += [f"{said[axis]}{found[0]}" for axis, found in common.items() if len(found) == 1]
    return " · ".join(parts)


def _by_kind(conclusions: Sequence[Conclusion], cells: Cells) -> dict[str, list[dict[str, Any]]]:
    where = positions(cells)
    return {
        kind: [
            {"text": c.text, "command": c.command, "cells": evidence(c.evidence, where)}
            for c in conclusions
            if c.kind == kind
        ]
        for kind, _ in KINDS
    }


def _reasons(table: pd.DataFrame) -> list[str]:
    bad = table[table["status"].ne("ok")]
    counts = Counter(zip(bad["status"], bad["reason"], strict=True))
    return [
        f"{status}{': ' * bool(reason)}{reason} ({count} cell{'s' * (count > 1)})"
        for (status, reason), count in counts.items()
    ]
