"""The schema of rows from elsewhere: their fields, units and bounds. Pure.

Checked row by row while reading, by hand rather than by a data frame library: a refusal has to
name the line of the file, and nothing may be held of a file that turns out to be garbage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bench.analysis.cells import COLUMNS
from bench.errors import RequestError, choices
from bench.values import parse_int

_SIZE_UNITS = {"bytes": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_SIZE_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
# More than any process has taken: bytes in a column that says MB, most likely.
_MOST_BYTES = 4 * 10**12
_MOST_SECONDS = 30 * 24 * 3600.0

SIZES = {
    "peak": "highest memory; above the baseline or with it, as kind= says",
    "delta": "highest memory above the baseline, beside a total",
    "baseline": "memory before the model is loaded",
    "load": "memory after loading the program, as a total",
    "first_peak": "highest memory of the first execution, as a total",
    "steady": "memory after the last execution, as a total",
    "pte": "size of the program file",
    "planned": "memory-planned buffers",
}
SUMMED = ("peak", "delta", "baseline")
"""Sizes of which the first is the sum of the others."""
TIMES = {"total": "the whole process", "exec_median": "median execution"}
COUNTS = {
    "iterations": "executions in that process",
    "repeat": "number of the fresh process, from 0",
    "samples": "waveform length",
    "max_tokens": "length of the decoder's cache",
    "seed": "of weights and inputs",
    "delegates": "delegate calls",
    "delegated_nodes": "nodes inside delegates",
    "undelegated_nodes": "operators outside delegates",
}
TEXTS = tuple(
    column.name
    for column in COLUMNS
    if column.type == "string"
    and column.name
    not in ("cell_key", "build_key", "exporter_build_key", "packages_hash", "crosscheck")
    and column.name != "metric_kind"
)
STATUSES = ("ok", "failed", "timeout", "over_memory", "unsupported")
KINDS = {
    "rss_total": "resident set of the process",
    "rss_delta": "its resident set above that before the program was loaded",
    "pss_total": "proportional set size (Android): of shared pages its share",
    "pss_delta": "the same above that before the program was loaded",
    "footprint_total": "physical footprint (phys_footprint, macOS and iOS)",
    "footprint_delta": "the footprint above that before the program was loaded",
    "delegate_total": "what the delegate's own allocator counted",
}
"""What the memory is: by which counter, and with the baseline or above it."""

_NUMBER = re.compile(r"([+-]?[0-9.eE+-]+|nan|inf|-inf|NaN)\s*([A-Za-z]*)")
_FORMULA = re.compile(r"[=+@\t\r-]")
_LONGEST_TEXT = 500


@dataclass(frozen=True)
class Field:
    """A column of a file from elsewhere.

    Attributes:
        name: without its unit.
        kind: text, count, size or time.
        scale: to bytes or seconds; None where the unit stands in each cell.

    """

    name: str
    kind: str
    scale: float | None = None


def field_of(title: str) -> Field:
    """Return the field of a column's title, such as ``peak_mb``, ``peak`` or ``model``.

    Raises:
        RequestError: if there is none, with the nearest, or the units.

    """
    if title in COUNTS:
        return Field(title, "count")
    if title in (*TEXTS, "kind"):
        return Field(title, "text")
    for names, units, kind in ((SIZES, _SIZE_UNITS, "size"), (TIMES, _TIME_UNITS, "time")):
        if title in names:
            return Field(title, kind)
        name, _, unit = title.rpartition("_")
        if name in names:
            if unit not in units:
                raise RequestError(f"column {title!r}: unit {unit!r} is not one of {_list(units)}")
            return Field(name, kind, units[unit])
    known = [*TEXTS, "kind", *COUNTS, *(f"{n}_mb" for n in SIZES), *(f"{n}_s" for n in TIMES)]
    raise choices("column", title, known)


def value_of(field: Field, text: str) -> Any:
    """Parse one cell: bytes as int, seconds as float, counts as int, texts as they are.

    Raises:
        RequestError: in words, without the line.

    """
    text = text.strip()
    if not text:
        return None
    if field.kind == "text":
        return _text(field.name, text)
    if field.kind == "count":
        return parse_int(field.name, text, 0)
    units: Mapping[str, float] = _SIZE_UNITS if field.kind == "size" else _TIME_UNITS
    number = _number(field, text, units)
    most = _MOST_BYTES if field.kind == "size" else _MOST_SECONDS
    if number > most:
        what = "bytes" if field.kind == "size" else "seconds"
        raise RequestError(f"{field.name}: {text!r} is {number:.3g} {what}: is the unit right?")
    return round(number) if field.kind == "size" else number


def rounding(field: Field, text: str) -> float:
    """Return by how many bytes a size may have been rounded: half a unit of its last digit.

    Args:
        field: a size.
        text: a cell that :func:`value_of` has taken; an empty one was rounded by nothing.

    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return 0.0
    scale = _SIZE_UNITS.get(match[2].lower(), field.scale or 1)
    last_digit = Decimal(1).scaleb(int(Decimal(match[1]).as_tuple().exponent))
    return max(0.5, 0.5 * scale * float(last_digit))  # bytes are whole


def _number(field: Field, text: str, units: Mapping[str, float]) -> float:
    match = _NUMBER.fullmatch(text)
    unit = match[2].lower() if match else ""
    if match is None or (unit and unit not in units):
        raise RequestError(f"{field.name}: {text!r} is no number with a unit ({_list(units)})")
    if field.scale is None and not unit:
        raise RequestError(
            f"{field.name}: {text!r} has no unit; say {field.name}_mb, or '{text} MB'"
        )
    if field.scale is not None and unit and units[unit] != field.scale:
        raise RequestError(f"{field.name}: {text!r} contradicts the unit of its column")
    try:
        number = float(match[1]) * (units[unit] if unit else field.scale or 1)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RequestError(f"{field.name}: {text!r} is no finite number")
    if number < 0:
        raise RequestError(f"{field.name}: {text!r} is negative")
    return number


def _text(name: str, text: str) -> str:
    if _FORMULA.match(text):
        raise RequestError(
            f"{name}: {text[:40]!r} looks like a formula (it starts with {text[0]!r})"
        )
    if len(text) > _LONGEST_TEXT:
        raise RequestError(f"{name}: {len(text)} characters are more than {_LONGEST_TEXT}")
    if not text.isprintable():
        raise RequestError(f"{name}: {text[:40]!r} has control characters")
    for limited, valid in (("status", list(STATUSES)), ("kind", list(KINDS))):
        if name == limited and text not in valid:
            raise choices(name, text, valid)
    return text


def _list(units: Mapping[str, float]) -> str:
    return ", ".join(units)
