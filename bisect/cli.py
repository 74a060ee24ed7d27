"""The command line of ``python -m bisect``."""

from __future__ import annotations

import json
import shutil
import sys
import traceback
from bisect.metrics import METRICS, parts_of
from bisect.request import OWN, BisectRequest, load_bisect
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.command import ENDS, Parser, resumable, run_command
from bench.errors import EtPeakError, Exit, RequestError
from bench.results.record import RunFolder

_HEAD = """\
Find the commit that changed a measurement, with a stated confidence.

    python -m bisect encode_peak                                # the releases, then the commits
    python -m bisect export_peak good=029c1ffea8~40 bad=cff6f4dd32 direction=any repo=PATH
    python -m bisect encode_peak good=v1.2.0 bad=v1.4.1 model=small precision=int8
    python -m bisect export_peak parallel=4 hydra/launcher=ray          # docs/machines.md
    python -m bisect resume=ID            finish one that was interrupted
    python -m bisect log ID               what was measured
    python -m bisect explain ID           who held the memory: a finished one, under memray
    python -m bisect replay ID            the search again, on the recorded values
    python -m bisect probe encode_peak threshold=250MB          # for git bisect run: 0, 1, 125
    python -m bisect --list               the metrics

Options, beside those of nox -s bench -- --help that choose the cell:"""


def run(argv: Sequence[str]) -> int:
    """Run the command; return its exit code (see :class:`bench.errors.Exit`)."""
    code = run_command(_run, argv)
    # To git any code below 128 is a verdict on the commit, and a wrong word is none.
    return 255 if code == Exit.BAD_REQUEST and "probe" in argv else code


def _run(argv: list[str], console: Console) -> int:
    parser = Parser("see python -m bisect --help")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    given = parser.parse_intermixed_args(argv)
    if given.list:
        console.print(_metrics_table())
        return Exit.OK
    if given.help or not given.words:
        _help(console)
        return Exit.OK if given.help else Exit.BAD_REQUEST
    first, *words = given.words
    if first.startswith("resume="):
        first, words = "resume", [first.partition("=")[2], *words]
    match first:
        case "probe":
            return _probe(words)
        case "log" | "replay" | "resume" | "explain":
            return _earlier(first, words, console)
        case _:
            return _bisect(load_bisect(first, words), console)


def _probe(words: list[str]) -> int:
    """Measure once for git, to which any code below 128 is a verdict; 255 ends its search."""
    from bisect.probe import probe

    try:
        if not words:
            raise RequestError("probe: name the metric, such as encode_peak")
        return probe(words[0], words[1:])
    except (EtPeakError, OSError, ValueError) as error:
        print(f"et-peak: {error}", file=sys.stderr)
    except Exception:  # a defect of ours is no verdict either
        traceback.print_exc()
    return 255


def _bisect(request: BisectRequest, console: Console, folder: RunFolder | None = None) -> int:
    from bisect.session import BisectSession, bisect_root, resolve_ends

    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    request = resolve_ends(request, revisions)
    begun = folder is None
    if folder is None:
        folder = RunFolder.create(bisect_root())
        content = {"metric": request.metric.name, "overrides": list(request.words)}
        folder.write("request.json", json.dumps(content, indent=2) + "\n")
    with folder.lock():
        try:
            return BisectSession(request, revisions, folder, console).run()
        except RequestError:
            if (
                begun and not folder.records()
            ):  # nothing between good and bad: no bisection was begun
                shutil.rmtree(folder.path, ignore_errors=True)
            raise
        except ENDS as end:
            return resumable(end, f"python -m bisect resume {folder.id}")


def _earlier(command: str, words: list[str], console: Console) -> int:
    from bisect.replay import replay, show_log
    from bisect.session import bisect_root

    if len(words) != 1:
        raise RequestError(f"{command}: give the id of one bisection, or latest")
    folder = RunFolder.find(bisect_root(), words[0])
    try:
        content = json.loads((folder.path / "request.json").read_text())
        content = {"metric": str(content["metric"]), "overrides": folder.read("overrides")}
    except (OSError, ValueError, KeyError, TypeError):
        raise RequestError(f"bisection {folder.id} has no readable request.json") from None
    words = content["overrides"]
    if command == "explain":
        words = [*(word for word in words if not word.startswith("explain=")), "explain=memray"]
    request = load_bisect(content["metric"], words)
    if command == "log":
        return show_log(request.metric, folder, console)
    if command == "replay":
        return replay(request, folder, console)
    return _bisect(request, console, folder)


def _help(console: Console) -> None:
    console.print(_HEAD, markup=False, highlight=False, soft_wrap=True)
    for name, meaning in OWN.items():
        console.print(f"  {name:<11} {meaning}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        "\nExit codes: 1 a culprit was found and confirmed, 2 wrong request, 3 not decided (no"
        "\ndifference, noise, not confirmed), 130 interrupted; of probe: 0 at most the threshold,"
        "\n1 above it, 125 can't be measured, 255 no verdict: wrong request, or any other error.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _metrics_table() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("metric", "unit", "meaning", "phases (metric.phase)"):
        table.add_column(title, no_wrap=title == "metric")
    for metric in METRICS.values():
        exact = " (exact: one run tells)" if metric.exact else ""
        table.add_row(metric.name, metric.unit, metric.meaning + exact, " ".join(parts_of(metric)))
    return table
