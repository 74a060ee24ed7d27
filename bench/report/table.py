"""The table of a run: one line per cell, in a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import pandas as pd
from rich import box
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from bench.pte import EXPORTER
from bench.report.grid import plain
from bench.results.tables import IDENTITY, in_order
from bench.values import format_mb, format_seconds

AXES = (
    *("model", "precision", "backend", "exporter", "runtime", "runner", "allocator", "load_mode"),
    *("samples", "max_tokens", "seed", "rung", "torch", "machine"),
)
# Columns that rows from elsewhere have (bench.results.schema.PROVENANCE).
_ELSEWHERE = ("device", "metric_kind", "measured_by")
# Said in the caption only where lines differ in it: it is the same for nearly every run.
_QUIET = ("max_tokens", "seed", "rung", "torch", "machine")
_STYLES = {"ok": "green", "unsupported": "dim", "over_memory": "red", "failed": "red"}


@dataclass(frozen=True)
class Summary:
    """A table ready to print.

    Attributes:
        header: titles of the columns; memory and file sizes are MB (10^6 bytes).
        lines: the cells of each line, as text.
        constant: the axes on which all lines agree, such as ``{"exporter": "v1.4.1"}``.
        reasons: one line per status that is not ok, and per note on a program, naming the cells
            it holds for.

    """

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    constant: Mapping[str, str]
    reasons: tuple[str, ...]


def summarise(table: pd.DataFrame) -> Summary:
    """Reduce measurements to one line per cell: the median of its repeats.

    Where a cell has several repeats, ``spread`` is (max - min) / median of its peak above the
    baseline. ``d/file`` is that peak over the size of the program.
    """
    ordered = in_order(table)
    axes_here = [axis for axis in (*AXES, *_ELSEWHERE) if axis in ordered.columns]
    values = {axis: ordered[axis].replace("", pd.NA).dropna().unique() for axis in axes_here}
    axes = [axis for axis in axes_here if len(values[axis]) > 1]
    constant = {
        axis: str(found[0])
        for axis, found in values.items()
        if len(found) == 1 and axis not in _QUIET
    }
    repeated = bool((ordered["repeat"] > 0).any())
    columns = [name for name in _COLUMNS if repeated or name != "spread"]
    lines = []
    for cell in _cells(ordered, axes):
        axis_texts = [cell.text(axis) for axis in axes]
        lines.append((*axis_texts, *(_COLUMNS[name](cell) for name in columns)))
    return Summary(
        (*axes, *columns), tuple(lines), constant, (*_reasons(ordered), *_notes(ordered))
    )


def without_empty(summary: Summary) -> Summary:
    """Leave out the columns in which no line says anything, as most are of published figures."""
    kept = [n for n in range(len(summary.header)) if any(line[n] for line in summary.lines)]
    return replace(
        summary,
        header=tuple(summary.header[n] for n in kept),
        lines=tuple(tuple(line[n] for n in kept) for line in summary.lines),
    )


def rich_table(summary: Summary) -> Table:
    """Build the table for a terminal."""
    table = Table(
        title=escape(caption(summary)),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 0),
        pad_edge=False,
    )
    texts = {*AXES, *_ELSEWHERE, "method", "status"}
    for name in summary.header:
        table.add_column(name, justify="left" if name in texts else "right", overflow="fold")
    for line in summary.lines:
        texts_of = [escape(text) for text in line]
        table.add_row(*texts_of[:-1], f"[{_STYLES.get(line[-1], 'yellow')}]{texts_of[-1]}[/]")
    return table


def narrowed(summary: Summary, width: int) -> Summary:
    """Leave out the columns that can best be missed, until the table fits ``width`` characters.

    What tells the lines apart, and the peak with its status, is never left out.
    """
    for name in _MISSED:
        if _width(summary) <= width:
            break
        if name in summary.header:
            at = summary.header.index(name)
            header, *lines = (
                (*row[:at], *row[at + 1 :]) for row in (summary.header, *summary.lines)
            )
            summary = replace(summary, header=header, lines=tuple(lines))
    return summary


def _width(summary: Summary) -> int:
    """Return the characters that :func:`rich_table` takes: the cells, and one beside each."""
    columns = zip(summary.header, *summary.lines, strict=True)
    return sum(max(map(cell_len, column)) + 1 for column in columns) + 1


def legend(header: Sequence[str]) -> str:
    """Explain the columns that are there."""
    return "; ".join(f"{name}: {text}" for name, text in _LEGEND.items() if name in header)


def caption(summary: Summary) -> str:
    """Say what all lines have in common."""
    found = dict(summary.constant)
    exporter, runtime = found.pop("exporter", ""), found.pop("runtime", "")
    revision = exporter if runtime in ("", exporter) else f"exporter {exporter}, runtime {runtime}"
    if exporter == EXPORTER:
        revision = runtime
    words = [found.pop(axis, "") for axis in ("model", "precision", "backend")]
    words += ["exported elsewhere"] if exporter == EXPORTER else []
    head = " ".join(filter(None, [*words, revision and f"@ {revision}"]))
    rest = [f"{axis} {value}" for axis, value in found.items()]
    return ", ".join(filter(None, [head, *rest]))


def markdown(summary: Summary) -> str:
    """Build the table as GitHub Markdown, numbers to the right."""
    texts = {*AXES, *_ELSEWHERE, "method", "status"}
    rule = ["---" if name in texts else "---:" for name in summary.header]
    rows = [summary.header, rule, *(tuple(map(plain, line)) for line in summary.lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


class _Cell:
    """The repeats of one cell, reduced.

    Args:
        columns: all values of the table by column; a missing one is None.
        rows: positions of the cell's own.

    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> None:
        self._columns = columns
        self._first = rows[0]
        self._statuses = [str(columns["status"][row]) for row in rows]
        good = [row for row in rows if columns["status"][row] == "ok"]
        self._used = good or rows

    def median(self, column: str) -> float | None:
        values = self._values(column)
        if len(values) == 1:
            return float(values[0])
        return float(median(values)) if values else None

    def text(self, column: str) -> str:
        value = self._columns[column][self._first]
        return "" if value is None else str(value)

    def _values(self, column: str) -> list[float]:
        column_values = self._columns[column]
        return [v for row in self._used if (v := column_values[row]) is not None]

    @property
    def status(self) -> str:
        """``ok`` if all repeats are; else the first other status."""
        return next((status for status in self._statuses if status != "ok"), "ok")

    @property
    def spread(self) -> str:
        values = self._values("peak_delta_bytes")
        if len(values) < 2 or not median(values):
            return ""
        return f"{(max(values) - min(values)) / median(values):.2%}"

    @property
    def delta_per_file(self) -> str:
        delta, pte = self.median("peak_delta_bytes"), self.median("pte_bytes")
        return f"{delta / pte:.2f}x" if delta is not None and pte else ""

    @property
    def seconds(self) -> str:
        run = self.median("exec_median_s")
        return format_seconds(self.median("total_s") if run is None else run)

    @property
    def peak(self) -> str:
        text = format_mb(self.median("peak_delta_bytes"))
        return f">= {text}" if text and self.status == "over_memory" else text

    @property
    def nodes(self) -> str:
        inside, outside = self.text("delegated_nodes"), self.text("undelegated_nodes")
        return f"{inside or '?'}/{outside}" if outside else ""


