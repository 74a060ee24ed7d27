"""What a person may name as a table: a run, a published table, a file, a folder of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench.analysis.cells import COLUMNS
from bench.errors import RequestError
from bench.place import expanded
from bench.results.record import RunFolder, list_runs
from bench.results.tables import frame, read_csv


@dataclass(frozen=True)
class Source:
    """A table and where it is from.

    Attributes:
        name: as a person knows it: a run's id, or a file's name without its ending.
        path: the CSV file, or the run's folder.
        table: its rows, with the columns of :data:`bench.analysis.cells.COLUMNS`.

    """

    name: str
    path: Path
    table: pd.DataFrame

    @property
    def is_run(self) -> bool:
        """Whether it is a run's folder, which has phases too."""
        return self.path.is_dir()


def find(word: str, runs: Path, results: Path) -> list[Source]:
    """Return the tables a word names; several only where it is a folder of them.

    Args:
        word: an id of a run, ``latest``, a path, or NAME or NAME.csv of ``results/NAME.csv``.
        runs: folder of the runs.
        results: folder of the published tables.

    Raises:
        RequestError: if it names none, with what is there.

    """
    path = expanded(word)
    if (path / "measurements.csv").is_file():
        return [_run(path)]
    if path.is_dir():
        files = sorted(path.glob("*.csv"))
        if not files:
            raise RequestError(f"{word}: there is no table (*.csv) in that folder")
        return [_file(file) for file in files]
    if path.is_file():
        return [_file(path)]
    published = results / f"{word.removesuffix('.csv')}.csv"
    if "/" not in word and published.is_file():
        return [_file(published)]
    known = list_runs(runs)
    if word in known or (word == "latest" and known):
        return [_run(RunFolder.find(runs, word).path)]
    tables = [file.stem for file in sorted(results.glob("*.csv"))]
    raise RequestError(
        f"{word!r} is no run, table or file (runs in {runs}: {', '.join(known[-3:]) or 'none'}; "
        f"tables: {', '.join(tables) or 'none'})"
    )


def find_one(word: str, runs: Path, results: Path) -> Source:
    """Return the one table a word names.

    Raises:
        RequestError: if it names none, or several.

    """
    found = find(word, runs, results)
    if len(found) > 1:
        raise RequestError(f"{word} holds {len(found)} tables; name one of them")
    return found[0]


def at_revisions(source: Source, key: str, revisions: Sequence[str]) -> list[pd.DataFrame]:
    """Split a table by revision: one part for each, in the order given.

    Args:
        source: the table.
        key: ``exporter``, ``runtime``, or ``commit`` for both alike.
        revisions: names as in the table, or at least seven digits of a sha.

    Raises:
        RequestError: if a revision is not in the table, with those that are, or if digits are
            those of several.

    """
    table = source.table
    columns = ("exporter", "runtime") if key == "commit" else (key,)
    parts = []
    for revision in revisions:
        is_it = {column: _is_revision(table, column, revision) for column in columns}
        keep = is_it.get("exporter", is_it[columns[-1]])
        if key == "commit":  # an export has no runtime: it belongs to the revision that exported
            keep = keep & (is_it["runtime"] | table["runtime"].isna())
        if not keep.any():
            known = sorted({str(v) for column in columns for v in table[column].dropna()})
            there = ", ".join(known) or "no row names one"
            raise RequestError(f"{key}: {revision!r} is not in {source.name} ({there})")
        parts.append(table[keep])
    return parts


_SHA = re.compile("[0-9a-f]{7,40}")


def _is_revision(table: pd.DataFrame, column: str, revision: str) -> pd.Series[bool]:
    """Tell of each row whether it is of a revision: by its name, else by digits of its sha."""
    named = (table[column] == revision).fillna(False).astype(bool)
    if named.any() or not _SHA.fullmatch(digits := revision.lower()):
        return named
    sha = table[f"{column}_sha"]
    found = sha.str.startswith(digits).fillna(False).astype(bool)
    if sha[found].nunique() > 1:
        several = ", ".join(sorted(sha[found].unique())[:3])
        raise RequestError(f"{column}: {revision!r} is the beginning of several: {several}")
    return found


def noise_tables(results: Path) -> list[pd.DataFrame]:
    """Return the published A/A records, ``results/noise/*.csv``: tables with repeats."""
    return [read_csv(path, COLUMNS) for path in sorted((results / "noise").glob("*.csv"))]


def _run(path: Path) -> Source:
    table = read_csv(path / "measurements.csv", COLUMNS)
    return Source(path.resolve().name, path, table)


def _file(path: Path) -> Source:
    table = read_csv(path, COLUMNS)
    if table.empty:
        table = frame([], COLUMNS)
    return Source(path.stem, path, table)
