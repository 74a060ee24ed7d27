"""``nox -s report``: the table of a run, what it rules out, and report.html.

nox -s report                          the latest run
nox -s report -- RUN                   a run, a published table (NAME), a file, or a folder of them
nox -s report -- results/reference/    the published figures of three threads
nox -s report -- BISECTION             a bisection, by id or folder: the values along the commits
nox -s report -- RUN commit=X          what of it is of one revision; also exporter=, runtime=

format=   table, markdown, csv, json, pytorch, github-action-benchmark
html=     where report.html goes [into the run's folder]; html=no for none
runs=     where the runs are [results/runs]
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from rich.console import Console

from bench.analysis.attribution import across, attribute
from bench.analysis.cells import COLUMNS
from bench.analysis.compare import compare
from bench.analysis.conclusion import Conclusion
from bench.command import run_command
from bench.errors import Exit, choices
from bench.place import expanded, ours
from bench.report.beside import beside
from bench.report.bisection import find_bisection, report_bisection
from bench.report.formats import FORMATS
from bench.report.part import Part, as_markdown, to_terminal
from bench.report.sources import Source, at_revisions, find, noise_tables
from bench.report.table import summarise, without_empty
from bench.results.schema import PHASES, TIMELINE
from bench.results.tables import read_csv, read_table
from bench.words import Words, split

_REVISIONS = ("commit", "exporter", "runtime")
_KEYS = (*_REVISIONS, "format", "html", "runs")


def main(argv: Sequence[str] | None = None) -> int:
    """Report on one or more tables; return the exit code."""
    return run_command(_main, argv)


def _main(argv: list[str], console: Console) -> int:
    if {"-h", "--help"} & set(argv):
        print(__doc__)
        return Exit.OK
    words = split(argv, _KEYS)
    form = words.get("format", "table")
    if form not in (valid := ["table", "markdown", *FORMATS]):
        raise choices("format", form, valid)
    given, results = words.values.get("runs"), ours("results")
    runs = expanded(given, "runs") if given else results / "runs"
    if len(words.names) == 1 and (folder := find_bisection(words.names[0], results)) is not None:
        page = _page(words, folder)
        report_bisection(folder, form, page, console)
        if page is not None:
            print(page, file=sys.stderr)
        return Exit.OK
    sources = [s for name in words.names or ("latest",) for s in find(name, runs, results)]
    sources = [_at(source, words) for source in sources]
    concluded = [attribute(source.table) for source in sources]
    together = across([source.table for source in sources]) if len(sources) > 1 else []
    said = [*(one for part in concluded for one in part), *together]
    table = pd.concat([source.table for source in sources], ignore_index=True)
    if form in FORMATS:
        print(FORMATS[form](table, said), end="")
        return Exit.OK
    published = _published() if table["device"].notna().any() else []
    parts = [
        _part(source, conclusions, published)
        for source, conclusions in zip(sources, concluded, strict=True)
    ]
    if together:
        parts.append(Part("All tables together", None, tuple(together)))
    for part in parts:
        if form == "markdown":
            print(as_markdown(part), end="\n\n")
        else:
            to_terminal(part, console)
    written = _html(words, sources, table, said)
    if written is not None:
        print(written, file=sys.stderr)
    return Exit.OK


def _at(source: Source, words: Words) -> Source:
    """Keep the rows of the revisions that were named."""
    for key in _REVISIONS:
        if key in words.values:
            source = replace(source, table=at_revisions(source, key, [words.values[key]])[0])
    return source


def _part(source: Source, conclusions: Sequence[Conclusion], published: list[pd.DataFrame]) -> Part:
    """Lay one table out: its lines, before and after where it holds two revisions."""
    summary = without_empty(summarise(source.table))
    notes = list(summary.reasons)
    if source.table["device"].notna().any():
        notes.append("the noise of rows from elsewhere is taken to be that of our own machines")
    change = None
    revisions = [str(name) for name in source.table["exporter"].dropna().unique()]
    if len(revisions) == 2:
        runtimes = {str(name) for name in source.table["runtime"].dropna()}
        key = "commit" if runtimes in (set(), set(revisions)) else "exporter"
        before, after = at_revisions(source, key, revisions)
        change = compare(before, after, earlier=noise_tables(ours("results")))
    title = " -> ".join(revisions)
    return Part(
        source.name,
        summary,
        tuple(conclusions),
        tuple(notes),
        (title, change) if change is not None and change.lines else None,
        beside(source.table, published),
    )


def _published() -> list[pd.DataFrame]:
    return [read_csv(path, COLUMNS) for path in sorted(ours("results").glob("*.csv"))]


def _html(
    words: Words, sources: Sequence[Source], table: pd.DataFrame, said: Sequence[Conclusion]
) -> str | None:
    """Write report.html; return the line that says where."""
    alone = sources[0] if len(sources) == 1 and sources[0].is_run else None
    path = _page(words, alone.path if alone else None)
    if path is None:
        return None
    phases = read_table(alone.path / "phases.csv", PHASES) if alone else None
    timeline = read_table(alone.path / "timeline.csv", TIMELINE) if alone else None
    from bench.report.html import write_report  # its plots take a second to import

    write_report(path, table, phases, said, None, timeline)
    return str(path)


def _page(words: Words, folder: Path | None) -> Path | None:
    """Return where report.html goes: as html= says, else into the folder; None for nowhere."""
    given = words.values.get("html")
    if given is None:
        return folder / "report.html" if folder else None
    return None if given == "no" else expanded(given, "html")


if __name__ == "__main__":
    gc.disable()  # a short process of many small objects: looking for cycles costs a sixth of it
    sys.exit(main())
