"""``python -m bench.report.html RUN_FOLDER [OUT]``: the page of one run, without conclusions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.errors import EtPeakError, Exit
from bench.report.html.document import write_report
from bench.results.schema import PHASES, TIMELINE
from bench.results.tables import read_csv, read_table


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.report.html",
        description="Write report.html of a run folder (or of a table for git).",
    )
    parser.add_argument("run", type=Path, help="folder with measurements.csv, or a CSV file")
    parser.add_argument("out", type=Path, nargs="?", help="[report.html in the folder]")
    given = parser.parse_args(argv)
    folder = given.run if given.run.is_dir() else given.run.parent
    table = given.run / "measurements.csv" if given.run.is_dir() else given.run
    out = given.out or folder / "report.html"
    try:
        beside = given.run if given.run.is_dir() else None
        phases = read_table(beside / "phases.csv", PHASES) if beside else None
        timeline = read_table(beside / "timeline.csv", TIMELINE) if beside else None
        write_report(out, read_csv(table), phases, (), None, timeline)
    except OSError as error:
        print(f"et-peak: {error.strerror}: {error.filename}", file=sys.stderr)
        return Exit.BAD_REQUEST
    except EtPeakError as error:
        print(f"et-peak: {error}", file=sys.stderr)
        return error.exit_code
    print(out)
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
