"""Tables packed for the page: columns, each text once, compressed. Pure."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.report.html.cells import TEXTS, Cells, ranked, tops
from bench.results.cells import NUMBERS

_TEXTS = (
    *TEXTS,
    *("status", "reason", "revision", "name", "side", "top", "command"),
    *("iterations", "samples", "max_tokens", "seed"),
)
_NUMBERS = (*NUMBERS, "repeats", "lowest", "highest", "process", "pair", "last")
_IN_ORDER = ("side", "name", "command")
"""Texts whose order of appearance is a person's already, or nobody's."""
_SECONDS = ("total_s", "exec_median_s", "seconds", "t_s")
_POINTS = 400
"""Of one process's timeline, about: more than a plot has pixels is not seen."""


def pack(content: Any) -> str:
    """Return JSON, gzipped, in base64: safe inside any HTML, a tenth of the size.

    The same content always gives the same text.
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=3, mtime=0)).decode()


def cells_content(cells: Cells) -> dict[str, Any]:
    """Return the cells as columns.

    A text column has ``names``, each value once in the order of a person, and ``codes``, one per
    cell; a number column is a list with null for missing. Sizes are bytes, times seconds.
    """
    table = cells.table
    texts = {name: _text_column(table[name], cells) for name in _TEXTS}
    numbers = {name: _number_column(table[name]) for name in _NUMBERS}
    return {"count": len(table), "texts": texts, "numbers": numbers}


def phases_content(phases: pd.DataFrame | None, cells: Cells) -> dict[str, Any]:
    """Return the phases of each process in order, from one of its repeats.

    That repeat is the one with the median highest mark, so that the figures are of one real
    process. ``process`` is the number that the cells of the process have, too. Phases know their
    cell by its key alone: of a cell measured on two builds or machines they are left out, since
    nothing tells whose they are.
    """
    columns = ("seconds", "rss_bytes", "peak_bytes")
    if phases is None or phases.empty:
        empty: dict[str, Any] = {name: [] for name in columns}
        return {"process": [], "phase": {"names": [], "codes": []}, **empty}
    owner = cells.table.drop_duplicates("cell_key", keep=False).set_index("cell_key")["process"]
    known = phases[phases["cell_key"].isin(owner.index)]
    known = known.drop_duplicates(["cell_key", "repeat", "phase"], keep="last")
    highest = known.groupby(["cell_key", "repeat"], sort=False)["peak_bytes"].max()
    by_size = highest.reset_index().sort_values("peak_bytes", kind="stable")
    rank = by_size.groupby("cell_key").cumcount()
    middle = by_size.groupby("cell_key")["repeat"].transform("size").sub(1).floordiv(2)
    chosen = by_size.loc[rank.eq(middle), ["cell_key", "repeat"]]
    kept = known.merge(chosen, on=["cell_key", "repeat"])
    codes, names = pd.factorize(kept["phase"])
    return {
        "process": kept["cell_key"].map(owner).tolist(),
        "phase": {"names": list(map(str, names)), "codes": codes.tolist()},
        **{name: _number_column(kept[name]) for name in columns},
    }


def timeline_content(timeline: pd.DataFrame | None, cells: Cells) -> dict[str, Any]:
    """Return RSS against time of each process, from its first repeat, in a few hundred points.

    Of each stretch of neighbours the highest is kept, so that no peak is lost. ``process`` is the
    number that the cells of the process have, too; see :func:`phases_content` on whose it is.
    """
    columns = ("t_s", "rss_bytes", "file_bytes")
    if timeline is None or timeline.empty:
        return {"process": [], "phase": {"names": [], "codes": []}, **{c: [] for c in columns}}
    owner = cells.table.drop_duplicates("cell_key", keep=False).set_index("cell_key")["process"]
    known = timeline[timeline["cell_key"].isin(owner.index)]
    first = known.groupby("cell_key")["repeat"].transform("min")
    known = known[known["repeat"].eq(first)].reset_index(drop=True)
    group = known.groupby(["cell_key", "phase"], sort=False)
    size = known.groupby("cell_key")["t_s"].transform("size").floordiv(_POINTS).add(1)
    stretch = group.cumcount().floordiv(size)
    highest = known.groupby([known["cell_key"], known["phase"], stretch])["rss_bytes"].idxmax()
    ends = [*group.head(1).index, *group.tail(1).index]
    kept = known.loc[sorted({*highest, *ends})]
    codes, names = pd.factorize(kept["phase"])
    return {
        "process": kept["cell_key"].map(owner).tolist(),
        "phase": {"names": list(map(str, names)), "codes": codes.tolist()},
        **{name: _number_column(kept[name]) for name in columns},
    }


def evidence(keys: Sequence[str], positions: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the positions of the cells with these keys, each once; unknown keys have none."""
    return sorted({place for key in keys for place in positions.get(key, ())})


def positions(cells: Cells) -> dict[str, list[int]]:
    """Return where in the table each cell key stands; more than one place for two machines."""
    found: dict[str, list[int]] = {}
    for place, key in enumerate(cells.table["cell_key"]):
        found.setdefault(str(key), []).append(place)
    return found


def _text_column(column: pd.Series[Any], cells: Cells) -> dict[str, Any]:
    codes, found = pd.factorize(column.astype("string").fillna(""))
    seen = [str(name) for name in found]
    names = seen
    if column.name == "top":
        names = tops(cells)
    elif column.name not in _IN_ORDER:
        names = ranked(seen, cells.revisions)
    place = {name: number for number, name in enumerate(names)}
    recoded = np.array([place[name] for name in seen], dtype="int64")[codes]
    return {"names": names, "codes": recoded.tolist()}


def _six_digits(seconds: float) -> float:
    """Round as in the CSV: an execution may take microseconds."""
    return float(f"{seconds:.6g}")


def _number_column(column: pd.Series[Any]) -> list[float | int | None]:
    values = column.astype("float64")
    whole = values.map(_six_digits) if column.name in _SECONDS else values.round()
    numbers = whole if column.name in _SECONDS else whole.astype("Int64")
    found: list[float | int | None] = numbers.astype(object).where(values.notna(), None).tolist()
    return found
