"""docs/gate.yml: what its steps ask of et-peak, run by the shell that GitHub runs them by."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from bench.config import load
from bench.report import __main__ as report
from bench.report import compare
from bench.words import split

STEPS = yaml.safe_load((Path(__file__).parents[2] / "docs" / "gate.yml").read_text())["jobs"][
    "gate"
]["steps"]
SAYS_ITS_WORDS = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["ASKED"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    run = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
    return run.stdout.decode().strip()


def commit(folder: Path) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory):
    """Run the steps on a branch behind which the base went on; return its commits and the words."""
    folder = tmp_path_factory.mktemp("job")
    for name in ("executorch", "et-peak", "bin"):
        (folder / name).mkdir()
    repository = folder / "executorch"
    git(repository, "init", "-q", "-b", "main")
    commits = {"base": commit(repository)}
    git(repository, "switch", "-q", "-c", "pull")
    commits["head"] = commit(repository)
    git(repository, "switch", "-q", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "landed since")
    commits["tip"] = git(repository, "rev-parse", "HEAD")
    (folder / "bin" / "nox").write_text(SAYS_ITS_WORDS)
    (folder / "bin" / "nox").chmod(0o755)
    env = os.environ | {"ASKED": str(folder / "asked"), "GITHUB_ENV": str(folder / "env")}
    env["PATH"] = f"{folder / 'bin'}{os.pathsep}{env['PATH']}"
    for step in STEPS:
        if "run" not in step or step["run"].startswith("pip "):
            continue
        own = {name: _filled(text, commits) for name, text in step.get("env", {}).items()}
        script = _filled(step["run"], commits)
        where = folder / step["working-directory"]
        subprocess.run(["bash", "-e", "-c", script], cwd=where, env=env | own, check=True)
        if (folder / "env").exists():
            lines = (folder / "env").read_text().splitlines()
            env |= dict(line.split("=", 1) for line in lines)
    return commits, [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


def _filled(text: str, commits: dict[str, str]) -> str:
    for name, sha in (("base", commits["tip"]), ("head", commits["head"])):
        text = text.replace(f"${{{{ github.event.pull_request.{name}.sha }}}}", sha)
    assert "${{" not in text
    return text


def asked(words, session: str) -> list[list[str]]:
    return [line[3:] for line in words if line[:3] == ["-s", session, "--"]]


def test_head_is_measured_and_judged_against_the_commit_it_branched_from(pull_request) -> None:
    commits, words = pull_request
    both = f"commit={commits['base']},{commits['head']}"
    assert [both in line for line in asked(words, "bench") + asked(words, "gate")] == [True, True]
    assert commits["tip"] not in json.dumps(words)


def test_every_command_is_one_that_runs(pull_request) -> None:
    _, words = pull_request
    assert [line[1] for line in words] == ["bench", "gate", "report", "report", "report"]
    (bench,) = asked(words, "bench")
    load(bench)
    for line in asked(words, "gate"):
        split(line, compare._KEYS)
    for line in asked(words, "report"):
        split(line, report._KEYS)


def test_charts_are_of_the_head_alone(pull_request) -> None:
    commits, words = pull_request
    charts = [line for line in asked(words, "report") if any(w.startswith("format=") for w in line)]
    assert len(charts) == 2
    assert all(f"commit={commits['head']}" in line for line in charts)
