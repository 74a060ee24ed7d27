"""``nox -s rerun -- ROW``: measure a recorded row again and say whether it agrees.

nox -s rerun -- d2cde7054a45f0a8               a cell, by its key, of any table or run
nox -s rerun -- results/whisper-v1.4.1.csv:3   a row of a table, by its line
nox -s rerun -- whisper-v1.4.1#d2cde7054a45    ... or by its key; also RUN#KEY

The row alone says what to ask for. Its environment gets the packages that the row has the hash
of, where their list is beside the table (packages/), in its run or in another; else they are
resolved anew, and what differs is said. Exit code 0: agrees within noise; 1: differs; 2: wrong
request; 3: undecided, such as on another machine, or different with other packages.

metric=peak      what the verdict is about: peak, steady, time, pte; a comma list
floor=2%         a difference that is never called one
noise=RUN        a run with repeats of the same kind, to know the noise from
runs=            where the runs are [results/runs]
pte=, inputs=, script=, gguf=, runner.path=   a file of yours that the row is about
repo=, base=, nightly_index=, packages=, repeats=, timeout_s=, memory_cap=, out=
                 as of nox -s bench
--dry-run        what would be done, and nothing else
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console

from bench.analysis.compare import Comparison, compare
from bench.analysis.figures import FLOOR, JUDGED, METRICS
from bench.command import run_command
from bench.errors import Exit, choices
from bench.place import expanded, ours
from bench.report.grid import terminal
from bench.report.sources import find_one, noise_tables
from bench.rerun.asked import EXTRA, Asked, ask, split
from bench.rerun.find import Recorded, find_recorded
from bench.rerun.verdict import OUTPUTS, figures, judge
from bench.results.record import check_out
from bench.values import parse_list
from bench.words import parse_ratio

if TYPE_CHECKING:
    from bench.revision import Revisions

_OWN = ("metric", "floor", "noise", "runs")


@dataclass(frozen=True)
class Judging:
    """How the two measurements are compared."""

    judged: Sequence[str]
    floor: float
    earlier: Sequence[pd.DataFrame]

    def compared(self, before: pd.DataFrame, after: pd.DataFrame) -> Comparison:
        """Compare the recorded rows with those measured again."""
        return compare(
            before,
            after,
            floor=self.floor,
            force=(OUTPUTS,),
            judged=self.judged,
            earlier=self.earlier,
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    return run_command(_main, argv, "interrupted; the same command begins anew")


def _main(argv: list[str], console: Console) -> int:
    if {"-h", "--help"} & set(argv):
        print(__doc__)
        return Exit.OK
    dry = "--dry-run" in argv
    name, values = split([word for word in argv if word != "--dry-run"], (*_OWN, *EXTRA))
    results = ours("results")
    runs = expanded(values["runs"], "runs") if "runs" in values else results / "runs"
    judging = _judging(values, runs, results)
    recorded = find_recorded(name, runs, results)
    asked = ask(recorded, {key: values[key] for key in values if key not in _OWN}, runs)
    check_out(asked.request.out)
    # Only now, the request being right: what follows takes a second to import.
    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    return rerun(recorded, asked, judging, revisions, console, dry=dry)


def _judging(values: Mapping[str, str], runs: Path, results: Path) -> Judging:
    judged = parse_list("metric", values.get("metric", ",".join(JUDGED)))
    for metric in judged:
        if metric not in METRICS:
            raise choices("metric", metric, list(METRICS))
    earlier = noise_tables(results)
    if "noise" in values:
        earlier.append(find_one(values["noise"], runs, results).table)
    floor = parse_ratio("floor", values["floor"]) if "floor" in values else FLOOR
    return Judging(judged, floor, earlier)


def rerun(
    recorded: Recorded,
    asked: Asked,
    judging: Judging,
    revisions: Revisions,
    console: Console,
    *,
    dry: bool,
) -> int:
    """Measure what a row says, and say whether it agrees; return the exit code.

    Raises:
        RequestError: if a revision or what it needs does not exist.

    """

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    from bench.rerun.again import measure_again

    say(f"{recorded.place}: {asked.label}")
    say(f"again: {asked.command}")
    again = measure_again(recorded, asked, revisions, console, dry=dry)
    if again is None:
        return Exit.OK
    comparison = judging.compared(recorded.table, again.table)
    if comparison.lines:
        console.print(terminal(figures(comparison.lines[0])))
    for line in again.remarks:
        say(f"  {line}")
    verdict = judge(comparison, judging.judged, again.otherwise)
    say(verdict.text)
    return verdict.code


if __name__ == "__main__":
    sys.exit(main())
