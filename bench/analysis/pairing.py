"""Which cell of one side stands against which of the other. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[Any]

# What a pair must have in common. Revisions are not in it: they are what is compared.
AXES = (
    *("model", "precision", "backend", "method", "iterations"),
    *("samples", "max_tokens", "seed"),
)
# What tells cells of one side apart that are equal in AXES, the most telling first.
_TELLING = (
    *("allocator", "load_mode", "kind", "counter", "place", "runner", "rung", "torch"),
    *("threads", "exporter", "runtime"),
)


@dataclass(frozen=True)
class Pairing:
    """Pairs and what is left over.

    Attributes:
        pairs: one row per pair, columns ``before_X`` and ``after_X``, in the order of ``before``.
        only_before: cells that the other side lacks.
        only_after: cells that the first side lacks.
        ambiguous: cells with several counterparts that nothing in the table tells apart.

    """

    pairs: pd.DataFrame
    only_before: pd.DataFrame
    only_after: pd.DataFrame
    ambiguous: pd.DataFrame


def pair(before: pd.DataFrame, after: pd.DataFrame) -> Pairing:
    """Pair cells (see :func:`bench.analysis.cells.cells`): equal keys first, then equal axes.

    Where several cells of one side share their axes, they are told apart by what else the table
    says of them; a cell that could be paired with two is paired with none.
    """
    before, after = before.reset_index(drop=True), after.reset_index(drop=True)
    codes = _codes(before, after)
    left, right = np.arange(len(before)), np.arange(len(after))
    matches: list[pd.DataFrame] = []
    tries: list[list[str]] = [["cell_key", *AXES, *_TELLING]]
    tries += [[*AXES, *_TELLING[:count]] for count in range(len(_TELLING), -1, -1)]
    for columns in tries:
        found = _match(codes, left, right + len(before), columns)
        found["after"] -= len(before)
        matches.append(found)
        left = left[~np.isin(left, found["before"])]
        right = right[~np.isin(right, found["after"])]
    index = pd.concat(matches).sort_values("before", kind="stable")
    pairs = pd.concat(
        [
            before.loc[index["before"]].reset_index(drop=True).add_prefix("before_"),
            after.loc[index["after"]].reset_index(drop=True).add_prefix("after_"),
        ],
        axis=1,
    )
    rest_before, rest_after = before.loc[left], after.loc[right]
    axes = _ids(codes, np.concatenate([left, right + len(before)]), list(AXES))
    shared_before = np.isin(axes[: len(left)], axes[len(left) :])
    shared_after = np.isin(axes[len(left) :], axes[: len(left)])
    return Pairing(
        pairs,
        rest_before[~shared_before],
        rest_after[~shared_after],
        rest_before[shared_before],
    )


def _codes(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, Codes]:
    """Number the different values of each column, alike on both sides, ``before`` first."""
    names = ["cell_key", *AXES, *_TELLING]
    both = pd.concat([before[names], after[names]], ignore_index=True)
    found = {}
    for name in names:
        column = both[name]
        if not pd.api.types.is_numeric_dtype(column):
            column = column.replace("", pd.NA)
        found[name] = pd.factorize(column)[0].astype("int64") + 1  # 0: no value
    return found


def _match(codes: dict[str, Codes], left: Codes, right: Codes, columns: list[str]) -> pd.DataFrame:
    """Return the positions of cells that are alone with their values on both sides."""
    ids = _ids(codes, np.concatenate([left, right]), columns)
    size = int(ids.max(initial=-1)) + 1
    before, after = ids[: len(left)], ids[len(left) :]
    alone = (np.bincount(before, minlength=size) == 1) & (np.bincount(after, minlength=size) == 1)
    where = np.zeros(size, dtype="int64")
    where[after] = np.arange(len(after))
    kept = np.flatnonzero(alone[before])
    return pd.DataFrame({"before": left[kept], "after": right[where[before[kept]]]})


def _ids(codes: dict[str, Codes], rows: Codes, columns: list[str]) -> Codes:
    """Number the different combinations of values that rows have in some columns."""
    ids = np.zeros(len(rows), dtype="int64")
    for column in columns:
        own = codes[column][rows]
        ids = pd.factorize(ids * (int(own.max(initial=0)) + 1) + own)[0]
    return ids
