"""``nox -s perf``: the promises of speed and steadiness, as ratios measured in one run."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from bench.command import Parser, run_command
from bench.compose import default_commit, host
from bench.config import load
from bench.environment import GitTree, OverlayRecipe, Store, recipe_for
from bench.errors import EtPeakError, Exit, RequestError, choices
from bench.measurer import Measurer
from bench.plan import make_plan
from bench.progress import Unwatched
from bench.repository import open_repository
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows
from bench.revision import Revisions
from bench.values import format_mb, format_seconds

_RELEASE = default_commit().removeprefix("v")
_COMMITS = 8
_LOOKED_AT = 100
"""Of the newest commits, for those whose overlay is not there yet."""
_BENCHMARKS = ("environments", "steadiness", "calibration", "tables", "timeline")
_HELP = (
    """\
Measure our own promises of speed and steadiness, as ratios within one run.

    nox -s perf -- environments repo=PATH    overlay of a commit, a release's install, an export
    nox -s perf -- steadiness                spread of five encodes and five exports of one cell
    nox -s perf -- calibration [--quick]     how often the search's 95% is right
    nox -s perf -- timeline                  what timeline=on costs an encode: five pairs
    nox -s perf -- tables                    report and compare of 100 000 rows: seconds and memory

environments, steadiness and timeline build the environment of ExecuTorch """
    + f"{_RELEASE} where it is not there."
)
_EXPORT = ("backend=mlx", "precision=bf16", "method=export")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark and print its table; return the exit code."""
    return run_command(_main, argv)


def _main(argv: list[str], console: Console) -> int:
    parser = Parser("see --help")
    parser.add_argument("benchmark", nargs="?", default="")
    parser.add_argument("words", nargs="*")
    given, flags = parser.parse_known_args(argv)
    words = [*given.words, *flags]
    if given.help and given.benchmark != "calibration":
        console.print(_HELP, markup=False, highlight=False, soft_wrap=True)
        return Exit.OK
    match given.benchmark:
        case "environments":
            environments(words)
        case "steadiness":
            if words:
                raise RequestError(f"steadiness: takes no {words[0]!r}")
            steadiness()
        case "calibration":
            from bisect.calibration import main as calibrate

            calibrate([*words, "--help"] if given.help else words)
        case "timeline":
            if words:
                raise RequestError(f"timeline: takes no {words[0]!r}")
            timeline()
        case "tables":
            if words:
                raise RequestError(f"tables: takes no {words[0]!r}")
            from bench.perf_tables import tables

            tables()
        case _:
            raise choices("benchmark", given.benchmark, list(_BENCHMARKS))
    return Exit.OK


def environments(words: Sequence[str]) -> None:
    """Time a new commit's overlay against a fresh install of a release, and against one export.

    Raises:
        RequestError: without ``repo=``, a clone of ExecuTorch.
    """
    given = [word.partition("=")[2] for word in words if word.startswith("repo=")]
    if len(given) != 1 or len(words) != 1 or not given[0]:
        raise RequestError("environments: takes repo=PATH, a clone of ExecuTorch, and no more")
    store = Store()
    base = recipe_for(_RELEASE)
    repository = open_repository(given[0], store.root.parent, _say)  # a wrong one builds nothing
    store.ensure(base, _say)  # warms uv's cache, and is what the overlays are laid over

    def overlay(sha: str) -> OverlayRecipe:
        return OverlayRecipe(base, GitTree(repository.git_dir, sha), "perf")

    newest = repository.git("rev-list", "--first-parent", f"-{_LOOKED_AT}", repository.main())
    # Commits that share an environment count once, and those that have one not at all, so that
    # this can be run again.
    recipes = ((sha, overlay(sha)) for sha in newest.split())
    new = {recipe.build_key: sha for sha, recipe in recipes if store.find(recipe) is None}
    shas = list(new.values())[: _COMMITS + 1]
    if len(shas) < 2:
        raise RequestError("environments: every commit's overlay is there already; prune first")
    with tempfile.TemporaryDirectory(dir=store.root.parent) as folder:
        install_s = _seconds(lambda: Store(Path(folder)).ensure(base, _quiet))
    *fresh, neighbour = shas
    store.ensure(overlay(neighbour), _quiet)
    overlays = [_seconds(partial(_build, store, overlay, sha)) for sha in fresh]
    export_s = median(_totals(_measure(_EXPORT, 1)))
    overlay_s = median(overlays)
    print("| step | time | ratio to an overlay |\n| --- | ---: | ---: |")
    for name, seconds in (
        (f"overlay of a new commit, median of {len(overlays)}", overlay_s),
        (f"fresh environment of {_RELEASE}, packages cached", install_s),
        ("tiny bf16 MLX export", export_s),
    ):
        print(f"| {name} | {format_seconds(seconds)} | {seconds / overlay_s:.1f} |")


