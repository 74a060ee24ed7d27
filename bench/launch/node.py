"""What runs on a node: the measurements of one unit, each kept as soon as it is there."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil
from filelock import FileLock
from omegaconf import DictConfig

from bench import machine
from bench.disk import writing
from bench.exports import Failures
from bench.jobs import Plan
from bench.launch.units import Unit
from bench.measure import Status
from bench.measurer import How, Measurer
from bench.needs import refuse_too_large
from bench.programs import ProgramStore
from bench.progress import Unwatched
from bench.request import Request
from bench.results.record import RunFolder
from bench.workplace import Environments

_LOOK_S = 0.5
_FILES = ("packages-*.txt", "logs/*.log")
"""What a measurement leaves beside its record."""


class NodeEnvironments(Environments, Protocol):
    """Gives the environments of a node, and keeps its programs."""

    def programs(self) -> ProgramStore:
        """Give the store of exported programs."""


@dataclass(frozen=True)
class Report:
    """What came of a unit: its records, and small text files by their place in the run's folder."""

    unit: str
    records: list[dict[str, Any]]
    files: dict[str, str]


def environments_here(request: Request) -> NodeEnvironments:
    """Give this node's own environments, built once from the same build keys as anywhere."""
    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.resolve_all(request)
    return revisions


@dataclass(frozen=True)
class Order:
    """What a node is to do.

    Attributes:
        unit: the measurements.
        request: names the revisions, and where they are looked up.
        folder: where each record goes; None where the node shares no disk with the controller,
            which then has what the report says.
        how: what is wanted of each.
        timed: whether seconds are wanted: then nothing else that is timed runs on the machine.
        broken: why a program can't be had, by export key: not tried again.
        controller: process id, where it is on the same machine: nothing goes on without it.
        environments: gives the node's environments.
    """

    unit: Unit
    request: Request
    folder: str | None
    how: How
    timed: bool
    broken: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    controller: int | None = None
    environments: Callable[[Request], NodeEnvironments] = environments_here


@dataclass(frozen=True)
class Orders:
    """What all nodes are to do; each takes the one that its launcher's override names."""

    orders: tuple[Order, ...]

    def __call__(self, config: DictConfig) -> Report:
        """Carry out the order of the number that the launcher was told as ``+unit=``."""
        return carry_out(self.orders[int(config.unit)])


def carry_out(order: Order) -> Report:
    """Measure what of the unit has no record yet; return all its records.

    Another process may be at work in the folder: one whose controller was killed and that runs on,
    as jobs of Slurm do. It is waited for, and what it measured is not measured again.

    Raises:
        EtPeakError: if nothing can be said of its cells: the disk is full, or what was asked for
            can't be had on this node.
    """
    with contextlib.ExitStack() as stack:
        place = order.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="et-peak-"))
        stack.enter_context(_with_controller(order.controller))
        folder = RunFolder(Path(place))
        with writing(folder.path):
            folder.path.mkdir(parents=True, exist_ok=True)
        stack.enter_context(folder.lock(wait=True))
        done = {record["job_key"] for record in folder.records()}
        left = order.unit.without(done)
        if left.jobs:
            _measure(order, left, folder)
        return read_report(order.unit.key, folder)


def _measure(order: Order, unit: Unit, folder: RunFolder) -> None:
    environments = order.environments(order.request)
    measurer = Measurer(
        folder,
        environments,
        environments.programs(),
        order.request.limits,
        Unwatched(lambda _line: None),
        check=order.request.check,
        timeline=order.request.timeline,
        timed=order.timed,
        broken=Failures(order.broken),
    )
    for job in refuse_too_large(Plan(unit.jobs), machine.memory_bytes()).jobs:
        with _alone_on_this_machine() if order.timed else contextlib.nullcontext():
            for record in measurer.measure_all([job], order.how):
                folder.append(record)


def _alone_on_this_machine() -> FileLock:
    """Return the lock of timed measurements: of a machine, not of a disk that several share."""
    return FileLock(Path(tempfile.gettempdir()) / f"et-peak-timed-{os.getuid()}.lock")


@contextlib.contextmanager
def _with_controller(pid: int | None) -> Iterator[None]:
    """End this process once its controller is gone, however that was ended.

    The worker that it started goes with it (``et_worker.process.die_with_parent``).
    """
    if pid is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            controller = psutil.Process(pid)
            while not over.wait(_LOOK_S):
                if not controller.is_running() or controller.status() == psutil.STATUS_ZOMBIE:
                    break
        if not over.is_set():
            os._exit(1)

    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def read_report(unit: str, folder: RunFolder) -> Report:
    """Read back what a unit left in its folder, whole records only."""
    found = [path for pattern in _FILES for path in sorted(folder.path.glob(pattern))]
    # A worker may write anything into its log, and be killed in the middle of a character.
    files = {
        str(path.relative_to(folder.path)): path.read_text(encoding="utf-8", errors="replace")
        for path in found
    }
    return Report(unit, folder.records(), files)


def write_report(report: Report, folder: RunFolder) -> None:
    """Write what a node reported as it would be there had the node shared this disk.

    Records that are there already are not written again.

    Raises:
        DiskError: if it can't be written.
    """
    with writing(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
    done = {record["job_key"] for record in folder.records()}
    for name, text in report.files.items():
        if not (folder.path / name).exists():
            folder.write(name, text)
    for record in report.records:
        if record["job_key"] not in done:
            folder.append(record)