_LEGEND = {
    "peak": "MB (10^6 bytes) above the RSS after the imports",
    "spread": "of the repeats' peaks, (max - min) / median",
    "total": "MB with what the imports keep",
    "first": "MB during the first execution",
    "steady": "MB after the last",
    "d/file": "peak over the size of the program",
    "time": "median execution, or the export",
    ".pte": "MB",
    "deleg/not": "graph nodes inside and outside delegates",
}
_MISSED = ("first", "steady", "deleg/not", "d/file", ".pte", "total", "spread", "time")
"""What a narrow table does without, the first first."""

_COLUMNS: dict[str, Callable[[_Cell], str]] = {
    "method": lambda cell: cell.text("method"),
    "runs": lambda cell: cell.text("iterations"),
    "peak": lambda cell: cell.peak,
    "spread": lambda cell: cell.spread,
    "total": lambda cell: format_mb(cell.median("peak_bytes")),
    "first": lambda cell: format_mb(cell.median("first_peak_bytes")),
    "steady": lambda cell: format_mb(cell.median("steady_bytes")),
    "d/file": lambda cell: cell.delta_per_file,
    "time": lambda cell: cell.seconds,
    ".pte": lambda cell: format_mb(cell.median("pte_bytes")),
    "deleg/not": lambda cell: cell.nodes,
    "status": lambda cell: cell.status,
}


_READ = (
    *("method", "iterations", "status", "peak_delta_bytes", "peak_bytes", "first_peak_bytes"),
    *("steady_bytes", "total_s", "exec_median_s", "pte_bytes"),
    *("delegated_nodes", "undelegated_nodes"),
)


def _cells(table: pd.DataFrame, axes: Sequence[str]) -> Iterator[_Cell]:
    """Group the rows of each cell, in the order of the table."""
    # Lists, not frames: a group of pandas costs a millisecond, and there may be 100 000.
    columns = {
        name: table[name].astype("object").where(table[name].notna(), None).tolist()
        for name in dict.fromkeys((*_READ, *axes))
    }
    identity = [*IDENTITY, *(name for name in _ELSEWHERE if name in table.columns)]
    groups = table.groupby(identity, sort=False, dropna=False).ngroup().tolist()
    rows: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return (_Cell(columns, own) for own in rows.values())


def _reasons(table: pd.DataFrame) -> list[str]:
    bad = table[(table["status"] != "ok") & table["reason"].notna()]
    lines = []
    for (status, reason), group in bad.groupby(["status", "reason"], sort=False):
        names = dict.fromkeys(
            " ".join(filter(None, map(_text, (r.model, r.precision, r.backend, r.method))))
            for r in group.itertuples()
        )
        lines.append(f"{status}: {reason}  [{', '.join(names)}]")
    return lines


def _notes(table: pd.DataFrame) -> list[str]:
    noted = table[table["notes"].fillna("") != ""]
    lines: dict[str, dict[str, None]] = {}
    for row in noted.itertuples():
        for note in str(row.notes).split("; "):
            lines.setdefault(note, {})[f"{row.model} {row.precision} {row.backend}"] = None
    return [f"note: {note}  [{', '.join(names)}]" for note, names in lines.items()]


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
