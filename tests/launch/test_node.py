"""What a node does with an order, and leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from omegaconf import OmegaConf

from bench.config import load
from bench.disk import DiskError
from bench.launch.node import (
    Order,
    Orders,
    carry_out,
    environments_here,
    read_report,
    write_report,
)
from bench.launch.units import by_program
from bench.results.record import RunFolder
from tests.launch.nodes import Nodes, jobs_of, request

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def order(tmp_path: Path) -> Order:
    asked = request(precision="fp32")
    (unit,) = by_program(jobs_of(asked))
    nodes = Nodes(tmp_path / "node")
    return Order(unit, asked, str(tmp_path / "part"), "measure", False, environments=nodes)


def test_records_are_on_the_disk_and_in_the_report(order: Order, tmp_path: Path) -> None:
    report = carry_out(order)
    assert [r["job_key"] for r in report.records] == [job.key for job in order.unit.jobs]
    assert report == read_report(order.unit.key, RunFolder(tmp_path / "part"))
    assert not any(record["timed"] for record in report.records)
    (listing,) = report.files
    assert listing.startswith("packages-")


def test_what_has_a_record_is_not_measured_again(order: Order) -> None:
    first = carry_out(order)
    assert carry_out(order) == first
    assert len(order.environments.started) == len(order.unit.jobs)  # type: ignore[attr-defined]


def test_without_a_shared_disk_the_report_holds_all(order: Order, tmp_path: Path) -> None:
    order.environments.node.behave("os._exit(3)")  # type: ignore[attr-defined]
    report = carry_out(replace(order, folder=None))
    assert not (tmp_path / "part").exists()
    assert any(name.startswith("logs/") for name in report.files)
    folder = RunFolder(tmp_path / "there")
    write_report(report, folder)
    write_report(report, folder)  # said twice, written once
    assert read_report(order.unit.key, folder) == report


def at_once(*orders: Order) -> None:
    """Carry out orders in a process each, and see to it that none fails."""
    pids = []
    for order in orders:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                carry_out(order)
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert {os.waitpid(pid, 0)[1] for pid in pids} == {0}


def test_of_two_processes_with_one_unit_the_second_waits_and_measures_nothing(order: Order) -> None:
    # As a job of Slurm whose controller is gone, and the one that a resume hands out.
    order.environments.node.behave("time.sleep(0.3)")  # type: ignore[attr-defined]
    at_once(order, order)
    assert len(order.environments.started) == len(order.unit.jobs)  # type: ignore[attr-defined]
    assert len(RunFolder(Path(str(order.folder))).records()) == len(order.unit.jobs)


@pytest.mark.parametrize("shared_disk", [True, False])
def test_a_log_may_hold_any_bytes(order: Order, tmp_path: Path, shared_disk: bool) -> None:
    order.environments.node.behave(  # type: ignore[attr-defined]
        "os.write(2, b'caf\\xe9 \\xe2\\x96'); os._exit(3)"
    )
    report = carry_out(order if shared_disk else replace(order, folder=None))
    logs = [text for name, text in report.files.items() if name.startswith("logs/")]
    assert any("caf\N{REPLACEMENT CHARACTER}" in text for text in logs)
    folder = RunFolder(tmp_path / "there")
    write_report(report, folder)
    assert read_report(order.unit.key, folder) == report


def test_a_place_that_takes_no_folder_is_the_disks_fault(order: Order, tmp_path: Path) -> None:
    report = carry_out(order)
    (tmp_path / "file").touch()
    for deed in (
        lambda: write_report(report, RunFolder(tmp_path / "file")),
        lambda: carry_out(replace(order, folder=str(tmp_path / "file"))),
    ):
        with pytest.raises(DiskError, match="file"):
            deed()


def test_a_node_makes_room_in_its_own_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path / "cache"))
    asked = load(["commit=v1.4.1"])
    incoming = environments_here(asked).programs().incoming()
    left = incoming.with_name(f"{max(psutil.pids()) + 100_000}.pte")
    left.write_bytes(b"of a process that was killed")
    environments_here(asked).programs()
    assert not left.exists()


def test_each_node_takes_the_order_of_its_number(order: Order, tmp_path: Path) -> None:
    other = replace(order, unit=replace(order.unit, key="other"), folder=str(tmp_path / "other"))
    report = Orders((order, other))(OmegaConf.create({"unit": 1}))
    assert report.unit == "other"
    assert (tmp_path / "other" / "raw.jsonl").exists()


def test_only_the_program_is_made_where_only_that_is_wanted(order: Order) -> None:
    export = replace(order, unit=replace(order.unit, jobs=order.unit.jobs[:1]), how="program")
    carry_out(export)
    (again,) = carry_out(replace(export, folder=None)).records
    assert again["reason"] == "exported before"


def test_a_process_ends_with_its_controller(tmp_path: Path) -> None:
    # The controller is a process that has ended before the measurement does.
    code = f"""
import subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from dataclasses import replace
from pathlib import Path
from bench.launch.node import Order, carry_out
from bench.launch.units import by_program
from tests.launch.nodes import Nodes, jobs_of, request
asked = request(precision="fp32")
(unit,) = by_program(jobs_of(asked))
nodes = Nodes(Path({str(tmp_path / "node")!r}), "time.sleep(20)")
controller = subprocess.Popen(["sleep", "2"])
order = Order(unit, asked, {str(tmp_path / "part")!r}, "measure", False,
              controller=controller.pid, environments=nodes)
carry_out(order)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 1
    assert not (tmp_path / "part" / "raw.jsonl").exists()


def test_timed_measurements_of_a_machine_take_turns(order: Order, tmp_path: Path) -> None:
    # Two processes at once, as two launchers of one user: the first to come holds the other up.
    nodes = order.environments
    nodes.node.behave(  # type: ignore[attr-defined]
        "print = lambda *a: open(HERE + '/turns', 'a').write(' '.join(map(str, a)) + '\\n')\n"
        "print('begin')\ntime.sleep(0.3)\nprint('end')"
    )
    at_once(*(replace(order, folder=str(tmp_path / f"part{n}"), timed=True) for n in range(2)))
    turns = (tmp_path / "node" / "turns").read_text().split()
    assert turns == ["begin", "end"] * (2 * len(order.unit.jobs))


def test_a_node_judges_by_its_own_memory_what_can_not_fit(order: Order) -> None:
    words = ["model=muse", "backend=mlx", "method=export"]
    (unit,) = by_program(jobs_of(load(words)))
    assert unit.jobs[0].unsupported is None
    muse = replace(unit, jobs=tuple(replace(job, request=_huge(job.request)) for job in unit.jobs))
    (record,) = carry_out(replace(order, unit=muse)).records
    assert record["status"] == "unsupported"
    assert "this machine has" in record["reason"]


def _huge(content: Mapping[str, Any]) -> dict[str, Any]:
    """Make a k-quant model larger than any machine."""
    part = {"width": 10**6, "vocab": 10**6, "layers": 100}
    return {**content, "model": {**content["model"], "parts": {"one": part}}}
