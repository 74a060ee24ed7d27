"""A comparison in words: the table as the threads print it, and what it comes to. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
from rich.console import Console

from bench.analysis.cells import text as cell_text
from bench.analysis.compare import Comparison, Line
from bench.analysis.figures import Figure, least_bytes
from bench.report.grid import Grid, inline, markdown, plain, say, terminal
from bench.values import format_change, format_percent, format_seconds, format_size

_AXES = ("model", "precision", "backend", "method", "iterations", "samples")
_CONSTANT_TOO = ("allocator", "load_mode", "place", "exporter", "runtime")
_SHOWS: dict[str, Callable[[float], str]] = {
    "peak": format_size,
    "steady": format_size,
    "time": format_seconds,
    "pte": format_size,
}
SHOWN = 200
"""Lines of a table in a terminal; all of them are in the other formats."""
_VERDICTS = ("regressed", "improved", "same", "noisy", "incomparable")


def grid(comparison: Comparison, *, leftover: bool = False) -> Grid:
    """Build the table, one line per pair of cells; axes on which all agree are left out.

    Args:
        comparison: what is shown.
        leftover: whether the cells that stand against none get a line each, too.

    """
    pairs = comparison.pairing.pairs
    rest = _leftover(comparison) if leftover else []
    axes = [
        axis
        for axis in _AXES
        if pd.concat([pairs[f"before_{axis}"], *(cells[axis] for _, cells in rest)]).nunique(
            dropna=False
        )
        != 1
    ]
    names = ["peak", "steady", "time", ".pte"]
    header = (
        *("runs" if a == "iterations" else a for a in axes),
        *names,
        "noise",
        "verdict",
        "why",
    )
    labels = [pairs[f"before_{axis}"].astype("string").fillna("").tolist() for axis in axes]
    rows = [
        (*label, *_figures(line), _limit(line), line.verdict, _why(line))
        for line, *label in zip(comparison.lines, *labels, strict=True)
    ]
    for verdict, cells in rest:
        told = zip(*(cells[axis].astype("string").fillna("") for axis in axes), strict=True)
        empty = [""] * (len(names) + 1)
        rows += [(*label, *empty, verdict, "") for label in told] if axes else []
    return Grid(
        header, tuple(rows), frozenset({"runs", "samples", *names, "noise"})
    ).without_empty()


def caption(comparison: Comparison) -> str:
    """Say what all pairs have in common."""
    pairs = comparison.pairing.pairs
    same = []
    for axis in (*_AXES, *_CONSTANT_TOO):
        sides = [pairs[f"{side}_{axis}"].dropna().unique() for side in ("before", "after")]
        values = {text(value) for side in sides for value in side} - {""}
        if len(values) == 1 and axis not in ("iterations", "samples"):
            same.append(values.pop())
    return " ".join(dict.fromkeys(same))


def verdict_counts(comparison: Comparison) -> str:
    """Count the verdicts: ``1 regressed, 14 same``."""
    counts = [(comparison.count(verdict), verdict) for verdict in _VERDICTS]  # type: ignore[arg-type]
    words = ", ".join(f"{count} {verdict}" for count, verdict in counts if count)
    return words or "nothing to compare"


def remarks(comparison: Comparison) -> list[str]:
    """Say what the table does not show: cells without counterpart, what was forced, the floor."""
    found = []
    pairing = comparison.pairing
    for title, rest in (("before", pairing.only_before), ("after", pairing.only_after)):
        if len(rest):
            found.append(f"only {title}: {_listed(rest)}")
    if len(pairing.ambiguous):
        found.append(
            f"not compared, several cells look alike: {_listed(pairing.ambiguous)}; "
            "compare single runs, or give commit=A,B"
        )
    forced = dict.fromkeys(reason for line in comparison.lines for reason in line.forced)
    if forced:
        found.append(f"FORCED in spite of: {'; '.join(forced)}")
    found.append(
        f"a difference counts beyond the noise in its column, and never below "
        f"{format_percent(comparison.floor).lstrip('+')} (floor=), nor of memory below "
        f"{format_size(least_bytes(comparison.floor))}"
    )
    return found


def to_terminal(comparison: Comparison, title: str, console: Console) -> None:
    """Print the comparison; of a very long one what is not the same first, then the beginning."""
    say(console, f"{title}: {verdict_counts(comparison)}")
    if not comparison.lines:
        return
    whole = grid(comparison)
    rows = whole.rows
    if len(rows) > SHOWN:
        verdicts = (line.verdict == "same" for line in comparison.lines)
        ordered = sorted(zip(verdicts, range(len(rows)), strict=True))
        rows = tuple(rows[n] for _same, n in ordered[:SHOWN])
    console.print(terminal(Grid(whole.header, rows, whole.right), caption(comparison)))
    if len(whole.rows) > SHOWN:
        say(console, f"and {len(whole.rows) - SHOWN} lines more: format=markdown has all")


def summary(comparison: Comparison, title: str) -> str:
    """Build the whole comparison as Markdown, for an issue or a pull request."""
    parts = [f"### {inline(title)}: {verdict_counts(comparison)}", plain(caption(comparison))]
    if comparison.lines:
        parts.append(markdown(grid(comparison)))
    parts.append("\n".join(f"- {plain(remark)}" for remark in remarks(comparison)))
    return "\n\n".join(part for part in parts if part) + "\n"


def to_json(comparison: Comparison) -> str:
    """Build the comparison as JSON: bytes and seconds, one object per pair."""
    lines = [
        {
            **{axis: text(getattr(line.pair, f"before_{axis}")) for axis in _AXES},
            "before_cell_key": line.pair.before_cell_key,
            "after_cell_key": line.pair.after_cell_key,
            "verdict": line.verdict,
            "reasons": list(line.reasons),
            "forced": list(line.forced),
            "notes": list(line.notes),
            "figures": {
                name: {
                    "before": figure.before,
                    "after": figure.after,
                    "difference": figure.difference,
                    "relative": figure.relative,
                    "noise": figure.limit,
                    "verdict": figure.verdict,
                }
                for name, figure in line.figures.items()
            },
        }
        for line in comparison.lines
    ]
    left = {
        verdict.replace(" ", "_"): [
            {axis: cell_text(value) for axis, value in zip(columns, values, strict=True)}
            for columns in [(*_AXES, "exporter", "runtime", "status", "cell_key")]
            for values in cells[list(columns)].itertuples(index=False, name=None)
        ]
        for verdict, cells in _leftover(comparison)
    }
    content = {"floor": comparison.floor, "cells": lines, **left}
    return json.dumps(content, indent=2, allow_nan=False)


def _leftover(comparison: Comparison) -> list[tuple[str, pd.DataFrame]]:
    """Return the cells that stand against none, by what is said of them."""
    pairing = comparison.pairing
    return [
        ("only before", pairing.only_before),
        ("only after", pairing.only_after),
        ("ambiguous", pairing.ambiguous),
    ]


def text(value: Any) -> str:
    """Print a value of a pair, whole numbers whole; '' for none."""
    if value is None:
        return ""
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def _figures(line: Line) -> list[str]:
    texts = []
    for name, show in _SHOWS.items():
        figure = line.figures.get(name)
        if figure is None or (name == "pte" and figure.before == figure.after):
            texts.append("")
        else:
            texts.append(_change(figure, show))
    return texts


def _change(figure: Figure, show: Callable[[float], str]) -> str:
    if figure.before is None or figure.after is None:
        known = figure.before if figure.after is None else figure.after
        side = "before" if figure.after is None else "after"
        return f"{show(known)} ({side} only)" if known is not None else ""
    if figure.verdict is None:  # refused: no percentage of what can't be compared
        return f"{show(figure.before)} | {show(figure.after)}"
    return format_change(figure.before, figure.after, show)


def _limit(line: Line) -> str:
    figure = line.figures.get("peak")
    if figure is None or figure.verdict is None:
        return ""
    return f"±{format_percent(figure.limit).lstrip('+')}"


def _why(line: Line) -> str:
    words = [*line.reasons]
    if line.forced:
        words.append(f"forced: {'; '.join(line.forced)}")
    time = line.figures.get("time")
    if time is not None and time.verdict == "noisy":
        words.append(f"time is within its noise of ±{format_percent(time.limit).lstrip('+')}")
    return "; ".join([*words, *line.notes])


def _listed(rest: Any) -> str:
    names = [
        " ".join(filter(None, (cell_text(getattr(cell, axis)) for axis in _AXES[:5])))
        for cell in rest.head(6).itertuples()
    ]
    more = f" and {len(rest) - 6} more" if len(rest) > 6 else ""
    return f"{len(rest)} cells ({', '.join(dict.fromkeys(names))}{more})"
