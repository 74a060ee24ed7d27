"""Rows to CSV files, and run folders to published tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.errors import RequestError
from bench.order import ORDER
from bench.results.record import write_whole
from bench.results.schema import MEASUREMENTS, PHASES, Column
from bench.values import as_written, neutral

_KEYS = ("model", "method", "status", "cell_key")
IDENTITY = ("cell_key", "build_key", "exporter_build_key", "machine")
"""What makes two rows repeats of one measurement: what was asked, on what, and where."""
_SORT = (
    *("model", "precision", "backend", "exporter", "runtime", "method"),
    *("runner", "samples", "iterations", "allocator", "load_mode", "max_tokens", "seed"),
    *("machine", "build_key", "exporter_build_key", "cell_key", "repeat"),
)


def frame(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[Column] = MEASUREMENTS
) -> pd.DataFrame:
    """Build a table with exactly the given columns, each of its declared type."""
    table = pd.DataFrame(list(rows), columns=[column.name for column in columns])
    return table.astype({column.name: column.type for column in columns})


def to_csv(table: pd.DataFrame) -> str:
    """Render as CSV: integers whole, seconds to six digits, missing values empty.

    Texts are such that no spreadsheet runs them (:func:`bench.values.neutral`);
    :func:`read_csv` gives them back as they were.
    """
    texts = [str(column) for column, type_ in table.dtypes.items() if type_ == "string"]
    table = table.assign(**{name: _mapped(table[name], neutral) for name in texts})
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return str(text)


def read_csv(path: Path, columns: Sequence[Column] = MEASUREMENTS) -> pd.DataFrame:
    """Read a table written by us; columns it lacks are there and empty.

    Raises:
        RequestError: if the file is no such table.

    """
    # As plain objects pandas leaves texts as they are; as categories it reads 1.20 as a number.
    kinds = {c.name: "object" if c.type == "string" else c.type for c in columns}
    try:
        table = pd.read_csv(
            path,
            dtype=kinds,
            keep_default_na=False,
            na_values=[""],
            usecols=kinds.__contains__,
        )
        _check_width(table)
        missing = [name for name in _KEYS if name not in table.columns or table[name].isna().any()]
        if missing:
            raise ValueError(f"no {', '.join(missing)} in every row")
        texts = {
            c.name: _texts(table[c.name])
            for c in columns
            if c.type == "string" and c.name in table.columns
        }
        _check_finite(table)
        return (
            table.assign(**texts)
            .reindex(columns=list(kinds))
            .astype({c.name: c.type for c in columns})
        )
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise RequestError(f"{path}: not a table of measurements ({error})") from None


def read_table(path: Path, columns: Sequence[Column]) -> pd.DataFrame | None:
    """Read a table that stands beside ``measurements.csv``; None where there is none.

    Raises:
        RequestError: if the file is no such table.

    """
    if not path.exists():
        return None
    try:
        text = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
        _check_width(text)
        rows: Any = text.to_dict("records")
        table = frame(rows, columns)
        _check_finite(table)
        return table
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise RequestError(f"{path}: not a table of its kind ({error})") from None


def _check_width(table: pd.DataFrame) -> None:
    if not isinstance(table.index, pd.RangeIndex):  # what pandas makes of values too many
        raise ValueError("a row has more values than there are columns")


def _check_finite(table: pd.DataFrame) -> None:
    for name in table.columns[table.dtypes == "float64"]:
        if np.isinf(table[name]).any():
            raise ValueError(f"{name} is not finite in every row")


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Turn texts, as written by :func:`to_csv`, into those they stand for; of each kind once."""
    codes, different = pd.factorize(column)
    whole = pd.array([as_written(text) for text in different], dtype="string")
    texts = whole.take(codes, allow_fill=True)
    return pd.Series(texts, index=column.index)


def _mapped(column: pd.Series[Any], work: Callable[[str], str]) -> pd.Series[Any]:
    """Apply a function to the few different texts of a column."""
    return column.map({text: work(text) for text in column.dropna().unique()})


def publish(tables: Sequence[pd.DataFrame], path: Path) -> pd.DataFrame:
    """Write several runs' measurements as one tidy table for git.

    Rows are sorted by the axes of the matrix, small to large; what changes between two runs of
    the very same measurement is left out. Where a measurement (see :data:`IDENTITY`) stands in
    several of the tables, the last one's rows are taken.
    """
    keys = [table[list(IDENTITY)].fillna("").agg(tuple, axis=1) for table in tables]
    newest = {key: number for number, column in enumerate(keys) for key in column}
    kept = [
        table[column.map(newest) == number]
        for number, (table, column) in enumerate(zip(tables, keys, strict=True))
    ]
    table = in_order(pd.concat(kept, ignore_index=True))
    table = table[[column.name for column in MEASUREMENTS if column.published]]
    write_whole(path, to_csv(table))
    return table


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort by the axes of the matrix in the order of a person: tiny, base, small."""
    rank = {name: number for number, name in enumerate(ORDER)}

    def keys(column: pd.Series[Any]) -> pd.Series[Any]:
        if column.name in ("model", "precision", "backend", "method"):
            named = column.fillna("")
            return named.map(lambda v: (rank.get(v, len(rank)), v))
        return column

    return table.sort_values(list(_SORT), key=keys, na_position="first", kind="stable").reset_index(
        drop=True
    )


def phases_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Build the table of phases."""
    return frame(rows, PHASES)
