"""`python -m bisect` on the real ExecuTorch, over a git history made on the spot.

The repository is the installed wheel's Python, laid out as ExecuTorch's own is, with commits of
every sort on top. Their subjects say what they are, so that the tests read as the history does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.environment.overlays import git
from tests.integration.conftest import ROOT, SMALL

MEGABYTES = """

_et_kept = []
_et_lower_{n} = to_edge_transform_and_lower


def to_edge_transform_and_lower(*args, **kwargs):
    _et_kept.append(b"x" * {size}_000_000)
    return _et_lower_{n}(*args, **kwargs)
"""
NO_LINEARS = """

_et_configs = ALL_PARTITIONER_CONFIGS
ALL_PARTITIONER_CONFIGS = [c for c in ALL_PARTITIONER_CONFIGS if c.__name__ != "LinearConfig"]
"""
LINEAR = (
    *("model=kquant", "precision=q4_k", "backend=mlx", "allocator=fixed", "base=v1.4.1"),
    *("model.layers=1", "model.vocab=256"),
)
PROGRAM = "exir/program/_program.py"
CONFIGS = "backends/xnnpack/partition/config/__init__.py"
READ = ("exir/emit/_emitter.py", "exir/memory_planning.py", "exir/passes/__init__.py")


class History:
    """Commits on top of the release, by name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sha: dict[str, str] = {"release": git(root, "rev-parse", "HEAD")}
        self.number = 0

    def commit(self, name: str, path: str, *, append: str = "", text: str | None = None) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        old = target.read_text() if target.exists() else ""
        target.write_text(old + append if text is None else text)
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "-m", name)
        self.sha[name] = git(self.root, "rev-parse", "HEAD")

    def harmless(self, count: int, dice: random.Random) -> None:
        """Change no measurement: other backends, tests, docs, comments in what is read."""
        for _ in range(count):
            self.number += 1
            path = dice.choice(
                ["docs/notes.md", "backends/qualcomm/notes.py", "exir/tests/test_new.py", *READ]
            )
            self.commit(f"harmless {self.number}", path, append=f"\n# note {self.number}\n")


