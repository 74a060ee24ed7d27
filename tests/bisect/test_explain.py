"""What can be found out of a culprit, and what is said where it can't."""

from __future__ import annotations

import json
from bisect.explain import NoProfileError, Profiles, changed_lines, reached
from bisect.holders import Held, compare
from bisect.verdict import Named
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.config import load
from bench.errors import BuildError
from bench.jobs import Job
from bench.measure import Outcome
from bench.plan import make_plan
from bench.repository import commit_info, open_repository
from bench.results.record import RunFolder
from tests.bisect.test_holders import MB, site
from tests.test_repository import Clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path / "clone")
    made.commit("first", exir__a="1\n", exir__b="1\n", docs__c="1\n")
    return made


def changed(clone: Clone, sha: str, cache: Path, held: Any = None) -> tuple[str, ...]:
    repository = open_repository(str(clone.path), cache, print)
    named = Named("culprit", sha, files=commit_info(repository, sha).files)
    return changed_lines(repository, named, {"exir/a.py", "exir/b.py"}, held).lines


def test_only_changed_lines_of_what_was_read_are_shown(clone: Clone, tmp_path: Path) -> None:
    sha = clone.commit("culprit", exir__a="2\n", docs__c="2\n", exir__new="3\n")
    assert changed(clone, sha, tmp_path) == ("+++ exir/a.py", "@@ -1 +1 @@", "-1", "+2")
    assert changed(clone, clone.commit("other", docs__c="3\n"), tmp_path) == ()


def test_the_files_of_who_held_more_come_first(clone: Clone, tmp_path: Path) -> None:
    sha = clone.commit("culprit", exir__a="2\n", exir__b="2\n")
    holder = site(30 * MB, "f")
    holder["frames"][0][1] = "executorch/exir/b.py"
    after = Held.of({"total_bytes": 30 * MB, "sites": [holder]})
    assert changed(clone, sha, tmp_path)[0] == "+++ exir/a.py"
    assert changed(clone, sha, tmp_path, compare(Held(0, ()), after))[0] == "+++ exir/b.py"


class Prober:
    """Processes that hold what their revision's name says, in MB; a word can't be built."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.told: Mapping[str, Any] = {}

    def job(self, name: str, repeat: int) -> Job:
        words = ["model=tiny", "method=export", "commit=v1.4.1"]
        request = replace(load(words), exporters=(name,))
        return replace(make_plan(request, "linux-x86_64").jobs[0], repeat=repeat)

    def profile(self, name: str, explain: Mapping[str, Any]) -> Outcome:
        self.taken.append(name)
        self.told = explain
        if not name.isdigit():
            raise BuildError(f"{name} does not build")
        Path(explain["capture"]).write_text("a capture")
        size = int(name) * MB
        events: list[dict[str, Any]] = [
            {"event": "phase", "name": "import", "peak_bytes": 900},
            {"event": "baseline"},
            {"event": "phase", "name": "build", "peak_bytes": 200},
            {"event": "phase", "name": "lower", "peak_bytes": 300},
            {"event": "held", "total_bytes": size, "sites": [site(size, "emit")]},
        ]
        status, reason = ("failed", "no memory") if size == 0 else ("ok", "")
        return Outcome(status, reason, events, 1.0, None, None, "")  # type: ignore[arg-type]


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profiles:
    # Installed by the integration tests, not by these.
    monkeypatch.setattr("bisect.explain.ensure_memray", lambda cache, say: cache / "tools")
    folder = RunFolder.create(tmp_path / "runs")
    return Profiles(Prober(), folder, tmp_path / "cache", "lower", lambda line: None)


def test_a_profile_is_taken_once_and_its_capture_is_not_kept(profiles: Profiles) -> None:
    for _start in range(2):
        found, phases = profiles.compare("10", "40")
        assert found.change == 30 * MB
        assert phases == ("lower", "lower")
    assert profiles.prober.taken == ["10", "40"]  # type: ignore[attr-defined]
    assert profiles.prober.told["until"] == "lower"  # type: ignore[attr-defined]
    kept = list((profiles.folder.path / "explain").iterdir())
    assert [path.suffix for path in kept] == [".json", ".json"]
    assert not profiles.folder.records()  # no measurement
    again = replace(profiles, replaying=True)
    assert again.compare("10", "40")[0] == found


def test_half_a_profile_is_taken_again(profiles: Profiles) -> None:
    profiles.compare("10", "40")
    path = profiles.folder.path / "explain" / f"{profiles.prober.job('40', 0).key}.json"
    path.write_text(json.dumps({"revision": "40"})[:5])
    profiles.compare("10", "40")
    assert profiles.prober.taken == ["10", "40", "40"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("culprit", "why"),
    [("broken", "broken does not build"), ("0", "0 under memray: failed: no memory")],
)
def test_what_can_not_be_run_says_why(profiles: Profiles, culprit: str, why: str) -> None:
    with pytest.raises((NoProfileError, BuildError), match=why):
        profiles.compare("10", culprit)


def test_a_replay_runs_nothing(profiles: Profiles) -> None:
    with pytest.raises(NoProfileError, match="no profile of 10 was kept"):
        replace(profiles, replaying=True).compare("10", "40")
    assert profiles.prober.taken == []  # type: ignore[attr-defined]


def test_the_phase_of_the_mark_is_after_the_baseline_and_not_past_the_watch() -> None:
    def phase(name: str, peak: int) -> dict[str, Any]:
        return {"event": "phase", "name": name, "peak_bytes": peak}

    events = [phase("import", 9), {"event": "baseline"}, phase("build", 1), phase("lower", 3),
              phase("write", 5)]  # fmt: skip
    assert [reached(events, until) for until in (None, "lower", "build", "no such")] == [
        "write", "lower", "build", "write",
    ]  # fmt: skip
