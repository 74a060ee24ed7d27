"""The table of a run: one line per cell, in a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
from rich import box
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from bench.pte import EXPORTER
from bench.report.grid import markdown_lines
from bench.results.cells import as_list, reduce_repeats
from bench.results.tables import in_order
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
    cells = reduce_repeats(ordered)
    values = {
        axis: cells[axis].replace("", pd.NA).dropna().unique() for axis in (*AXES, *_ELSEWHERE)
    }
    axes = [axis for axis in values if len(values[axis]) > 1]
    constant = {
        axis: str(found[0])
        for axis, found in values.items()
        if len(found) == 1 and axis not in _QUIET
    }
    repeated = bool((cells["repeats"] > 1).any())
    columns = [name for name in _COLUMNS if repeated or name != "spread"]
    told = [_texts(cells, axis) for axis in axes]
    lines = zip(*told, *(_COLUMNS[name](cells) for name in columns), strict=True)
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
    return markdown_lines([summary.header, *summary.lines], rule)


def _texts(cells: pd.DataFrame, column: str) -> list[str]:
    return ["" if value is None else str(value) for value in as_list(cells[column])]


def _sizes(cells: pd.DataFrame, column: str) -> list[str]:
    return [format_mb(size) for size in as_list(cells[column])]


def _peaks(cells: pd.DataFrame) -> list[str]:
    bound = cells["status"].eq("over_memory")
    texts = zip(_sizes(cells, "peak_delta_bytes"), bound, strict=True)
    return [f">= {text}" if text and least else text for text, least in texts]


def _spreads(cells: pd.DataFrame) -> list[str]:
    spread = (cells["highest"] - cells["lowest"]) / cells["peak_delta_bytes"]
    told = cells["n"].gt(1) & cells["peak_delta_bytes"].gt(0)
    return [f"{share:.2%}" if is_told else "" for share, is_told in zip(spread, told, strict=True)]


def _per_file(cells: pd.DataFrame) -> list[str]:
    sizes = cells["pte_bytes"]
    ratio = cells["peak_delta_bytes"] / sizes.where(sizes.gt(0))
    return ["" if pd.isna(times) else f"{times:.2f}x" for times in ratio]


def _times(cells: pd.DataFrame) -> list[str]:
    times = cells["exec_median_s"].where(cells["method"] != "export", cells["total_s"])
    return [format_seconds(seconds) for seconds in as_list(times)]


def _nodes(cells: pd.DataFrame) -> list[str]:
    pairs = zip(as_list(cells["delegated_nodes"]), as_list(cells["undelegated_nodes"]), strict=True)
    return [
        "" if outside is None else f"{'?' if inside is None else f'{inside:g}'}/{outside:g}"
        for inside, outside in pairs
    ]


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

_COLUMNS: dict[str, Callable[[pd.DataFrame], list[str]]] = {
    "method": partial(_texts, column="method"),
    "runs": partial(_texts, column="iterations"),
    "peak": _peaks,
    "spread": _spreads,
    "total": partial(_sizes, column="peak_bytes"),
    "first": partial(_sizes, column="first_peak_bytes"),
    "steady": partial(_sizes, column="steady_bytes"),
    "d/file": _per_file,
    "time": _times,
    ".pte": partial(_sizes, column="pte_bytes"),
    "deleg/not": _nodes,
    "status": partial(_texts, column="status"),
}


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
            names = " ".join(filter(None, map(_text, (row.model, row.precision, row.backend))))
            lines.setdefault(note, {})[names] = None
    return [f"note: {note}  [{', '.join(names)}]" for note, names in lines.items()]


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
