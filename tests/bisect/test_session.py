"""A whole bisection of releases, on recorded values: what is searched, held still, and said."""

from __future__ import annotations

import io
import json
from bisect.prober import NotRecordedError, Recorded
from bisect.replay import replay, show_log
from bisect.request import load_bisect
from bisect.session import BisectSession, resolve_ends
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.environment import Store
from bench.errors import RequestError
from bench.results.record import RunFolder
from bench.revision import Revisions
from tests.results.test_rows import CELL, PROGRAM, mark, record
from tests.test_repository import Clone

MB = 10**6
WORDS = ["good=v1.4.1", "bad=v1.5.1"]


def measured(
    stage: str, revision: str, peak: float, count: int = 12, **changes: Any
) -> list[dict[str, Any]]:
    """Make records of runs that repeat within 20 kB."""
    runs = []
    for number in range(count):
        events = [
            {"event": "baseline", "rss_bytes": 0, "peak_bytes": 0},
            mark(1, int(peak * MB) + 10_000 * (number % 3)),
        ]
        one = record(cells=[CELL], events=events, torch="2.13.0", rung="wheel", **changes)
        runs.append(one | {"stage": stage, "revision": revision})
    return runs


def crossings(exporter: float, runtime: float) -> list[dict[str, Any]]:
    found = []
    for e, old_or_new in (("v1.4.1", 0), ("v1.5.1", exporter)):
        for r, more in (("v1.4.1", 0), ("v1.5.1", runtime)):
            found += measured("crossings", f"{e} on {r}", 100 + old_or_new + more)
    return found


def session(
    tmp_path: Path, words: list[str], records: list[dict[str, Any]], ends: list[str] = WORDS
) -> BisectSession:
    folder = RunFolder.create(tmp_path)
    for one in records:
        folder.append(one)
    revisions = Revisions(Store(tmp_path / "cache" / "environments"))
    request = resolve_ends(load_bisect("encode_peak", [*ends, *words]), revisions)
    return BisectSession(request, revisions, folder, Console(quiet=True), replaying=True)


def test_a_change_of_the_runtime_is_searched_on_the_runtimes(tmp_path: Path) -> None:
    runtimes = measured("runtimes", "v1.4.1", 100) + measured("runtimes", "v1.5.1", 130)
    found = session(tmp_path, [], crossings(0, 30) + runtimes)
    assert found.run() == 1
    verdict = found.verdict
    assert (verdict["side"], verdict["moved"], verdict["held"]) == ("runtime", "runtime", "v1.5.1")
    assert verdict["culprit"]["name"] == "v1.5.1"
    assert verdict["culprit"]["confirmed"]


def test_what_the_crossings_measured_is_not_measured_again(tmp_path: Path) -> None:
    found = session(tmp_path, [], crossings(0, 30))  # nothing is recorded of the runtimes alone
    with pytest.raises(NotRecordedError):  # until culprit and parent are run anew
        found.run()
    runtimes = found.rig.probers[-1]
    assert [len(runtimes.records[i]) for i in (0, 1)] == [3, 3]


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


@pytest.fixture
def history(tmp_path: Path) -> Clone:
    """Main with eight commits between the branch points of 1.3.1 and 1.4.1."""
    made = Clone(tmp_path / "clone")
    made.commit("first", exir__a="1", src__executorch__x="1")
    made.shas = [made.git("rev-parse", "HEAD")]
    for number in range(1, 9):
        made.shas.append(made.commit(f"change {number}", exir__a=str(number)))
    for tag, sha in (("v1.3.1", made.shas[0]), ("v1.4.1", made.shas[8])):
        made.git("switch", "--quiet", "--detach", sha)
        made.commit(f"only in {tag}", exir__version=tag)
        made.git("tag", tag)
    made.git("switch", "--quiet", "main")
    made.commit("later", exir__a="later")
    return made


def exported(levels: Mapping[str, float]) -> list[dict[str, Any]]:
    """Make the records of releases as exporters."""
    return [one for name, peak in levels.items() for one in measured("releases", name, peak)]


