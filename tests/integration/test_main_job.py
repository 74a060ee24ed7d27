"""The main job, end to end, on the real ExecuTorch 1.4.1."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from bench.results.tables import publish, read_csv
from tests.integration.conftest import ROOT, SMALL, Bench, read_raw, workers_of

VOLATILE = [
    *("baseline_bytes", "load_bytes", "first_peak_bytes", "peak_bytes", "peak_delta_bytes"),
    *("steady_bytes", "total_s", "exec_median_s", "started_at"),
]


def test_every_cell_is_ok_and_complete(tiny_run: Path) -> None:
    table = read_csv(tiny_run / "measurements.csv")
    assert list(table["status"].unique()) == ["ok"]
    rows = list(zip(table["method"], table["iterations"].fillna(0), strict=True))
    assert rows == [("export", 0)] + [(m, n) for m in ("encode", "decode") for n in (1, 5, 20)]
    assert (table["crosscheck"] == "ok").all()
    always = [
        "exporter_sha",
        "torch",
        "build_key",
        "packages_hash",
        "peak_delta_bytes",
        "pte_bytes",
    ]
    assert table[always].notna().all().all()
    assert set(table["stored_dtype"]) == set(table["compute_dtype"]) == {"float32"}
    assert table["exporter_sha"].str.fullmatch("[0-9a-f]{40}").all()


def test_the_figures_hang_together(tiny_run: Path) -> None:
    table = read_csv(tiny_run / "measurements.csv")
    assert (table["peak_delta_bytes"] == table["peak_bytes"] - table["baseline_bytes"]).all()
    runs = table[table["method"] != "export"]
    assert (runs["first_peak_bytes"] <= runs["peak_bytes"]).all()
    assert (runs["load_bytes"] <= runs["peak_bytes"]).all()
    for _method, group in runs.groupby("method"):
        assert group["peak_bytes"].is_monotonic_increasing  # marks of one process
        assert group["output_sha"].nunique() == 1
    export = table[table["method"] == "export"].iloc[0]
    for column in ("delegates", "delegated_nodes", "undelegated_nodes", "planned_bytes"):
        assert export[column] == runs.drop_duplicates("method")[column].sum()
    # The weights of tiny are 37.8 million fp32 numbers, the embedding stored twice.
    assert 220e6 < export["pte_bytes"] < 245e6


def test_phases_are_all_there(tiny_run: Path) -> None:
    phases = pd.read_csv(tiny_run / "phases.csv")
    names = {method: list(group["phase"]) for method, group in phases.groupby("method", sort=False)}
    whole = [name for name in names["export"] if "/" not in name]
    assert whole == ["import", "build", "torch.export", "lower", "to_executorch", "write"]
    steps = phases[phases["phase"].str.startswith("lower/")]
    assert {"lower/support_check", "lower/preprocess"} <= set(steps["phase"])
    assert (steps["calls"] > 0).all()
    assert names["encode"] == ["import", "load_program", "load_method", "first", "loop"]
    ended = phases[~phases["phase"].str.contains("/")]
    assert (ended["peak_bytes"] >= ended["rss_bytes"] * 0.99).all()


def test_the_folder_says_what_it_came_from(tiny_run: Path) -> None:
    names = {path.name for path in tiny_run.iterdir()}
    assert {"config.yaml", "machine.json", "raw.jsonl", "measurements.csv", "phases.csv"} <= names
    (packages,) = tiny_run.glob("packages-*.txt")
    assert "executorch==1.4.1" in packages.read_text()


def test_publications_are_stable(tiny_run: Path, tmp_path: Path) -> None:
    table = read_csv(tiny_run / "measurements.csv")
    publish([table], tmp_path / "a.csv")
    publish([table.sample(frac=1, random_state=1)], tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "started_at" not in (tmp_path / "a.csv").read_text()


def test_the_encode_peak_repeats(bench: Bench, tiny_run: Path, tmp_path: Path) -> None:
    done = bench("method=encode", "iterations=1", "repeats=5", "backend=xnnpack", f"out={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "exporting the program first" not in done.stdout  # tiny_run's is reused
    (path,) = tmp_path.glob("*/measurements.csv")
    peaks = read_csv(path)["peak_delta_bytes"]
    assert len(peaks) == 5
    assert (peaks.max() - peaks.min()) / peaks.median() < 0.005


def test_mlx_exports_here_and_says_why_it_does_not_run(bench: Bench, tmp_path: Path) -> None:
    done = bench("backend=mlx", "precision=bf16,int8", "method=export,encode", f"out={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*/measurements.csv")
    table = read_csv(path).set_index(["precision", "method"])
    # Published in the threads the README cites: 76.1 and 59.9 MB.
    for precision, published in (("bf16", 76.1e6), ("int8", 59.9e6)):
        row = table.loc[(precision, "export")]
        assert row["status"] == "ok"
        assert row["undelegated_nodes"] == 0
        assert row["pte_bytes"] == pytest.approx(published, rel=0.015)
    if sys.platform == "linux":
        runs = table.xs("encode", level="method")
        assert set(runs["status"]) == {"unsupported"}
        assert runs["reason"].str.contains("darwin-arm64").all()


def test_limits_become_statuses(bench: Bench, tmp_path: Path) -> None:
    capped = bench("method=export", *SMALL, "memory_cap=450MB", f"out={tmp_path / 'cap'}")
    (path,) = (tmp_path / "cap").glob("*/measurements.csv")
    row = read_csv(path).iloc[0]
    assert (row["status"], capped.returncode) == ("over_memory", 3)
    assert row["peak_bytes"] >= 450_000_000
    # A cell of this test alone: a program another test exported would be run, not refused.
    timed = bench(*SMALL, "seed=11", "timeout_s=1", f"out={tmp_path / 'time'}")
    (path,) = (tmp_path / "time").glob("*/measurements.csv")
    table = read_csv(path)
    assert timed.returncode == 3
    assert table["status"].iloc[0] == "timeout"
    assert set(table["status"].iloc[1:]) == {"failed"}
    assert table["reason"].iloc[1].startswith("no program to run: timeout")


def test_kill_at_random_moments_then_resume(
    bench: Bench, small_run: Path, cache: Path, tmp_path: Path
) -> None:
    words = [*SMALL, "iterations=1,2", "backend=xnnpack"]
    broken = tmp_path / "broken"
    env = os.environ | {"ET_PEAK_CACHE": str(cache)}
    command = [sys.executable, "-m", "bench"]
    dice = random.Random(5)
    for attempt in range(3):
        runs = list(broken.glob("*/request.json"))
        start = [f"resume={runs[0].parent.name}"] if runs else words
        process = subprocess.Popen(
            [*command, *start, f"out={broken}"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=dice.uniform(4, 12) + 3 * attempt)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert not workers_of(str(broken)), "a worker outlived its controller"
    (request,) = broken.glob("*/request.json")
    last = bench(f"resume={request.parent.name}", f"out={broken}")
    assert last.returncode == 0, last.stdout + last.stderr
    keys = [record["job_key"] for record in read_raw(request.parent)]
    assert len(keys) == len(set(keys)) == 3
    one, two = (
        read_csv(folder / "measurements.csv").drop(columns=VOLATILE)
        for folder in (small_run, request.parent)
    )
    pd.testing.assert_frame_equal(one, two)
