"""Rows to CSV files, and run folders to published tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bench.compose import ORDER
from bench.errors import RequestError
from bench.results.record import write_whole
from bench.results.schema import MEASUREMENTS, PHASES, Column

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
    """Render as CSV: integers whole, seconds to the millisecond, missing values empty."""
    text = table.to_csv(index=False, float_format="%.3f", lineterminator="\n")
    return str(text)


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table written by us; columns it lacks are there and empty.

    Raises:
        RequestError: if the file is no such table.

    """
    try:
        table = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
        missing = [name for name in _KEYS if name not in table.columns or table[name].isna().any()]
        if missing:
            raise ValueError(f"no {', '.join(missing)} in every row")
        return frame(table.to_dict("records"), MEASUREMENTS)  # type: ignore[arg-type]
    except (OSError, ValueError, TypeError) as error:
        raise RequestError(f"{path}: not a table of measurements ({error})") from None


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