ALL: dict[str, float] = {
    "v1.0.1": 100,
    "v1.1.0": 100,
    "v1.2.0": 100,
    "v1.3.1": 100,
    "v1.4.1": 130,
    "v1.5.1": 130,
}


def commits(made: Clone, at: int, step: float = 30) -> list[dict[str, Any]]:
    peaks = [100 + (step if i >= at else 0) for i in range(9)]
    return [
        one
        for sha, peak in zip(made.shas, peaks, strict=True)
        for one in measured("commits", sha[:10], peak)
    ]


def test_from_the_releases_into_the_commits_between_two(tmp_path: Path, history: Clone) -> None:
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    found = session(tmp_path, words, exported(ALL) + commits(history, 5), [])
    assert found.run() == 1
    verdict = found.verdict
    assert verdict["culprit"]["sha"] == history.shas[5]
    assert (verdict["good"], verdict["bad"]) == (history.shas[0][:10], history.shas[8][:10])
    assert (verdict["side"], verdict["held"]) == ("exporter", "v1.4.1")
    stages = [prober.stage for prober in found.rig.probers]
    assert stages == ["releases", "commits"]


def test_what_other_releases_changed_is_not_forgotten_among_the_commits(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = {"v1.2.0": 124, "v1.3.1": 124, "v1.4.1": 154, "v1.5.1": 154}
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    found = session(tmp_path, words, exported({**ALL, **levels}) + commits(history, 5), [])
    assert found.run() == 1
    verdict, text = found.verdict, capsys.readouterr().out
    assert verdict["culprit"]["sha"] == history.shas[5]
    assert verdict["whole_difference"] == pytest.approx(54 * MB, rel=0.01)
    assert verdict["share_explained"] == pytest.approx(30 / 54, abs=0.01)
    assert "56% of the whole difference is explained" in text
    assert "The whole difference is that between v1.0.1 and v1.5.1: +54.0 MB." in text
    assert (
        "Between v1.1.0 and v1.2.0 it changed too, by +24.0 MB (44% of the whole difference); "
        "these commits were not searched: python -m bisect encode_peak good=v1.1.0 bad=v1.2.0 "
        f"runtime=v1.4.1 repo={history.path}"
    ) in text


def unmeasurable(names: Sequence[str], stage: str = "releases") -> list[dict[str, Any]]:
    """Make records of revisions that can't be measured."""
    return [
        one | {"status": "failed", "reason": "ImportError: boom", "events": []}
        for name in names
        for one in measured(stage, name, 100)
    ]


def test_releases_that_cannot_be_measured_are_searched_across(
    tmp_path: Path, history: Clone
) -> None:
    history.git("tag", "v1.2.0", "v1.3.1")  # branched off where 1.3.1 did
    history.git("tag", "--delete", "v1.3.1")
    levels = {name: peak for name, peak in ALL.items() if name != "v1.3.1"}
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    records = exported(levels) + unmeasurable(["v1.3.1"]) + commits(history, 5)
    found = session(tmp_path, words, records, [])
    assert found.run() == 1
    assert found.verdict["culprit"]["sha"] == history.shas[5]
    assert [prober.stage for prober in found.rig.probers] == ["releases", "commits"]


def test_a_runtime_that_could_not_be_crossed_is_not_held(tmp_path: Path) -> None:
    records = crossings(30, 0)
    for one in records:
        if one["revision"] == "v1.4.1 on v1.5.1":
            one |= {"status": "failed", "reason": "x", "events": []}
    releases = exported({"v1.4.1": 100, "v1.5.1": 130})
    found = session(tmp_path, [], records + releases)
    assert found.run() == 1
    assert found.verdict["held"] == "v1.4.1"
    # What the crossings measured of it is not measured again.
    assert found.rig.probers[-1].records[0][0]["stage"] == "releases"


def test_the_commits_are_laid_over_the_base_of_the_releases(tmp_path: Path, history: Clone) -> None:
    words = ["runtime=v1.5.1", "base=v1.5.1", f"repo={history.path}"]
    found = session(tmp_path, words, exported(ALL) + commits(history, 5), [])
    assert found.run() == 1
    bases = {prober.job("x", 0).cells[0].runtime for prober in found.rig.probers}
    assert bases == {"v1.5.1"}


def test_what_no_commit_of_the_main_line_did_is_left_to_the_releases(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    found = session(tmp_path, words, exported(ALL) + commits(history, 5, step=0), [])
    assert found.run() == 1
    assert found.verdict["culprit"]["name"] == "v1.4.1"
    text = capsys.readouterr().out
    assert (
        "Between the branch points of v1.3.1 and v1.4.1 on main: encode_peak is not shown to "
        f"differ between the exporters of {history.shas[0][:10]} and {history.shas[8][:10]}: "
    ) in text


def test_a_descent_that_ends_unmeasurable_says_so_and_guesses_nothing(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    good = history.shas[0][:10]
    records = exported(ALL) + unmeasurable([good], "commits")
    records += measured("commits", history.shas[8][:10], 130)
    assert session(tmp_path, words, records, []).run() == 1
    text = capsys.readouterr().out
    assert f"can't be measured at an endpoint: good ({good}), failed: ImportError: boom." in text
    assert "release branch" not in text


def test_a_repository_without_the_tags_ends_at_the_releases(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    history.git("tag", "--delete", "v1.3.1")
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    assert session(tmp_path, words, exported(ALL), []).run() == 1
    text = capsys.readouterr().out
    assert "The commits between v1.3.1 and v1.4.1 were not searched: " in text
    assert "has no tag v1.3.1: git fetch --tags" in text


def in_between(levels: Mapping[str, float]) -> list[dict[str, Any]]:
    return [one for name, peak in levels.items() for one in measured("middle", name, peak, 1)]


def test_a_change_that_no_release_has_is_not_searched_in_commits(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    same = dict.fromkeys(ALL, 100)
    found = session(tmp_path, words, exported(same) + in_between(same), [])
    assert found.run() == 3
    assert found.verdict["status"] == "no_difference"
    assert [prober.stage for prober in found.rig.probers] == ["releases", "middle"]
    assert (
        "encode_peak by release: v1.0.1 100.0 MB, v1.1.0 100.0 MB, v1.2.0 100.0 MB, "
        "v1.3.1 100.0 MB, v1.4.1 100.0 MB, v1.5.1 100.0 MB; those in between were run once."
    ) in capsys.readouterr().out


def test_what_grew_and_shrank_again_between_the_releases_is_found(
    tmp_path: Path, history: Clone
) -> None:
    hump = ALL | {"v1.5.1": 100.0}
    near = [one for n in ("v1.3.1", "v1.4.1") for one in measured("neighbours", n, hump[n])]
    words = ["runtime=v1.4.1", f"repo={history.path}"]
    records = exported(hump) + in_between(hump) + near + commits(history, 5)
    found = session(tmp_path, words, records, [])
    assert found.run() == 1
    assert found.verdict["culprit"]["sha"] == history.shas[5]
    stages = [prober.stage for prober in found.rig.probers]
    assert stages == ["releases", "middle", "neighbours", "commits"]


def test_releases_that_a_person_named_are_all_that_is_measured(tmp_path: Path) -> None:
    same = dict.fromkeys(ALL, 100)
    found = session(tmp_path, ["runtime=v1.4.1"], exported(same), ["good=v1.0.1", "bad=v1.5.1"])
    assert found.run() == 3
    assert [prober.stage for prober in found.rig.probers] == ["releases"]


def with_program(one: dict[str, Any], size: int) -> dict[str, Any]:
    return one | {"program": {**PROGRAM, "pte_bytes": size}}


def test_a_program_that_grew_is_searched_by_its_size_and_run_at_one_commit_only(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [20 * MB + (30 * MB if i >= 5 else 0) for i in range(9)]
    names = [sha[:10] for sha in history.shas]
    runs = [with_program(one, sizes[names.index(one["revision"])]) for one in commits(history, 5)]
    export = CELL | {"method": "export", "iterations": None, "runtime": None, "load_mode": ""}
    programs = [
        with_program(record(cells=[export], events=[]), size)
        | {"stage": "commits", "revision": name}
        for name, size in zip(names, sizes, strict=True)
    ]
    ends = [f"good={history.shas[0]}", f"bad={history.shas[8]}"]
    words = ["base=v1.4.1", f"repo={history.path}"]
    found = session(tmp_path, words, runs + programs, ends)
    assert found.run() == 1
    verdict = found.verdict
    assert verdict["culprit"]["sha"] == history.shas[5]
    assert verdict["companions"] == [
        {
            "name": "pte_size",
            "ends": [20e6, 50e6],
            "outcome": "confirmed",
            "steps_at": names[5],
            "same_commit": True,
        }
    ]
    (prober,) = found.rig.probers
    assert {i for i, runs in prober.records.items() if runs} == {0, 4, 5, 8}
    assert (
        f"pte_size steps at the same commit, {names[5]}: 20.0 MB to 50.0 MB. It is exact, so it "
        "was searched first, at one run each; encode_peak was measured at that commit and its "
        "parent, and confirms it."
    ) in capsys.readouterr().out


def test_commits_off_the_line_are_searched_from_where_they_parted(
    tmp_path: Path, history: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    records = commits(history, 3)
    words = ["base=v1.4.1", f"repo={history.path}"]
    ends = ["good=v1.3.1", f"bad={history.shas[8]}"]
    found = session(tmp_path, words, records, ends)
    assert found.run() == 1
    assert found.verdict["culprit"]["sha"] == history.shas[3]
    assert "where they parted" in capsys.readouterr().out


def resumed(tmp_path: Path, records: list[dict[str, Any]], monkeypatch: Any) -> BisectSession:
    """Make a bisection that measures nothing, all being recorded, and keeps its verdict."""
    found = session(tmp_path, ["runtime=v1.4.1"], records)
    found.rig.replaying = False
    monkeypatch.setattr(found.rig, "_measurer", lambda *_: Recorded())
    monkeypatch.setattr(found.rig, "_fleet", lambda *_: None)
    return found


def test_seconds_are_those_of_all_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = exported({"v1.4.1": 100, "v1.5.1": 100})
    found = resumed(tmp_path, records, monkeypatch)
    folder = found.rig.folder
    folder.write("verdict.json", json.dumps({"wall_s": 5000.0, "worker_s": 4900.0}))
    workers = sum(one["total_s"] for one in records)
    for _ in range(2):
        again = BisectSession(found.rig.request, found.rig.revisions, folder, Console(quiet=True))
        monkeypatch.setattr(again.rig, "_measurer", lambda *_: Recorded())
        monkeypatch.setattr(again.rig, "_fleet", lambda *_: None)
        assert again.run() == 3
        written = json.loads((folder.path / "verdict.json").read_text())
        assert 5000 <= written["wall_s"] < 5100
        assert written["worker_s"] == pytest.approx(workers, abs=0.1)


def test_what_is_read_back_is_not_told_as_being_measured(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path)
    for one in exported({"v1.4.1": 100, "v1.5.1": 130}):
        folder.append(one)
    revisions = Revisions(Store(tmp_path / "cache" / "environments"))
    request = resolve_ends(load_bisect("encode_peak", [*WORDS, "runtime=v1.4.1"]), revisions)
    console = Console(record=True, file=io.StringIO(), width=200)
    assert BisectSession(request, revisions, folder, console, replaying=True).run() == 1
    text = console.export_text()
    assert "v1.5.1: 130.0 MB" in text
    assert "measuring" not in text
    assert " left" not in text


def test_the_log_shows_a_metric_of_its_own_method_only(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path)
    export = record(cells=[CELL | {"method": "export", "iterations": None, "runtime": None}])
    folder.append(export | {"stage": "commits", "revision": "abc"})
    folder.append(measured("commits", "abc", 77, 1)[0])
    console = Console(record=True, file=io.StringIO(), width=200)
    show_log(load_bisect("encode_peak", []).metric, folder, console)
    first, second = [line for line in console.export_text().splitlines() if "commits" in line]
    assert "export" in first and "MB" not in first
    assert "encode" in second and "77.0 MB" in second
