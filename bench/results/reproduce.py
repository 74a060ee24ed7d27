"""The command that measures one cell again. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from bench import executor_runner
from bench.pte import EXPORTER

_FIELD = re.compile(r"\[(\w+)=([^\]]*)\]")
_EXPORTS = ("steps", "memprofile")
"""What is named with the model, but is said of how it is exported."""
_RELEASE = re.compile(r"v?\d+\.\d+\.\d+")


ASKED = (
    *("model", "precision", "backend", "method", "runner", "exporter", "runtime", "iterations"),
    *("max_tokens", "seed", "allocator", "samples", "rung", "load_mode"),
)
"""Columns that a command is made from."""

_quote = cache(shlex.quote)  # a matrix has many cells and few words


def command(row: Mapping[str, Any]) -> str:
    """Return ``nox -s bench -- ...`` for a row of ``measurements.csv``.

    Every axis is spelled out, so that the cell stays the same when a default changes. What is
    missing in the row (``None`` or ``""``) does not apply to the cell and is left out.
    """
    return " ".join(map(_quote, ["nox", "-s", "bench", "--", *overrides(row)]))


def overrides(row: Mapping[str, Any]) -> list[str]:
    """Return the words of that command after ``--``, as :func:`bench.config.load` takes them.

    Of a program from elsewhere the row has the file's name and hash, not its place: ``pte=`` is
    that name.
    """
    return [f"{key}={value}" for key, value in _values(row) if value not in (None, "")]


def _values(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    exporter, runtime, runner = (row.get(key) for key in ("exporter", "runtime", "runner"))
    own = exporter != EXPORTER
    values: list[tuple[str, Any]] = _model(row) if own else [("pte", f"{row['model']}.pte")]
    values += [(key, row.get(key)) for key in ("precision", "backend") if own]
    values += [("method", row["method"])]
    if row["method"] != "export":  # an export has neither; old rows name a runner
        values.append(("runner", runner))
        if runner == executor_runner.NAME:  # of the binary, too, the row has name and hash
            values.append(("runner.path", str(runtime).rpartition("@")[0]))
            runtime = None
        else:
            values.append(("runner.load_mode", runner and row.get("load_mode")))
    if own and runtime in (None, "", exporter):
        values.append(("commit", exporter))
    else:
        values += [("exporter", exporter if own else None), ("runtime", runtime)]
    values += [("iterations", row.get("iterations"))]
    values += [("max_tokens", row.get("max_tokens") if own else None)]
    values += [(key, row.get(key)) for key in ("seed", "allocator")]
    if own and row["method"] != "export":  # an export's is the model's own upper bound
        values.append(("samples", row.get("samples")))
    rung = row.get("rung")
    if rung in ("nightly", "source") or (
        rung == "overlay" and _RELEASE.fullmatch(str(exporter)) and runtime in (None, "", exporter)
    ):
        values.append(("rung", rung))  # not what a bare revision would get
    return values


def _model(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    model = str(row["model"])
    fields = [
        (field if field in _EXPORTS else f"model.{field}", value)
        for field, value in _FIELD.findall(model)
    ]
    return [("model", model.partition("[")[0]), *fields]
