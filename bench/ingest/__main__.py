"""``nox -s ingest -- FILE ...``: take rows measured elsewhere into ``results/NAME.csv``.

nox -s ingest -- phone.csv device="iPhone 16" kind=footprint_delta
nox -s ingest -- time.log device=Mac kind=rss_total model=small precision=bf16 backend=mlx

device=   where it was measured
kind=     what the memory is: rss_, pss_, footprint_ with total or delta; delegate_total
name=     of the table [the file's name]; replace=yes to write over one that is there
source=   address of the figures [the file's name]
Any text or count of the schema may be given for all rows: model=, method=, iterations=, ...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.analysis.cells import COLUMNS
from bench.command import run_command
from bench.errors import Exit, RequestError
from bench.ingest import fields
from bench.ingest.readers import Row, read
from bench.ingest.rows import build
from bench.place import expanded, ours
from bench.results.record import write_whole
from bench.results.tables import frame, in_order, to_csv
from bench.words import Words, split

_OWN = ("name", "to", "replace")
_KEYS = ("kind", *_OWN, *fields.TEXTS, *fields.COUNTS)


def main(argv: Sequence[str] | None = None) -> int:
    """Take one file in; return the exit code."""
    return run_command(_main, argv)


def _main(argv: list[str], _console: Console) -> int:
    if {"-h", "--help"} & set(argv):
        print(f"{__doc__}\n{schema()}")
        return Exit.OK
    words = split(argv, _KEYS)
    if len(words.names) != 1:
        raise RequestError(f"give one file (given: {len(words.names)}; --help for the schema)")
    path = expanded(words.names[0])
    target = _target(path, words)
    common = {key: _common(key, text) for key, text in words.values.items() if key not in _OWN}
    common = {"device": None, "source": path.name} | common
    found = read(path)
    unit = "row" if path.suffix == ".json" else "line"
    try:
        rows = _counted(found, words.values.get("kind"))
        table = in_order(frame(build(rows, common, unit), COLUMNS)).dropna(
            axis="columns", how="all"
        )
    except RequestError as error:
        raise RequestError(f"{path}: {error}") from None
    write_whole(target, to_csv(table))
    print(f"{target}: {len(table)} rows")
    print(f"nox -s report -- {target}")
    return Exit.OK


def schema() -> str:
    """Describe the columns that are taken, and their units."""
    lines = ["A CSV file has a header; a JSON file is a list of objects. Columns:"]
    lines += ["  texts: " + ", ".join(fields.TEXTS)]
    lines += [f"  {name}: {meaning}" for name, meaning in fields.COUNTS.items()]
    lines += [f"  {name}_mb: {meaning} (_bytes, _kb, _gb, _mib, ...; or '12.5 MB' in a column"
              f" {name})" for name, meaning in fields.SIZES.items()]  # fmt: skip
    lines += [
        f"  {name}_s: seconds of {meaning} (_ms, _min)" for name, meaning in fields.TIMES.items()
    ]
    lines += ["  model, method and one figure are needed; status is ok where it is not given."]
    return "\n".join(lines)


def _common(key: str, text: str) -> Any:
    return fields.value_of(fields.field_of(key), text)


def _counted(rows: list[Row], kind: str | None) -> list[Row]:
    """Take from a log the counter that kind= names; tables have none of these."""
    taken = []
    for line, values in rows:
        both: Mapping[str, Any] = {name: values.pop(name, None) for name in ("rss", "footprint")}
        if any(value is not None for value in both.values()):
            counter, _, scale = (kind or "").partition("_")
            if scale != "total" or both.get(counter) is None:
                there = " or ".join(
                    f"kind={name}_total" for name, value in both.items() if value is not None
                )
                raise RequestError(f"give {there}: that is what the log has")
            values["peak"] = both[counter]
        taken.append((line, values))
    return taken


def _target(path: Path, words: Words) -> Path:
    name = words.get("name", path.stem)
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise RequestError(f"name: {name!r} may have letters, digits, '.', '-' and '_'")
    given = words.values.get("to")
    target = (expanded(given, "to") if given else ours("results")) / f"{name}.csv"
    if target.exists() and words.get("replace", "no") != "yes":
        raise RequestError(f"{target} is there already; give name=, or replace=yes")
    return target


if __name__ == "__main__":
    sys.exit(main())
