"""Whoever starts git starts it alike: on the repository that was named, and nothing of its own."""

import subprocess
from pathlib import Path

import pytest

from bench.environment.git_tree import Git, GitTree
from bench.environment.working_tree import WorkingTree
from bench.git import GIT, git_variables
from bench.repository import open_repository
from tests.test_repository import Clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path / "clone")
    made.commit("first", exir__a="1")
    return made


def local_variables() -> list[str]:
    """What this git says leads it to a repository, but for configuration."""
    command = ["git", "rev-parse", "--local-env-vars"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in said if not name.startswith("GIT_CONFIG")]


def test_what_leads_git_elsewhere_is_left_out_and_the_persons_own_stays() -> None:
    own = {"GIT_SSH_COMMAND": "ssh -i key", "GIT_CONFIG_COUNT": "0", "GIT_SSL_CAINFO": "/c"}
    kept = git_variables({**dict.fromkeys(local_variables(), "/elsewhere"), **own, "HOME": "/h"})
    assert {name: kept[name] for name in (*own, "HOME")} == {**own, "HOME": "/h"}
    assert "/elsewhere" not in kept.values()
    assert "BatchMode" in git_variables({})["GIT_SSH_COMMAND"]


def test_every_way_reads_the_repository_that_was_named(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the variables of a hook of another repository, as of `git bisect run`."""
    other = Clone(tmp_path / "other")
    other.commit("other", exir__a="2")
    head = clone.git("rev-parse", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git" / "index"))
    assert open_repository(str(clone.path), tmp_path, print).resolve("HEAD") == head
    assert Git("--git-dir", clone.path / ".git").text("rev-parse", "HEAD") == head
    assert "exir/a.py" in GitTree(clone.path / ".git", head).files()
    assert WorkingTree(clone.path).path == clone.path


def test_nothing_that_a_repository_names_is_run(clone: Clone, tmp_path: Path) -> None:
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    hooks = clone.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-checkout").symlink_to(program)
    clone.git("config", "core.fsmonitor", str(program))
    words = ["-C", str(clone.path)]
    for command in (["status"], ["checkout", "--quiet", "--detach", "HEAD"]):
        subprocess.run([*GIT, *words, *command], env=git_variables(), check=True)
    assert not mark.exists()
    subprocess.run(["git", *words, "status"], check=True, capture_output=True)
    assert mark.exists()  # it would have been
