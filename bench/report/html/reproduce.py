"""The command that measures one cell again. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

_FIELD = re.compile(r"\[(\w+)=([^\]]*)\]")
_RELEASE = re.compile(r"v?\d+\.\d+\.\d+")


ASKED = (
    *("model", "precision", "backend", "method", "runner", "exporter", "runtime", "iterations"),
    *("max_tokens", "seed", "allocator", "samples", "rung"),
)
"""Columns that a command is made from."""

_quote = cache(shlex.quote)  # a matrix has many cells and few words


def command(row: Mapping[str, Any]) -> str:
    """Return ``nox -s bench -- ...`` for a row of ``measurements.csv``.

    Every axis is spelled out, so that the cell stays the same when a default changes. What is
    missing in the row (``None`` or ``""``) does not apply to the cell and is left out.
    """
    words = ["nox", "-s", "bench", "--"]
    words += [f"{key}={value}" for key, value in _values(row) if value not in (None, "")]
    return " ".join(map(_quote, words))


def _values(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    model = str(row["model"])
    exporter, runtime = row.get("exporter"), row.get("runtime")
    values: list[tuple[str, Any]] = [("model", model.partition("[")[0])]
    values += [(f"model.{field}", value) for field, value in _FIELD.findall(model)]
    values += [(key, row.get(key)) for key in ("precision", "backend", "method", "runner")]
    if runtime in (None, "", exporter):
        values.append(("commit", exporter))
    else:
        values += [("exporter", exporter), ("runtime", runtime)]
    values += [(key, row.get(key)) for key in ("iterations", "max_tokens", "seed", "allocator")]
    if row["method"] != "export":  # an export's is the model's own upper bound
        values.append(("samples", row.get("samples")))
    rung = row.get("rung")
    if rung in ("nightly", "source") or (
        rung == "overlay" and _RELEASE.fullmatch(str(exporter)) and runtime in (None, "", exporter)
    ):
        values.append(("rung", rung))  # not what a bare revision would get
    return values
