"""Files from elsewhere, line by line: CSV, JSON, and the logs of two common tools."""

from __future__ import annotations

import csv
import json
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.ingest.fields import SUMMED, Field, field_of, rounding, value_of

MOST_BYTES = 64 * 10**6
"""A file above this is no table of measurements: a hundred thousand rows are a third of it."""
_LONGEST_LINE = 64 * 1024

Row = tuple[int, dict[str, Any]]


def read(path: Path) -> list[Row]:
    """Read a file: line numbers with the values of each row, in bytes, seconds and counts.

    A row of a table has beside its fields ``rounding``: the bytes by which ``peak`` - ``baseline``
    may miss ``delta``, each being rounded to its last digit.

    ``.csv`` and ``.json`` are tables; anything else is the log of ``executor_runner`` or of
    ``/usr/bin/time`` (``-l`` on macOS, ``-v`` on Linux), or of one under the other.

    Raises:
        RequestError: with the line of what can't be taken; nothing is taken then.

    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RequestError(f"{path}: {size / 1e6:.0f} MB; at most {MOST_BYTES / 1e6:.0f} MB")
        if path.suffix == ".csv":
            return list(_csv(path))
        if path.suffix == ".json":
            return list(_json(path))
        return [(1, _log(path))]
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    except RequestError as error:
        raise RequestError(f"{path}: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    """Read text line by line; what is no text is refused where it stops being one."""
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(raw) > _LONGEST_LINE:
                raise RequestError(f"line {number}: longer than {_LONGEST_LINE} bytes")
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise RequestError(f"line {number}: not UTF-8 text") from None
            if "\0" in text:
                raise RequestError(f"line {number}: not text (a zero byte)")
            yield text


def _csv(path: Path) -> Iterator[Row]:
    reader = csv.reader(_lines(path), strict=True)
    fields: list[Field] = []
    line = 1
    try:
        for cells in reader:
            if not fields:
                fields = _header(cells)
            elif cells:
                if len(cells) != len(fields):
                    raise RequestError(f"{len(cells)} cells where the header has {len(fields)}")
                yield line, _values(dict(zip(fields, cells, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise RequestError(f"line {line}: {error}") from None
    except RequestError as error:
        text = str(error)
        raise RequestError(text if text.startswith("line ") else f"line {line}: {text}") from None


def _header(titles: list[str]) -> list[Field]:
    fields = [field_of(title.strip().lower()) for title in titles]
    names = [field.name for field in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise RequestError(f"column {twice!r} is there twice")
    return fields


def _json(path: Path) -> Iterator[Row]:
    try:
        content = json.loads(
            "".join(_lines(path)), parse_constant=_no_constant, object_pairs_hook=_Object
        )
    except ValueError as error:
        raise RequestError(f"no JSON: {error}") from None
    except RecursionError:
        raise RequestError("no JSON that we read: nested too deep") from None
    if not isinstance(content, list):
        raise RequestError("a list of objects is wanted, one per row")
    for number, item in enumerate(content, 1):
        try:
            if not isinstance(item, _Object):
                raise RequestError("not an object")
            if any(isinstance(value, _Object | list | bool) for _, value in item.pairs):
                raise RequestError("values are texts and numbers")
            fields = _header([name for name, _ in item.pairs])
            texts = ["" if value is None else str(value) for _, value in item.pairs]
            yield number, _values(dict(zip(fields, texts, strict=True)))
        except RequestError as error:
            raise RequestError(f"row {number}: {error}") from None


class _Object:
    """A JSON object with all its pairs, of which a dict would keep the last of one name."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _values(cells: Mapping[Field, str]) -> dict[str, Any]:
    values = {field.name: value_of(field, text) for field, text in cells.items()}
    summed = [(field, text) for field, text in cells.items() if field.name in SUMMED]
    return values | {"rounding": sum(rounding(field, text) for field, text in summed)}


_EXECUTION = Field("exec_median", "time", 1e-3)
# As of et_worker/outside.py, which reads the same log: executor_runner's newest tells each.
_EACH = re.compile(r"Iteration \d+ of \d+: ([0-9.]+) ms")
_PATTERNS: Mapping[str, tuple[str, Field]] = {
    "rss": (r"^\s*([0-9.]+)\s+maximum resident set size", Field("peak", "size", 1)),
    "rss_kb": (
        r"Maximum resident set size \(kbytes\): ([0-9.]+)",
        Field("peak", "size", 1024),
    ),
    "footprint": (r"^\s*([0-9.]+)\s+peak memory footprint", Field("peak", "size", 1)),
    "total": (r"^\s*([0-9.]+)\s+real\b", Field("total", "time", 1)),
    "executions": (
        r"Model executed successfully ([0-9.]+) time\(s\) in [0-9.]+ ms",
        Field("iterations", "count"),
    ),
    "execution_ms": (
        r"Model executed successfully [0-9.]+ time\(s\) in ([0-9.]+) ms",
        _EXECUTION,
    ),
}


def _log(path: Path) -> dict[str, Any]:
    """Read what `/usr/bin/time` and `executor_runner` say; both may be in one file."""
    text = "".join(_lines(path))

    def checked(match: re.Match[str], field: Field) -> Any:
        try:
            return value_of(field, match[1])
        except RequestError as error:
            line = text.count("\n", 0, match.start(1)) + 1
            raise RequestError(f"line {line}: {error}") from None

    found: dict[str, Any] = {}
    for name, (pattern, field) in _PATTERNS.items():
        values = list(re.finditer(pattern, text, re.MULTILINE))
        if len(values) > 1:
            raise RequestError(
                f"{name.removesuffix('_kb')} is there {len(values)} times; one process per log"
            )
        if values:
            found[name] = checked(values[0], field)
    if not found:
        raise RequestError(
            "nothing of executor_runner or /usr/bin/time in it (.csv, .json: tables)"
        )
    method = re.search(r"Using method (\w+)", text)
    rss = found.get("rss", found.get("rss_kb"))
    values_of: dict[str, Any] = {
        "method": method[1] if method else None,
        "rss": rss,
        "footprint": found.get("footprint"),
        "total": found.get("total"),
    }
    if "executions" in found:
        values_of["iterations"] = found["executions"]
        # Older ones log the sum alone; a mean stands in for the median then.
        mean = found["execution_ms"] / max(found["executions"], 1)
        each = [checked(match, _EXECUTION) for match in _EACH.finditer(text)]
        values_of["exec_median"] = round(statistics.median(each), 6) if each else mean
    return values_of
