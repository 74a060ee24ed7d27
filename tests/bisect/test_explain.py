"""What an explainer finds out of a history made on the spot, and says where it can't."""

from __future__ import annotations

import json
from bisect.explain import Explainer
from bisect.request import load_bisect
from bisect.verdict import Named
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.config import Limits
from bench.errors import BuildError
from bench.measurer import Measurer
from bench.plan import Job, make_plan
from bench.programs import ProgramStore
from bench.repository import commit_info, open_repository
from bench.results.record import RunFolder
from tests.bisect.test_driver import History, bisect
from tests.bisect.test_holders import MB, site
from tests.bisect.test_metrics import EXPORT
from tests.results.test_rows import record
from tests.test_repository import Clone

(CULPRIT,) = bisect(History([100.0, 250.0])).culprits


class Nothing:
    """Environments that can't be had, and a progress nobody sees."""

    def get(self, revision: str, **needs: object) -> Any:
        raise BuildError(f"{revision} does not build")

    def phase(self, name: str) -> None:
        pass

    def say(self, line: str) -> None:
        pass


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path / "clone")
    made.commit("first", exir__a="1\n", exir__b="1\n", docs__c="1\n")
    return made


@pytest.fixture
def explainer(clone: Clone, tmp_path: Path) -> Explainer:
    def job(name: str) -> Job:
        asked = load_bisect("export_peak", [f"good={name}", "bad=v1"]).bench
        request = replace(asked, exporters=(name,), methods=("export",), repeats=1)
        return make_plan(request, "linux-x86_64").jobs[0]

    read = {"event": "trace", "files": ["exir/a.py", "exir/b.py"], "native": []}
    folder, nothing = RunFolder.create(tmp_path / "runs"), Nothing()
    programs = ProgramStore(tmp_path / "programs")
    return Explainer(
        records={i: [record(cells=[EXPORT], events=[read])] for i in (0, 1)},
        job=job,
        measurer=Measurer(folder, nothing, programs, Limits(60, None), nothing),
        folder=folder,
        repository=open_repository(str(clone.path), tmp_path / "cache", print),
        cache=tmp_path / "cache",
        until=None,
        memray=False,
        say=lambda line: None,
    )


def named(explainer: Explainer, clone: Clone, sha: str) -> list[Named]:
    assert explainer.repository is not None
    files = commit_info(explainer.repository, sha).files
    return [Named("parent"), Named("culprit", sha, files=files)]


def keep(explainer: Explainer, name: str, size: int) -> None:
    event = {"total_bytes": size, "sites": [site(size, "b", native="clone")]}
    event["sites"][0]["frames"][0][1] = "executorch/exir/b.py"  # type: ignore[index]
    content = json.dumps({"phase": "lower", "held": event})
    explainer.folder.write(f"explain/{explainer.job(name).key}.json", content)


def test_only_changed_lines_of_what_was_read_are_shown(clone: Clone, explainer: Explainer) -> None:
    sha = clone.commit("culprit", exir__a="2\n", docs__c="2\n", exir__new="3\n")
    found = explainer.explain(CULPRIT, named(explainer, clone, sha))
    assert found.excerpt is not None
    assert found.excerpt.lines == ("+++ exir/a.py", "@@ -1 +1 @@", "-1", "+2")
    assert found.held is None
    assert not found.why_not


def test_profiles_that_were_taken_are_used_and_their_files_come_first(
    clone: Clone, explainer: Explainer
) -> None:
    sha = clone.commit("culprit", exir__a="2\n", exir__b="2\n")
    keep(explainer, "parent", 10 * MB)
    keep(explainer, "culprit", 40 * MB)
    asked = replace(explainer, memray=True)
    found = asked.explain(CULPRIT, named(explainer, clone, sha))
    assert found.held is not None
    assert found.held.change == 30 * MB
    assert found.phases == ("lower", "lower")
    assert found.excerpt is not None
    assert found.excerpt.lines[0] == "+++ exir/b.py"
    suspect = asked.explain(replace(CULPRIT, confirmed=False), named(explainer, clone, sha))
    assert (suspect.held, suspect.why_not) == (None, "")


@pytest.mark.parametrize("replaying", [True, False])
def test_what_can_not_be_run_is_said(clone: Clone, explainer: Explainer, replaying: bool) -> None:
    sha = clone.commit("culprit", exir__a="2\n")
    place = explainer.cache / "tools"  # memray is not to be installed here
    asked = replace(explainer, memray=True, measurer=None if replaying else explainer.measurer)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bisect.explain.ensure_memray", lambda cache, say: place)
        found = asked.explain(CULPRIT, named(explainer, clone, sha))
    expected = "no profile of parent was taken" if replaying else "parent does not build"
    assert found.why_not == expected
    assert found.excerpt is not None


def test_operators_that_lost_their_delegate_are_named(clone: Clone, explainer: Explainer) -> None:
    def with_ops(ops: dict[str, int]) -> dict[str, Any]:
        method = {"delegates": 1, "delegated_nodes": 1, "planned_bytes": 1}
        method |= {"undelegated_nodes": sum(ops.values()), "undelegated_ops": ops}  # type: ignore[dict-item]
        return record(cells=[EXPORT], events=[], program={"methods": {"forward": method}})

    records = {0: [with_ops({"a": 1})], 1: [with_ops({"a": 1, "aten.linear.default": 4})]}
    found = replace(explainer, records=records, repository=None).explain(
        CULPRIT, [Named("v1.4.1"), Named("v1.5.1")]
    )
    assert found.operators == {"aten.linear.default": (0, 4)}
    assert found.excerpt is None
