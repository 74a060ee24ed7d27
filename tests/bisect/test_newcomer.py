"""What a person new to it may type: one clear line each, and nothing left behind."""

from __future__ import annotations

import json
import signal
from bisect.cli import run
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.results.record import RunFolder
from tests.test_repository import Clone


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ET_PEAK_RESULTS", str(tmp_path / "results"))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """ExecuTorch in a folder with a space, two histories that never met, and other clones of it."""
    made = Clone(tmp_path / "my clone")
    shas = [made.commit(f"change {n}", exir__a=str(n)) for n in range(4)]
    made.git("branch", "old", shas[0])
    made.git("branch", "new", shas[3])
    made.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), shas[3])
    made.git("switch", "--quiet", "--orphan", "stranger")
    made.commit("elsewhere", exir__z="1")
    made.git("switch", "--quiet", "main")
    url = made.path.as_uri()
    made.git("clone", "--quiet", "--depth=1", "--no-single-branch", url, str(tmp_path / "shallow"))
    Clone(tmp_path / "other").commit("no ExecuTorch", a="1")
    return made


@pytest.mark.parametrize(
    ("words", "where", "message"),
    [
        ("encode_peek", "my clone", "did you mean encode_peak?"),
        ("export_peak.lowr", "my clone", "did you mean lower?"),
        ("export_peak good=new bad=old", "my clone", "comes after bad"),
        ("export_peak good=v1.5.1 bad=v1.4.1", "my clone", "exchange them"),
        ("export_peak good=new bad=new", "my clone", "are the same commit"),
        ("export_peak good=stranger bad=new", "my clone", "have no common ancestor"),
        ("export_peak good=nope bad=new", "my clone", "good: "),
        ("export_peak good=old bad=nope", "tree", "bad: "),
        ("export_peak good=new bad=old", "tree", "comes after bad"),
        ("export_peak good=old bad=new", "shallow", "fetch --unshallow"),
        ("export_peak good=old bad=new", "other", "holds no ExecuTorch"),
        ("export_peak good=old bad=new", "nowhere", "there is no folder"),
        ("export_peak good=old", "my clone", "bad: give both"),
        ("export_peak good=old bad=new runtime=v1.4.1", "my clone", "runs nothing"),
        ("resume=nope", None, "no run 'nope'"),
    ],
)
def test_one_clear_line(
    clone: Clone,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: str,
    where: str | None,
    message: str,
) -> None:
    repo = [] if where is None else [f"repo={tmp_path / where}"]
    assert run([*words.split(), *repo]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not list((tmp_path / "results").glob("bisect/*/*"))


def test_a_bisection_that_cannot_be_resumed_is_not_removed(clone: Clone, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "results" / "bisect")
    words = ["good=new", "bad=new", f"repo={clone.path}"]
    folder.write("request.json", json.dumps({"metric": "export_peak", "overrides": words}))
    assert run([f"resume={folder.id}"]) == 2
    assert (folder.path / "request.json").is_file()
