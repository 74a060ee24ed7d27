"""A table of text: as Markdown, as CSV that a spreadsheet can't run, in a terminal. Pure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.values import neutral

_STYLES = {
    **dict.fromkeys(("ok", "same", "improved"), "green"),
    **dict.fromkeys(("failed", "regressed", "over_memory"), "red"),
    **dict.fromkeys(("noisy", "incomparable", "timeout", "untestable"), "yellow"),
}
_PLAIN = str.maketrans({"&": "&amp;", "<": "&lt;", "|": "\\|", "\n": " ", "`": "'"})


@dataclass(frozen=True)
class Grid:
    """Text in rows and columns.

    Attributes:
        header: titles of the columns.
        rows: as many texts each.
        right: titles of the columns that hold numbers.

    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()

    def without_empty(self) -> Grid:
        """Leave out the columns in which nothing is said."""
        kept = [n for n in range(len(self.header)) if any(row[n] for row in self.rows)]
        return Grid(
            tuple(self.header[n] for n in kept),
            tuple(tuple(row[n] for n in kept) for row in self.rows),
            self.right,
        )


def markdown(grid: Grid) -> str:
    """Build the table as GitHub Markdown; what a cell says is never markup."""
    rule = ["---:" if name in grid.right else "---" for name in grid.header]
    rows = [grid.header, rule, *(tuple(map(plain, row)) for row in grid.rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def plain(text: str) -> str:
    """Take the markup out of a text for one cell of Markdown: bars, tags, line ends."""
    return text.translate(_PLAIN)


def to_csv(grid: Grid) -> str:
    """Build the table as CSV; see :func:`bench.values.neutral`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(grid.header)
    writer.writerows([[neutral(text) for text in row] for row in grid.rows])
    return out.getvalue()


def terminal(grid: Grid, title: str = "") -> Table:
    """Build the table for a terminal."""
    table = Table(
        title=escape(title) or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in grid.header:
        table.add_column(name, justify="right" if name in grid.right else "left", overflow="fold")
    for row in grid.rows:
        table.add_row(*(_styled(text) for text in row))
    return table


def say(console: Console, line: str) -> None:
    """Print a line as it is: no markup, no colours of numbers, no line breaks of rich's."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _styled(text: str) -> str:
    style = _STYLES.get(text)
    return f"[{style}]{escape(text)}[/]" if style else escape(text)
