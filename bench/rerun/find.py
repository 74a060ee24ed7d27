"""Which recorded measurement is meant by a cell key, or by a row of a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.cells import name as cell_name
from bench.errors import RequestError
from bench.report.sources import Source, find_one
from bench.results.record import list_runs
from bench.results.tables import IDENTITY

_KEY = re.compile(r"[0-9a-f]{6,16}")
_NEAR = 3


@dataclass(frozen=True)
class Recorded:
    """One measurement of a table, with all its repeats.

    Attributes:
        place: where it stands, such as ``results/whisper-v1.4.1.csv:3``.
        folder: of the table, or of the run.
        table: its rows, with the columns of :data:`bench.analysis.cells.COLUMNS`.
        row: the one that was named, as plain values; None for what is missing.

    """

    place: str
    folder: Path
    table: pd.DataFrame
    row: Mapping[str, Any]


def find_recorded(word: str, runs: Path, results: Path) -> Recorded:
    """Find what a word names: ``KEY``, ``TABLE:LINE`` or ``TABLE#KEY``.

    A table is a file, a published name or a run; a key alone is looked up in the published tables
    first, then in the runs, the newest first. Its first six digits are enough where they are one's.

    Raises:
        RequestError: if it names none, with the nearest that there are, or several.

    """
    name, mark, key = word.rpartition("#")
    if mark:
        source = find_one(name, runs, results)
        found = _by_key(key, [source])
        if not found:
            raise _no_key(key, [source])
        return found
    name, mark, line = word.rpartition(":")
    if mark and line.isascii() and line.isdigit():
        return _by_line(find_one(name, runs, results), int(line))
    if _KEY.fullmatch(word):
        sources = list(_all(runs, results))
        found = _by_key(word, sources)
        if not found:
            raise _no_key(word, sources)
        return found
    source = find_one(word, runs, results)
    raise RequestError(
        f"{word}: name a row of it, {source.name}#CELL_KEY or {source.name}:LINE "
        f"(2 to {len(source.table) + 1})"
    )


def _all(runs: Path, results: Path) -> Iterator[Source]:
    for path in sorted(results.glob("*.csv")):
        yield find_one(str(path.absolute()), runs, results)
    for run in reversed(list_runs(runs)):
        if (runs / run / "measurements.csv").is_file():
            yield find_one(str((runs / run).absolute()), runs, results)


def _by_key(key: str, sources: list[Source]) -> Recorded | None:
    """Return the measurement of a key in the first table that has it."""
    for source in sources:
        if not _KEY.fullmatch(key):
            break
        hits = source.table[source.table["cell_key"].str.startswith(key)]
        if hits.empty:
            continue
        different = hits.drop_duplicates(list(IDENTITY))
        if len(different) > 1:
            lines = _lines(source)
            places = ", ".join(f"{source.name}:{lines[i]}" for i in different.index[:_NEAR])
            more = " ..." if len(different) > _NEAR else ""
            raise RequestError(
                f"{key} is of {len(different)} measurements in {source.name}, which differ in "
                f"cell, environment or machine: name one of {places}{more}"
            )
        return _recorded(source, different.index[0])
    return None


def _by_line(source: Source, line: int) -> Recorded:
    lines = _lines(source)
    if line not in lines:
        valid = f"{lines[0]} to {lines[-1]}" if lines else "it has none"
        raise RequestError(f"{source.name}:{line} is no row ({valid}; line 1 is the header)")
    return _recorded(source, lines.index(line))


def _recorded(source: Source, position: int) -> Recorded:
    table = source.table
    own = table[list(IDENTITY)].fillna("")
    same = (own == own.iloc[position]).all(axis=1)
    row = {str(name): _plain(value) for name, value in table.iloc[position].items()}
    place = f"{source.name}:{_lines(source)[position]}"
    folder = source.path if source.is_run else source.path.parent
    return Recorded(place, folder, table[same].reset_index(drop=True), row)


def _lines(source: Source) -> list[int]:
    """Return the line on which each row begins; one with a line end in a text takes several.

    Blank lines are no rows, as for :func:`bench.results.tables.read_csv`.
    """
    path = source.path / "measurements.csv" if source.is_run else source.path
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        begins, end = [], 0
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                begins.append(end + 1)
            end = reader.line_num
    return begins[1:]  # the first is the header


def _no_key(key: str, sources: list[Source]) -> RequestError:
    names: dict[str, str] = {}
    for source in sources:
        for row in source.table.drop_duplicates("cell_key").itertuples():
            names.setdefault(str(row.cell_key), cell_name(row))
    near = get_close_matches(key, names, n=_NEAR, cutoff=0.5)
    where = sources[0].name if len(sources) == 1 else f"any of {len(sources)} tables and runs"
    shown = ", ".join(f"{each} ({names[each]})" for each in near or list(names)[:_NEAR])
    hint = f"{'near' if near else 'there are'}: {shown}" if shown else "there are none"
    return RequestError(f"cell key {key!r} is not in {where} ({hint})")


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return int(value) if isinstance(value, Integral) else value
