"""Measures revisions, one by one or side by side, and remembers each measurement once."""

from __future__ import annotations

from bisect.metrics import METRICS
from bisect.prober import NotRecordedError, RealProber, Recorded
from bisect.request import load_bisect
from pathlib import Path
from typing import Any

import pytest

from bench.launch.fleet import Fleet
from bench.measurer import Measurer
from bench.results.record import RunFolder
from tests.launch.nodes import Nodes, fleet
from tests.workers import Silent

NAMES = ("v1.3.1", "v1.4.1", "v1.5.1")


class Rig:
    """Makes probers whose records go to one folder."""

    def __init__(self, root: Path, metric: str) -> None:
        self.metric = METRICS[metric]
        self.request = load_bisect(metric, ["backend=xnnpack", "iterations=1"]).bench
        self.nodes = Nodes(root / "node")
        self.folder = RunFolder.create(root / "runs")

    def prober(self, *, together: bool, replaying: bool = False) -> RealProber:
        node = self.nodes.node
        limits = self.request.limits
        measurer = Measurer(self.folder, node, node.programs(), limits, Silent())
        return RealProber(
            NAMES,
            self.metric,
            self.request,
            lambda name: (name, None if self.metric.method == "export" else "v1.4.1"),
            Recorded() if replaying else measurer,
            "releases",
            "linux-x86_64",
            self.folder.records(),
            fleet=self.fleet() if together else None,
        )

    def fleet(self) -> Fleet:
        return fleet(self.folder.path, self.nodes, self.request, width=3, apart=True)


@pytest.fixture(params=[False, True], ids=["one by one", "side by side"])
def together(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_a_round_measures_each_revision_named_as_often_as_it_is_named(
    tmp_path: Path, together: bool
) -> None:
    rig = Rig(tmp_path, "export_peak")
    prober = rig.prober(together=together)
    assert prober.measure([0, 2, 0]) == [100e6] * 3
    assert prober.measure([2]) == [100e6]
    assert {index: len(records) for index, records in prober.records.items()} == {0: 2, 2: 2}
    repeats = {i: [r["repeat"] for r in records] for i, records in prober.records.items()}
    assert repeats == {0: [0, 1], 2: [0, 1]}
    kept = rig.folder.records()
    assert [(r["stage"], r["metric"]) for r in kept] == [("releases", "export_peak")] * 4
    assert sorted(r["revision"] for r in kept) == ["v1.3.1"] * 2 + ["v1.5.1"] * 2
    assert len(rig.nodes.started) == 4


def test_what_was_recorded_is_not_measured_again(tmp_path: Path, together: bool) -> None:
    rig = Rig(tmp_path, "export_peak")
    rig.prober(together=together).measure([0, 2])
    again = rig.prober(together=together)
    assert again.measure([0, 1, 2, 0]) == [100e6] * 4
    assert len(rig.nodes.started) == 4  # 1 once, and 0 once more
    replay = rig.prober(together=False, replaying=True)
    assert replay.measure([0, 1, 2, 0]) == [100e6] * 4
    with pytest.raises(NotRecordedError, match=r"a run of v1\.3\.1 not recorded"):
        replay.measure([0])


def test_programs_are_made_without_running_them(tmp_path: Path, together: bool) -> None:
    rig = Rig(tmp_path, "encode_peak")
    prober = rig.prober(together=together)
    assert prober.makes_programs
    prober.make_programs([0, 1])
    assert rig.nodes.started == ["export"] * 2
    assert prober.program(0, "delegates") == 1
    assert prober.measure([0]) == [50e6]
    assert rig.nodes.started == ["export"] * 2 + ["encode"]


def test_a_failure_is_no_value(tmp_path: Path, together: bool) -> None:
    rig = Rig(tmp_path, "export_peak")
    rig.nodes.node.behave("os._exit(1)")
    prober = rig.prober(together=together)
    assert prober.measure([1, 1]) == [None, None]
    statuses: list[Any] = [record["status"] for record in prober.records[1]]
    assert statuses == ["failed", "failed"]
