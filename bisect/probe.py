"""``python -m bisect probe``: one measurement as an exit code, for ``git bisect run``."""

from __future__ import annotations

import sys
from bisect.request import OWN, load_bisect
from bisect.session import bisect_root
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.compose import default_commit, host
from bench.environment import Store
from bench.errors import Exit, RequestError
from bench.measurer import Measurer
from bench.plan import make_plan
from bench.progress import Unwatched
from bench.results.record import RunFolder
from bench.revision import Revisions

_TOLD = ("parallel",)
"""Options of a bisection with an answer of their own."""


def probe(metric: str, words: Sequence[str]) -> int:
    """Measure the commit that is checked out here; return 0, 1 or 125 as git wants it.

    0 where the metric is at most ``threshold=``, 1 above it, 125 where it can't be measured.

    Raises:
        RequestError: if there is no threshold, or this is no repository.
    """
    given = [w.partition("=")[2] for w in words if w.startswith("threshold=")]
    rest = [w for w in words if not w.startswith("threshold=")]
    if len(given) != 1:
        raise RequestError("probe: give threshold=, such as threshold=250MB")
    if idle := [
        key for word in rest if (key := word.partition("=")[0]) in OWN and key not in _TOLD
    ]:
        raise RequestError(f"probe: {idle[0]}= is of a bisection; here git decides what is next")
    request = load_bisect(metric, rest)
    if request.bench.launch or request.settings.parallel > 1:
        raise RequestError("probe: measures once, and here: without parallel= and hydra/launcher=")
    chosen = request.metric
    limit = chosen.parse("threshold", given[0])
    where = request.bench.origin.repo or str(Path.cwd())
    origin = replace(request.bench.origin, repo=where)
    bench = replace(request.bench, origin=origin, exporters=("HEAD",))
    revisions = Revisions(Store())
    if chosen.method != "export" and bench.runtimes is None:
        base = (origin.base or default_commit()).removeprefix("v")
        bench = replace(bench, runtimes=(f"v{base}",))
    bench = revisions.resolve_all(bench)
    revisions.say = _to_stderr
    folder = RunFolder.create(bisect_root() / "probes")
    programs = revisions.programs()
    measurer = Measurer(folder, revisions, programs, bench.limits, Unwatched(_to_stderr))
    (job,) = make_plan(bench, host()).jobs
    record = measurer.measure(job)
    folder.append(record)
    value = chosen.value(record)
    if value is None:
        print(f"{chosen.name}: {record['status']}: {record['reason']}")
        return Exit.UNTESTABLE
    above = value > limit
    relation = "above" if above else "at most"
    print(f"{chosen.name}: {chosen.show(value)}, {relation} {chosen.show(limit)}")
    return Exit.FOUND if above else Exit.OK


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
