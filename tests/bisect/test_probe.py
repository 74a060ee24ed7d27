"""`probe` for git: whatever is no verdict on the commit ends git's search."""

from __future__ import annotations

import signal
from bisect.cli import run
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environment.overlays import git


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name the metric"),
        (["encode_peak"], "give threshold="),
        (["encode_peak", "threshold=1MB", "threshold=2MB"], "give threshold="),
        (["encode_peak", "threshold=nan"], "threshold: 'nan' is not a size"),
        (["encode_time", "threshold=nan"], "threshold: 'nan' is not a positive number of seconds"),
        (["delegates", "threshold=2.5"], "threshold: '2.5' is not a whole number"),
        (["encode_peek", "threshold=1MB"], "did you mean encode_peak"),
        (["export_peak", "threshold=1MB", "repo=/nowhere"], "there is no folder"),
        (["export_peak", "threshold=1MB", "parallel=2"], "probe: measures once, and here"),
        (["export_peak", "threshold=1MB", "good=v1.4.1", "bad=v1.5.1"], "probe: good= is of a"),
        (["export_peak", "threshold=1MB", "budget=9"], "probe: budget= is of a bisection"),
        (["export_peak", "threshold=1MB", "hydra/launcher=joblib"], "probe: measures once"),
    ],
)
def test_a_wrong_request_is_no_verdict(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["probe", *words]) == 255
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_a_disk_that_fails_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "exir").mkdir()
    (clone / "exir/__init__.py").write_text("")
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "x")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ET_PEAK_RESULTS", str(tmp_path / "file"))
    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path / "cache"))
    words = ["export_peak", "threshold=1MB", "base=v1.4.1", f"repo={clone}"]
    assert run(["probe", *words]) == 255
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--bogus", "probe"], ["probe", "--bogus"], ["--list=1", "probe"]]
)
def test_wherever_probe_stands_a_wrong_word_is_no_verdict(words: list[str]) -> None:
    assert run([*words, "export_peak", "threshold=1MB"]) == 255
