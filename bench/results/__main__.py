"""``nox -s publish -- NAME [RUN ...]``: write runs as the tidy table ``results/NAME.csv``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.errors import EtPeakError, Exit, RequestError
from bench.results.record import RunFolder
from bench.results.tables import publish, read_csv


def main(argv: Sequence[str] | None = None) -> int:
    """Publish runs; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="nox -s publish --",
        description="Write one or more runs as results/NAME.csv, a tidy table for git.",
    )
    parser.add_argument("name", help="name of the table, such as whisper-v1.4.1")
    parser.add_argument(
        "runs",
        nargs="*",
        default=["latest"],
        help="ids of runs [latest]; of a cell in several, the last one's rows are taken",
    )
    parser.add_argument("--out", type=Path, default=Path("results/runs"), help="where the runs are")
    parser.add_argument("--to", type=Path, default=Path("results"), help="where the table goes")
    given = parser.parse_intermixed_args(argv)
    try:
        if not re.fullmatch(r"[\w.-]+", given.name) or given.name.startswith((".", "-")):
            raise RequestError(f"NAME: {given.name!r} may have letters, digits, '.', '-' and '_'")
        folders = [RunFolder.find(given.out, run) for run in given.runs]
        path = given.to / f"{given.name}.csv"
        table = publish([read_csv(f.path / "measurements.csv") for f in folders], path)
    except OSError as error:
        print(f"et-peak: {error.strerror}: {error.filename}", file=sys.stderr)
        return Exit.BAD_REQUEST
    except EtPeakError as error:
        print(f"et-peak: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{path}: {len(table)} rows of {len(folders)} run(s)")
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
