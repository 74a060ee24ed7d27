"""One part of a report: a table, what changed in it, what it says; in a terminal or Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from bench.analysis.compare import Comparison
from bench.analysis.conclusion import Conclusion
from bench.report import comparison as changes
from bench.report import conclusions as words_of
from bench.report import grid as grids
from bench.report.grid import Grid, say
from bench.report.table import Summary, caption, legend, markdown, narrowed, rich_table

_BESIDE = "beside our own runs of the same program"


@dataclass(frozen=True)
class Part:
    """What is shown of one table.

    Attributes:
        title: its name.
        table: one line per cell; None where there is nothing but conclusions.
        conclusions: in the order to be read.
        notes: one line each, below the table.
        change: the two revisions and their comparison, where the table holds two.
        beside: our own figures beside published ones.

    """

    title: str
    table: Summary | None
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...] = ()
    change: tuple[str, Comparison] | None = None
    beside: Grid | None = None


def as_markdown(part: Part) -> str:
    """Build Markdown, for an issue or a pull request."""
    found = [f"## {grids.inline(part.title)}"]
    if part.table is not None:
        found += [markdown(part.table), grids.plain(caption(part.table))]
    found.append("\n".join(f"- {grids.plain(note)}" for note in part.notes))
    if part.change is not None:
        found.append(changes.summary(part.change[1], part.change[0]).rstrip())
    if part.beside is not None:
        found += [f"{_BESIDE.capitalize()}:", grids.markdown(part.beside)]
    found.append(words_of.markdown(part.conclusions))
    return "\n\n".join(text for text in found if text)


def to_terminal(part: Part, console: Console) -> None:
    """Print to a terminal; of a very long table the beginning."""
    console.rule(part.title, align="left")
    if part.table is not None:
        table = part.table
        shown = Summary(table.header, table.lines[: changes.SHOWN], table.constant, ())
        console.print(rich_table(narrowed(shown, console.width)))
        if len(table.lines) > changes.SHOWN:
            say(
                console,
                f"and {len(table.lines) - changes.SHOWN} lines more: format=markdown has all",
            )
    for note in part.notes:
        say(console, f"  {note}")
    if part.change is not None:
        title, change = part.change
        changes.to_terminal(change, title, console)
    if part.beside is not None:
        console.print(grids.terminal(part.beside, _BESIDE))
    for line in words_of.lines(part.conclusions):
        say(console, line)
    if part.table is not None:
        console.print(f"[dim]{legend(part.table.header)}[/]", highlight=False)
