from pathlib import Path

import pytest

from bench.results.record import RunFolder
from bench.revision.__main__ import main
from bench.revision.relevance import alike, files_read, relevant
from tests.environment.overlays import Repository


def read(*files: str) -> dict[str, object]:
    return {"events": [{"event": "trace", "files": list(files), "native": []}]}


def test_what_was_read_is_named_by_its_place_in_the_repository() -> None:
    found = files_read([read("exir/a.py", "version.py"), read("exir/_serialize/program.fbs")])
    assert found == {"exir/a.py", "schema/program.fbs"}


def test_generated_files_stand_for_what_they_are_made_from() -> None:
    found = files_read([read("backends/mlx/serialization/_generated/Op.py")])
    assert found == {
        "backends/mlx/serialization/generate.py",
        "backends/mlx/serialization/schema.fbs",
    }


def test_a_run_depends_on_what_its_export_read() -> None:
    run = {"events": [], "program": {"trace": read("exir/a.py")["events"]}}
    assert files_read([run]) == {"exir/a.py"}


def test_commits_that_touch_what_was_read() -> None:
    changes = {
        "a": ("docs/x.md",),
        "b": ("exir/a.py", "docs/x.md"),
        "c": (),
        "d": ("src/executorch/new",),
        "e": ("exir/a.py.orig", "exir/aa.py"),
    }
    assert relevant(changes, list("abcde"), {"exir/a.py"}) == [2, 4]
    assert alike(changes, list("abcde")) == [1, 3]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.make(tmp_path / "executorch")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """One export that read two files and mapped a library, and one that never began."""
    folder = RunFolder(tmp_path / "runs" / "a-run")
    trace = {"event": "trace", "files": ["exir/emit.py", "version.py"], "native": ["lib/x.so"]}
    cells = [{"method": "export", "backend": "mlx"}]
    folder.write("request.json", "{}")
    folder.append({"status": "ok", "cells": cells, "events": [trace]})
    folder.append({"status": "untestable", "cells": [{"method": "encode"}], "events": []})
    return folder


def test_the_command_names_the_commits_and_what_they_touch(
    repository: Repository,
    run: RunFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path / "cache"))
    first = repository.commit()
    repository.commit({"README.md": "Other words.\n"})
    touching = repository.commit({"exir/emit.py": "from executorch.exir import VALUE as V\n"})
    last = repository.commit({"exir/emit.cpp": "int other() {}\n"})
    words = [f"run={run.id}", f"out={run.path.parent}", f"repo={repository.path}"]
    assert main([f"{first}..{last}", *words, "backend=mlx"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(touching[:10])
    assert lines[1].strip() == "exir/emit.py"
    assert lines[2].startswith("1 of 3 commits of ")
    assert lines[3].endswith(": x.so")
    assert main([f"{first}..{last}", *words, "method=encode"]) == 2
    assert "has no finished measurement of method=encode" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["main"], ["a..b", "x=1"], ["a..b", "run=none"], ["a..b", "c..d"]]
)
def test_a_wrong_request_is_one_line(
    words: list[str], run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *([] if not words else [f"out={run.path.parent}"])]) == 2
    assert capsys.readouterr().err.count("\n") == 1