@pytest.fixture(scope="module")
def history(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> History:
    root = tmp_path_factory.mktemp("history") / "executorch"
    shutil.copytree(repository, root, symlinks=True)
    made, dice = History(root), random.Random(7)
    made.harmless(9, dice)
    whole = (root / "exir/__init__.py").read_text()
    made.commit("cannot be imported", "exir/__init__.py", text="import no_such_module\n")
    made.commit("can be imported again", "exir/__init__.py", text=whole)
    made.harmless(5, dice)
    made.commit("hold 150 MB", PROGRAM, append=MEGABYTES.format(n=1, size=150))
    made.harmless(7, dice)
    made.commit("after one", "docs/notes.md", append="\n")
    made.harmless(1, dice)
    made.commit("hold 90 MB more", PROGRAM, append=MEGABYTES.format(n=2, size=90))
    made.harmless(3, dice)
    made.commit("hold 60 MB more", PROGRAM, append=MEGABYTES.format(n=3, size=60))
    made.harmless(1, dice)
    made.commit("after three", "docs/notes.md", append="\n")
    made.harmless(1, dice)
    configs = (root / CONFIGS).read_text()
    made.commit("leave linears to the portable kernels", CONFIGS, append=NO_LINEARS)
    made.commit("before they come back", "docs/notes.md", append="\n")
    made.commit("delegate linears", CONFIGS, text=configs)
    return made


@pytest.fixture
def bisect(cache: Path, history: History, tmp_path: Path) -> Any:
    def run(*words: str, home: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bisect", *words],
            cwd=ROOT,
            env=os.environ | {"ET_PEAK_CACHE": str(cache), "ET_PEAK_RESULTS": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def cell(history: History) -> list[str]:
    """Return the cell of an export that takes seconds and repeats well: one k-quant linear."""
    return [f"repo={history.root}", *LINEAR, "repeats=2"]


def verdict(home: Path) -> dict[str, Any]:
    (path,) = home.glob("bisect/*/verdict.json")
    return json.loads(path.read_text())


def test_names_the_commit_that_made_the_export_hold_more_however_often_it_is_killed(
    bisect: Any, history: History, cache: Path, tmp_path: Path
) -> None:
    words = [
        "export_peak", *cell(history), f"good={history.sha['release']}",
        f"bad={history.sha['after one']}",
    ]  # fmt: skip
    env = os.environ | {"ET_PEAK_CACHE": str(cache), "ET_PEAK_RESULTS": str(tmp_path)}
    dice = random.Random(2)
    for _attempt in range(2):
        begun = list(tmp_path.glob("bisect/*/request.json"))
        start = [f"resume={begun[0].parent.name}"] if begun else words
        process = subprocess.Popen(
            [sys.executable, "-m", "bisect", *start], cwd=ROOT, env=env, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and not list(tmp_path.glob("bisect/*/work")):
            time.sleep(0.1)  # until it measures, however busy the machine
        try:
            process.wait(timeout=dice.uniform(0, 10))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for left in tmp_path.glob("bisect/*/work"):
            shutil.rmtree(left)
    (begun,) = tmp_path.glob("bisect/*/request.json")
    done = bisect(f"resume={begun.parent.name}")
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdict(tmp_path)
    assert found["culprit"]["sha"] == history.sha["hold 150 MB"]
    assert found["culprit"]["confirmed"]
    assert found["confidence"] >= 0.95
    assert found["step_bytes"] == pytest.approx(150e6, rel=0.1)
    assert found["share_explained"] == pytest.approx(1, abs=0.1)
    assert found["candidates_total"] == 25
    assert found["candidates_relevant"] < 20  # docs, tests and other backends do not count
    assert found["measurements"] <= 12
    assert "hold 150 MB" in done.stdout
    assert "| lower |" in done.stdout
    raw = (begun.parent / "raw.jsonl").read_text().splitlines()
    jobs = [(r["revision"], r["job_key"]) for r in map(json.loads, raw)]
    assert len(jobs) == len(set(jobs))
    again = bisect("replay", begun.parent.name)
    assert "the same verdict, 0 measurements taken anew" in again.stdout

    together = tmp_path / "together"
    done = bisect(*words, "parallel=2", home=together)
    assert done.returncode == 1, done.stdout + done.stderr
    sooner = verdict(together)
    assert sooner["culprit"]["sha"] == history.sha["hold 150 MB"]
    assert sooner["culprit"]["confirmed"] and sooner["confidence"] >= 0.95
    assert found["rounds"] == found["measurements"]
    assert sooner["rounds"] < found["rounds"]
    assert sooner["step_bytes"] == pytest.approx(found["step_bytes"], rel=0.05)
    again = bisect("replay", "latest", home=together)
    assert "the same verdict, 0 measurements taken anew" in again.stdout


def test_two_commits_that_share_the_blame_are_both_named(
    bisect: Any, history: History, tmp_path: Path
) -> None:
    done = bisect(
        "export_peak", *cell(history), f"good={history.sha['after one']}",
        f"bad={history.sha['after three']}", "parallel=2",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    named = {c["sha"]: c["share"] for c in verdict(tmp_path)["culprits"]}
    assert named == {
        history.sha["hold 90 MB more"]: pytest.approx(0.6, abs=0.07),
        history.sha["hold 60 MB more"]: pytest.approx(0.4, abs=0.07),
    }


def test_names_the_commit_whose_programs_need_more(
    bisect: Any, history: History, tmp_path: Path
) -> None:
    done = bisect(
        "encode_peak", f"repo={history.root}", "base=v1.4.1", "backend=xnnpack", *SMALL,
        "repeats=2", "iterations=1", "floor=0.5MB",
        f"good={history.sha['after three']}", f"bad={history.sha['before they come back']}",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdict(tmp_path)
    assert found["culprit"]["sha"] == history.sha["leave linears to the portable kernels"]
    assert found["side"] == "exporter"
    assert 0.5e6 < found["step_bytes"] < 3e6
    # An exact number of the program changes too: it was searched, and few programs were run.
    assert [c["same_commit"] for c in found["companions"]] == [True]
    assert found["probes"] <= 4


def test_says_at_once_that_nothing_changed(bisect: Any, history: History, tmp_path: Path) -> None:
    done = bisect(
        "export_peak", *cell(history), f"good={history.sha['release']}",
        f"bad={history.sha['harmless 8']}",
    )  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    found = verdict(tmp_path)
    assert (found["status"], found["culprit"]) == ("no_difference", None)
    assert found["measurements"] == 0


def test_under_plain_git(history: History, cache: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(history.root), str(clone))
    words = ["probe", "export_peak", "threshold=180MB", *LINEAR]
    probe = [sys.executable, "-m", "bisect", *words]
    env = os.environ | {
        "ET_PEAK_CACHE": str(cache),
        "ET_PEAK_RESULTS": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=clone, env=env, capture_output=True, text=True, check=False
        )

    git(clone, "checkout", "--quiet", history.sha["cannot be imported"])
    skipped = run(*probe)
    assert skipped.returncode == 125, skipped.stdout + skipped.stderr
    slip = run(*probe, "threshold=1MB")
    assert slip.returncode == 255  # no verdict on the commit: git's search ends
    git(clone, "bisect", "start", history.sha["hold 150 MB"], history.sha["harmless 12"])
    done = run("git", "bisect", "run", *probe)
    first_bad = f"{history.sha['hold 150 MB']} is the first bad commit"
    assert first_bad in done.stdout, done.stdout + done.stderr
