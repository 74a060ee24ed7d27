"""``nox -s compare -- A B`` and ``nox -s gate -- baseline.csv``: before against after.

nox -s compare -- A B                  two runs, published tables or files
nox -s compare -- RUN commit=X,Y       two revisions in one run; also exporter=, runtime=
nox -s gate -- baseline.csv [RUN]      exit 1 if anything regressed beyond the noise
nox -s gate -- RUN commit=X,Y          the same between two revisions in one run

floor=2%         a difference that is never called one
metric=peak      what the verdict is about: peak, steady, time, pte; a comma list
force=rung,torch compare in spite of these differences, or force=all
noise=RUN        a run with repeats of the same kind, to know the noise from
format=          table, markdown, csv, json; of a gate markdown unless another is given

exit code of a gate: 0 nothing regressed; 1 something did; 3 not decided: a cell of the baseline
was not compared, is missing, or differs within a noise that is too large
runs=            where the runs are [results/runs]
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from bench.analysis.comparable import REASONS
from bench.analysis.compare import Comparison, compare
from bench.analysis.figures import FLOOR, JUDGED, METRICS
from bench.command import run_command
from bench.errors import Exit, RequestError, choices
from bench.place import expanded, ours
from bench.report import comparison as words_of
from bench.report.grid import to_csv
from bench.report.sources import at_revisions, find_one, noise_tables
from bench.values import parse_list
from bench.words import Words, parse_ratio, split

_REVISIONS = ("commit", "exporter", "runtime")
_KEYS = (*_REVISIONS, "floor", "metric", "force", "noise", "format", "runs")
_FORMATS = ("table", "markdown", "csv", "json")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``compare``, or with ``gate`` as the first word the gate; return the exit code."""
    return run_command(_main, argv)


def _main(argv: list[str], console: Console) -> int:
    gating = argv[:1] == ["gate"]
    if {"-h", "--help"} & set(argv):
        print(__doc__)
        return Exit.OK
    words = split(argv[1:] if gating else argv, _KEYS)
    if gating and len(words.names) == 1 and _revisions(words) is None:
        words = Words((*words.names, "latest"), words.values)
    title, before, after = _sides(words)
    result = _compared(words, before, after)
    _show(result, title, words.get("format", "markdown" if gating else "table"), console)
    return _gate(result, title) if gating else Exit.OK


def _sides(words: Words) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """Return what is compared: a title, and the rows before and after."""
    runs = _runs(words)
    key = _revisions(words)
    if key is not None:
        revisions = parse_list(key, words.values[key])
        if len(words.names) != 1 or len(revisions) != 2:
            raise RequestError(f"{key}: give one run and two revisions: RUN {key}=X,Y")
        source = find_one(words.names[0], runs, ours("results"))
        before, after = at_revisions(source, key, revisions)
        return f"{revisions[0]} -> {revisions[1]} in {source.name}", before, after
    if len(words.names) != 2:
        raise RequestError(f"give two of them, before and after (given: {len(words.names)})")
    left, right = (find_one(name, runs, ours("results")) for name in words.names)
    return f"{left.name} -> {right.name}", left.table, right.table


def _runs(words: Words) -> Path:
    given = words.values.get("runs")
    return expanded(given, "runs") if given else ours("results/runs")


def _revisions(words: Words) -> str | None:
    given = [key for key in _REVISIONS if key in words.values]
    if len(given) > 1:
        raise RequestError(f"give one of {', '.join(given)}")
    return given[0] if given else None


def _compared(words: Words, before: pd.DataFrame, after: pd.DataFrame) -> Comparison:
    judged = parse_list("metric", words.get("metric", ",".join(JUDGED)))
    force = parse_list("force", words.values["force"]) if "force" in words.values else []
    for key, given, valid in (
        ("metric", judged, list(METRICS)),
        ("force", force, ["all", *REASONS]),
    ):
        for value in given:
            if value not in valid:
                raise choices(key, value, valid)
    earlier = noise_tables(ours("results"))
    if "noise" in words.values:
        runs = _runs(words)
        earlier.append(find_one(words.values["noise"], runs, ours("results")).table)
    floor = parse_ratio("floor", words.values["floor"]) if "floor" in words.values else FLOOR
    return compare(before, after, floor=floor, force=force, judged=judged, earlier=earlier)


def _show(result: Comparison, title: str, form: str, console: Console) -> None:
    if form not in _FORMATS:
        raise choices("format", form, list(_FORMATS))
    if form == "markdown":
        print(words_of.summary(result, title), end="")
        return
    if form == "csv":
        print(to_csv(words_of.grid(result, leftover=True)), end="")
        return
    if form == "json":
        print(words_of.to_json(result))
        return
    words_of.to_terminal(result, title, console)
    for remark in words_of.remarks(result):
        console.print(f"  {remark}", markup=False, highlight=False, soft_wrap=True)


def _gate(result: Comparison, title: str) -> int:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(words_of.summary(result, title))
        except OSError as error:  # the verdict stands, whoever reads it
            print(f"GITHUB_STEP_SUMMARY: {summary}: {error.strerror}", file=sys.stderr)
    if result.count("regressed"):
        return Exit.FOUND
    return Exit.OK if result.decided else Exit.UNDECIDED


if __name__ == "__main__":
    gc.disable()  # a short process of many small objects: looking for cycles costs a sixth of it
    sys.exit(main())
