"""``nox -s readme``: cut the tables of README.md from the published CSV files.

A table stands between two comments, the first of which says what is in it:

    <!-- table results/NAME.csv backend=xnnpack iterations=,20 -->
    <!-- end -->

Each filter takes a comma list of values; an empty one is a missing value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from bench.command import Parser, run_command
from bench.errors import Exit, RequestError
from bench.place import ours
from bench.report.grid import plain
from bench.report.table import caption, markdown, summarise
from bench.results.record import write_whole
from bench.results.tables import read_csv

_BLOCK = re.compile(r"(<!-- table (?P<spec>[^>]*?) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def cut(text: str, root: Path) -> str:
    """Return the text with every table cut anew; CSV paths are relative to ``root``.

    Raises:
        RequestError: if a table is missing, or a filter leaves nothing of it.

    """

    def block(match: re.Match[str]) -> str:
        path, *filters = match["spec"].split()
        summary = summarise(select(read_csv(root / path), filters))
        return (
            f"{match[1]}{markdown(summary)}\n\n{plain(caption(summary))}; from [{path}]({path}).\n"
        )

    return _BLOCK.sub(block, text)


def select(table: pd.DataFrame, filters: Sequence[str]) -> pd.DataFrame:
    """Keep the rows that pass every ``column=value,value`` filter.

    Raises:
        RequestError: if a filter names no column, or nothing passes.

    """
    for word in filters:
        column, _, values = word.partition("=")
        if column not in table.columns:
            raise RequestError(f"filter {word!r}: no column {column!r}")
        text = table[column].astype("string").fillna("")
        table = table[text.isin(values.split(","))]
    if table.empty:
        raise RequestError(f"no row passes {' '.join(filters)}")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite README.md, or with ``--check`` say whether it is up to date."""
    return run_command(_main, argv)


def _main(argv: list[str], _console: Console) -> int:
    parser = Parser("see --help", prog="nox -s readme --", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if out of date")
    parser.add_argument("--file", type=Path, default=ours("README.md"))
    given = parser.parse_args(argv)
    try:
        old = given.file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise RequestError(f"--file: {given.file}: no README to read") from None
    new = cut(old, given.file.resolve().parent)
    if given.check:
        print(f"{given.file}: {'up to date' if new == old else 'tables are out of date'}")
        return Exit.OK if new == old else Exit.FOUND
    write_whole(given.file, new)
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
