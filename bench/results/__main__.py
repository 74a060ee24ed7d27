"""``nox -s publish -- NAME [RUN ...]``: write runs as the tidy table ``results/NAME.csv``."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from bench.command import Parser, run_command
from bench.disk import writing
from bench.errors import Exit, RequestError
from bench.packages import FOLDER, packages_hash
from bench.place import expanded, ours
from bench.results.record import RunFolder, check_out, write_whole
from bench.results.rows import measurement_rows
from bench.results.tables import frame, publish
from bench.words import split

_HELP = """\
Write one or more runs as results/NAME.csv, a tidy table for git.

    nox -s publish -- whisper-v1.4.1                      # the latest run
    nox -s publish -- whisper-v1.4.1 ID ID out=~/runs     # of a cell in several the last one's rows

out=       where the runs are [results/runs]
to=        where the table goes [results]
--partial  also of a run that is not finished: what there is"""


def main(argv: Sequence[str] | None = None) -> int:
    """Publish runs; return the exit code."""
    return run_command(_publish, argv)


def _publish(argv: list[str], console: Console) -> int:
    parser = Parser("NAME RUN...; --help")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--partial", action="store_true")
    given = parser.parse_intermixed_args(argv)
    if given.help:
        console.print(_HELP, markup=False, highlight=False)
        return Exit.OK
    words = split(given.words, ("out", "to"))
    if not words.names:
        raise RequestError("give the table a name, such as whisper-v1.4.1")
    name, *runs = words.names
    name = name.removesuffix(".csv")
    if not re.fullmatch(r"[\w.-]+", name) or name.startswith((".", "-")):
        raise RequestError(f"NAME: {name!r} may have letters, digits, '.', '-' and '_'")
    out, to = (
        expanded(words.values[key], key) if key in words.values else ours(usual)
        for key, usual in (("out", "results/runs"), ("to", "results"))
    )
    check_out(to, "to")
    found = [RunFolder.find(out, run) for run in runs or ["latest"]]
    folders = list({folder.id: folder for folder in found}.values())
    for folder in folders:
        _check_whole(folder, out, partial=given.partial)
    path = to / f"{name}.csv"
    tables = [_table(folder) for folder in folders]
    with writing(to):
        table = publish(tables, path)
        keep_packages(folders, set(table["packages_hash"].dropna()), to)
    print(f"{path}: {len(table)} rows of {len(folders)} run{'s' * (len(folders) != 1)}")
    return Exit.OK


def _table(folder: RunFolder) -> pd.DataFrame:
    """Cut the table from the records: a run that was stopped may have more than its CSV file."""
    return frame(row for record in folder.records() for row in measurement_rows(record))


def keep_packages(folders: Sequence[RunFolder], wanted: Collection[str], to: Path) -> None:
    """Keep the lists of packages that rows have the hash of, so that they can be had again.

    Args:
        folders: of runs; what an older et-peak, or a person, took from one is missing.
        wanted: the hashes.
        to: the folder of the table.

    """
    lists = (path for folder in folders for path in folder.path.glob("packages-*.txt"))
    for text in {path.read_text(encoding="utf-8") for path in lists}:
        # A package from a place of its own is nothing that anybody else could install.
        if packages_hash(text) in wanted and " @ " not in text:
            write_whole(to / FOLDER / f"{packages_hash(text)}.txt", text)


def _check_whole(folder: RunFolder, out: Path, *, partial: bool) -> None:
    """Refuse a run that has nothing, or unless ``partial`` not all that it was begun for.

    Raises:
        RequestError: with what is missing and how to get it.

    """
    missing, done = folder.missing(), len(folder.records())
    if not missing or (partial and done):
        return
    shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    elsewhere = "" if out == ours("results/runs") else f" {shlex.quote(f'out={out}')}"
    mend = f"finish it with nox -s bench -- resume={folder.id}{elsewhere}"
    there = f", or publish what there is with --partial ({done} measurements)" if done else ""
    raise RequestError(f"run {folder.id} is not finished, it lacks {shown}: {mend}{there}")


if __name__ == "__main__":
    sys.exit(main())
