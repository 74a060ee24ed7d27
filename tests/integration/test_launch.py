"""A matrix of real exports and runs through a real cluster of Ray, one node of which is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.results.tables import read_csv
from tests.integration.conftest import ROOT, SMALL, read_raw, workers_of

WORDS = (*SMALL, "iterations=1,2", "backend=xnnpack,mlx", "precision=fp32", "timing=off")
KEYS = ["cell_key", "repeat"]


@pytest.fixture
def cluster(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that only leads, and two workers of one process each."""
    ray_cluster = pytest.importorskip("ray.cluster_utils", reason="the extra ray is not installed")
    monkeypatch.setenv("ET_PEAK_CACHE", str(cache))
    made = ray_cluster.Cluster()
    made.add_node(num_cpus=0, object_store_memory=80_000_000, include_dashboard=False)
    yield made
    made.shutdown()


def test_the_cells_of_a_serial_run_though_a_node_is_killed_in_the_middle(
    bench: Any, small_run: Path, cluster: Any, tmp_path: Path
) -> None:
    first, _second = (cluster.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in "ab")
    out, log = tmp_path / "runs", tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "bench", *WORDS, f"out={out}", "hydra/launcher=ray"),
                f"hydra.launcher.init.address={cluster.address}",
            ],
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    began = time.monotonic()
    while len(workers_of("/et-peak-", 2)) < 2:  # both programs are being exported
        assert process.poll() is None and time.monotonic() < began + 300, log.read_text()
    cluster.remove_node(first, allow_graceful=False)
    assert process.wait(timeout=600) == 0, log.read_text()

    (request,) = out.glob("*/request.json")
    raw = read_raw(request.parent)
    assert len({record["job_key"] for record in raw}) == len(raw) == 6
    assert not (request.parent / "parts").exists()
    table = read_csv(request.parent / "measurements.csv")
    assert set(table["status"]) == {"ok", "unsupported"}
    assert table["total_s"].isna().all()
    serial = read_csv(small_run / "measurements.csv")
    both = pd.merge(serial, table, on=KEYS, suffixes=("", "_ray"), validate="one_to_one")
    assert len(both) == len(serial)
    for column in ("status", "exporter", "pte_bytes", "output_sha", "build_key"):
        pd.testing.assert_series_equal(both[column], both[f"{column}_ray"], check_names=False)
    runs = both[both["method"] != "export"]
    change = (runs["peak_delta_bytes_ray"] / runs["peak_delta_bytes"] - 1).abs()
    assert (change < 0.01).all(), runs[["method", "peak_delta_bytes", "peak_delta_bytes_ray"]]
