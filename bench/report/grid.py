"""A table of text: as Markdown, as CSV that a spreadsheet can't run, in a terminal. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
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
# What GitHub's Markdown gives a meaning, and what is written for it.
# A mention or a reference is made of the rendered text, where only a comment parts it. Source:
# the GitHub Flavored Markdown Spec, and what GitHub links on top of it.
_ALWAYS = str.maketrans(
    {
        **{"&": "&amp;", "<": "&lt;", "`": "'", "\n": " ", "\r": " "},
        **{mark: f"\\{mark}" for mark in "\\|*~"},
    }
)
_MARKUP = re.compile(r"[&<`\n\r\\|*~\[\]_@#]|GH-")
_LINKS = re.compile(r"\](?=[(\[:])|\[(?=\^|[ xX]\])")
_OUTSIDE_A_WORD = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_REFERENCE = re.compile(r"(@|#|GH-)(?=\w)")
_BLOCK = re.compile(r"([0-9]+(?=[.)](?:\s|$))|(?=[>#]|[-+](?:[-\s]|$)))")


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
    return markdown_lines([grid.header, *grid.rows], rule)


def markdown_lines(rows: Sequence[Sequence[str]], rule: Sequence[str]) -> str:
    """Build a table of Markdown: a header and the rows, all as plain text, and the rule."""
    head, *lines = (
        # One look at a whole row: most have nothing to be escaped, and a matrix has many rows.
        "| " + " | ".join(map(inline, row) if _MARKUP.search("\0".join(row)) else row) + " |"
        for row in rows
    )
    return "\n".join([head, "| " + " | ".join(rule) + " |", *lines])


def plain(text: str) -> str:
    """Write a text so that GitHub's Markdown shows it as it is, as a line of its own."""
    text = text.strip()
    begun = _BLOCK.match(text)
    return f"{begun[0]}\\{inline(text[begun.end() :])}" if begun else inline(text)


def inline(text: str) -> str:
    """Write a text so that GitHub's Markdown shows it as it is, in a line or a cell of a table.

    Only what would be markup is escaped, so that the source can be read too. Line ends are
    spaces, and a backquote is a quote.
    """
    if not _MARKUP.search(text):
        return text
    text = _LINKS.sub(r"\\\g<0>", text.translate(_ALWAYS))
    return _REFERENCE.sub(r"\1<!-- -->", _OUTSIDE_A_WORD.sub(r"\\_", text))


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
