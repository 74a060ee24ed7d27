"""Nodes whose environment is one of workers that need no torch (see ``tests/workers.py``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.config import load
from bench.jobs import Job
from bench.launch.fleet import Fleet
from bench.plan import make_plan
from bench.programs import ProgramStore
from bench.request import Request
from bench.results.record import RunFolder
from tests.workers import Silent, Workers

WORDS = ("backend=xnnpack", "iterations=1,2", "timeout_s=60")


class Node(Workers):
    """Environment and programs of a node."""

    def programs(self) -> ProgramStore:
        return ProgramStore(self.root / "programs")


class Nodes:
    """Gives every node one environment, as a disk that all share would."""

    def __init__(self, root: Path, mischief: str = "pass") -> None:
        root.mkdir()
        self.node = Node(root, mischief)

    def __call__(self, _request: Request) -> Node:
        return self.node

    @property
    def started(self) -> list[str]:
        """What the workers that were started were to do."""
        return self.node.started


def request(*words: str, precision: str = "fp32,bf16") -> Request:
    return load([*WORDS, f"precision={precision}", *words])


def jobs_of(asked: Request) -> list[Job]:
    return list(make_plan(asked, "linux-x86_64").jobs)


def fleet(
    folder: Path,
    nodes: Callable[[Request], Node],
    asked: Request,
    launcher: str = "joblib",
    *,
    width: int = 2,
    **options: object,
) -> Fleet:
    """Make a fleet whose run has just begun, or goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"words": (f"hydra/launcher={launcher}",), "timed": False, **options}
    return Fleet(
        RunFolder(folder),
        asked,
        budget=10**11,
        progress=Silent(),
        width=width,
        environments=nodes,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )
