"""A whole bisection of releases, on recorded values: what is searched, held still, and said."""

from __future__ import annotations

import json
from bisect.prober import NotRecordedError
from bisect.replay import replay
from bisect.request import load_bisect
from bisect.session import BisectSession, resolve_ends
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.environment import Store
from bench.errors import RequestError
from bench.results.record import RunFolder
from bench.revision import Revisions
from tests.results.test_rows import CELL, mark, record

MB = 10**6
WORDS = ["good=v1.4.1", "bad=v1.5.1"]


def measured(stage: str, revision: str, peak: float, count: int = 12) -> list[dict[str, Any]]:
    """Make records of runs that repeat within 20 kB."""
    runs = []
    for number in range(count):
        events = [
            {"event": "baseline", "rss_bytes": 0, "peak_bytes": 0},
            mark(1, int(peak * MB) + 10_000 * (number % 3)),
        ]
        one = record(cells=[CELL], events=events, torch="2.13.0", rung="wheel")
        runs.append(one | {"stage": stage, "revision": revision})
    return runs


def crossings(exporter: float, runtime: float) -> list[dict[str, Any]]:
    found = []
    for e, old_or_new in (("v1.4.1", 0), ("v1.5.1", exporter)):
        for r, more in (("v1.4.1", 0), ("v1.5.1", runtime)):
            found += measured("crossings", f"{e} on {r}", 100 + old_or_new + more)
    return found


def session(tmp_path: Path, words: list[str], records: list[dict[str, Any]]) -> BisectSession:
    folder = RunFolder.create(tmp_path)
    for one in records:
        folder.append(one)
    revisions = Revisions(Store(tmp_path / "cache" / "environments"))
    request = resolve_ends(load_bisect("encode_peak", [*WORDS, *words]), revisions)
    return BisectSession(request, revisions, folder, Console(quiet=True), replaying=True)


def test_a_change_of_the_runtime_is_searched_on_the_runtimes(tmp_path: Path) -> None:
    runtimes = measured("runtimes", "v1.4.1", 100) + measured("runtimes", "v1.5.1", 130)
    found = session(tmp_path, [], crossings(0, 30) + runtimes)
    assert found.run() == 1
    verdict = found.verdict
    assert (verdict["side"], verdict["moved"], verdict["held"]) == ("runtime", "runtime", "v1.5.1")
    assert verdict["culprit"]["name"] == "v1.5.1"
    assert verdict["culprit"]["confirmed"]


def test_the_runtimes_verdict_promises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runtimes = measured("runtimes", "v1.4.1", 100) + measured("runtimes", "v1.5.1", 130)
    session(tmp_path, [], crossings(0, 30) + runtimes).run()
    text = capsys.readouterr().out
    assert "It is the runtime that moved it; programs were exported by v1.5.1" in text
    assert "The runtime moved it, between v1.4.1 and v1.5.1." in text
    assert "rung=source" not in text
    assert "nightly" not in text


def test_one_runtime_is_held_still_and_nothing_crossed(tmp_path: Path) -> None:
    releases = measured("releases", "v1.4.1", 100) + measured("releases", "v1.5.1", 100)
    found = session(tmp_path, ["runtime=1.4.1"], releases)
    assert found.run() == 3
    verdict = found.verdict
    assert (verdict["side"], verdict["moved"], verdict["held"]) == ("exporter", None, "v1.4.1")
    assert verdict["status"] == "no_difference"
    assert "runtime=v1.4.1" in verdict["command"]


def test_a_replay_writes_and_measures_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    releases = measured("releases", "v1.4.1", 100) + measured("releases", "v1.5.1", 100)
    begun = session(tmp_path, ["runtime=v1.4.1"], releases)
    before = {"status": "no_difference", "culprit": None, "credible_set": []}
    begun.rig.folder.write("verdict.json", json.dumps(before))
    files = {p.name: p.read_bytes() for p in begun.rig.folder.path.iterdir()}
    assert replay(begun.rig.request, begun.rig.folder, Console(quiet=True)) == 3
    assert "the same verdict, 0 measurements taken anew" in capsys.readouterr().out
    left = {p.name: p.read_bytes() for p in begun.rig.folder.path.iterdir() if p.name != ".lock"}
    assert left == files
    with begun.rig.folder.lock(), pytest.raises(RequestError, match="another process"):
        replay(begun.rig.request, begun.rig.folder, Console(quiet=True))


def test_a_replay_says_what_was_not_recorded(tmp_path: Path) -> None:
    releases = measured("releases", "v1.4.1", 100) + measured("releases", "v1.5.1", 100, count=2)
    with pytest.raises(NotRecordedError, match=r"a run of v1\.5\.1 not recorded"):
        session(tmp_path, ["runtime=v1.4.1"], releases).run()