def steadiness() -> None:
    """Measure cells again and again in fresh processes, and print how far the peaks spread."""
    print("| cell | runs | spread of the peak above the baseline |\n| --- | ---: | ---: |")
    encode = ("method=encode", "iterations=1", "backend=xnnpack")
    for words, runs in ((encode, 5), (_EXPORT, 5)):
        records = _measure(words, runs)
        peaks = [_last_row(record)["peak_delta_bytes"] for record in records]
        spread = (max(peaks) - min(peaks)) / median(peaks)
        print(f"| tiny {' '.join(words)} | {runs} | {spread:.3%} |")


def timeline() -> None:
    """Run encodes with and without ``timeline=on``, in turn; print the ratios of their medians."""
    words = ("method=encode", "iterations=20", "backend=xnnpack")
    sides: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    _measure(words, 1)  # exports the program
    for _pair in range(5):
        for on, rows in sides.items():
            rows += map(_last_row, _measure(words, 1, timeline=on))
    print("| tiny fp32 encode, 5 pairs | without | with | ratio |\n| --- | ---: | ---: | ---: |")
    for name, column, show in (
        ("median execution", "exec_median_s", format_seconds),
        ("peak above the baseline, MB", "peak_delta_bytes", format_mb),
    ):
        off, on = (median(row[column] for row in rows) for rows in sides.values())
        print(f"| {name} | {show(off)} | {show(on)} | {on / off:.4f} |")


def _last_row(record: Mapping[str, Any]) -> dict[str, Any]:
    return measurement_rows(record)[-1]


def _measure(words: Sequence[str], repeats: int, *, timeline: bool = False) -> list[dict[str, Any]]:
    request = load([*words, f"repeats={repeats}"])
    revisions = Revisions(Store())
    revisions.say = _say
    request = revisions.resolve_all(request)
    with tempfile.TemporaryDirectory() as folder:
        programs = revisions.programs()
        out = RunFolder.create(Path(folder))
        measurer = Measurer(out, revisions, programs, request.limits, Unwatched(_say))
        measurer.timeline = timeline
        records = [measurer.measure(job) for job in make_plan(request, host()).jobs]
    for record in records:
        if record["status"] != "ok":
            raise EtPeakError(f"{record['status']}: {record['reason']}")
    return records


def _totals(records: Sequence[dict[str, Any]]) -> list[float]:
    return [float(record["total_s"]) for record in records]


def _build(store: Store, overlay: Callable[[str], OverlayRecipe], sha: str) -> None:
    store.ensure(overlay(sha), _quiet)  # a recipe of its own: reading the tree is part of it


def _seconds(work: Callable[[], Any]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _say(line: str) -> None:
    """Say what is built: on a fresh cache that is minutes, and no part of a figure."""
    print(f"et-peak: {line}", file=sys.stderr)


def _quiet(_line: str) -> None: ...


if __name__ == "__main__":
    sys.exit(main())
