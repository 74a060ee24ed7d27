"""Which cell of one side stands against which of the other. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

# What a pair must have in common. Revisions are not in it: they are what is compared.
AXES = (
    *("model", "precision", "backend", "method", "iterations"),
    *("samples", "max_tokens", "seed"),
)
# What tells cells of one side apart that are equal in AXES, the most telling first.
_TELLING = (
    *("allocator", "load_mode", "kind", "counter", "place", "runner", "rung", "torch"),
    *("exporter", "runtime"),
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
    left, right = pd.Series(before.index), pd.Series(after.index)
    matches: list[pd.DataFrame] = []
    tries: list[list[str]] = [["cell_key", *AXES, *_TELLING]]
    tries += [[*AXES, *_TELLING[:count]] for count in range(len(_TELLING), -1, -1)]
    for columns in tries:
        found = _match(before.loc[left], after.loc[right], columns)
        matches.append(found)
        left = left[~left.isin(found["before"])]
        right = right[~right.isin(found["after"])]
    index = pd.concat(matches).sort_values("before", kind="stable")
    pairs = pd.concat(
        [
            before.loc[index["before"]].reset_index(drop=True).add_prefix("before_"),
            after.loc[index["after"]].reset_index(drop=True).add_prefix("after_"),
        ],
        axis=1,
    )
    rest_before, rest_after = before.loc[left], after.loc[right]
    shared_before = _ids(rest_before, list(AXES)).isin(_ids(rest_after, list(AXES)))
    shared_after = _ids(rest_after, list(AXES)).isin(_ids(rest_before, list(AXES)))
    return Pairing(
        pairs,
        rest_before[~shared_before.to_numpy()],
        rest_after[~shared_after.to_numpy()],
        rest_before[shared_before.to_numpy()],
    )


def _match(before: pd.DataFrame, after: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the positions of cells that are alone with their values on both sides."""
    sides = []
    for title, side in (("before", before), ("after", after)):
        ids = _ids(side, columns)
        single = ids[~ids.duplicated(keep=False)]
        sides.append(pd.DataFrame({title: single.index, "id": single.to_numpy()}))
    return sides[0].merge(sides[1], on="id")[["before", "after"]]


def _ids(side: pd.DataFrame, columns: list[str]) -> pd.Series[str]:
    """Join the values of columns into one text per row."""
    parts = [side[column].astype("string").fillna("") for column in columns]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + "\x1f" + part
    return joined
