"""The bare runner on the real ExecuTorch: it computes what Python computes, in less memory."""

from pathlib import Path

import pandas as pd
import pytest

from bench.results.tables import read_csv
from tests.integration.conftest import ROOT, SMALL, Bench, once

OUTPUTS = """
import torch

METHODS = ["kinds", "single", "half", "brain", "double"]

class Kinds(torch.nn.Module):
    def forward(self, x):
        mask = x > 0
        halves = x.to(torch.float16), x.to(torch.bfloat16)
        return x + 1, 3, mask, 2.5, *halves, True, x.to(torch.int16)

class Lost(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        return (x * 0 / 0).to(self.dtype)

def build(seed):
    types = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    modules = [Kinds(), *(Lost(dtype) for dtype in types)]
    inputs = (torch.zeros(1, 8),)
    return {name: {"module": m, "inputs": inputs} for name, m in zip(METHODS, modules)}
"""


@pytest.fixture(scope="module")
def both_runners(bench: Bench, shared: Path) -> pd.DataFrame:
    """One small program, run by both runners on two runtimes."""

    def make(out: Path) -> None:
        done = bench(
            *(*SMALL, "exporter=v1.4.1", "runtime=v1.4.1,v1.5.1", "runner=python,native"),
            *("method=encode,decode", "iterations=1,2", "backend=xnnpack", f"out={out}"),
        )
        assert done.returncode == 0, done.stdout + done.stderr

    (path,) = once(shared, "both_runners", make).glob("*/measurements.csv")
    return read_csv(path)


def test_every_output_is_the_same_bit_by_bit(both_runners: pd.DataFrame) -> None:
    newest = both_runners[both_runners["runtime"] == "v1.5.1"]
    assert set(newest["status"]) == {"ok"}
    assert len(newest) == 2 * 2 * 2
    for method, rows in newest.groupby("method"):
        assert rows["output_sha"].nunique() == 1, method


def test_the_peaks_agree_but_for_what_python_adds(both_runners: pd.DataFrame) -> None:
    newest = both_runners[both_runners["runtime"] == "v1.5.1"]
    peaks = newest.pivot_table("peak_delta_bytes", "method", "runner")
    planned = newest.groupby("method")["planned_bytes"].first()
    for method in ("encode", "decode"):
        # Python's bindings hold the largest planned buffer of all methods, whichever is loaded.
        unneeded = planned.max() - planned[method]
        python, native = peaks.loc[method, "python"] - unneeded, peaks.loc[method, "native"]
        assert python == pytest.approx(native, rel=0.15), method
    totals = newest.pivot_table("peak_bytes", ["method", "iterations"], "runner")
    assert (totals["native"] < totals["python"] - 100e6).all()


def test_a_runtime_that_cannot_be_linked_says_so(both_runners: pd.DataFrame) -> None:
    rows = both_runners[
        (both_runners["runtime"] == "v1.4.1") & (both_runners["runner"] == "native")
    ]
    assert set(rows["status"]) == {"unsupported"}
    assert rows["reason"].str.contains("since 1.5").all()


def test_a_users_model_runs_natively_on_the_same_values(bench: Bench, tmp_path: Path) -> None:
    done = bench(
        *("model=script", f"script={ROOT / 'examples' / 'vocoder.py'}", "backend=xnnpack"),
        *("commit=v1.5.1", "runner=python,native", "iterations=1", f"out={tmp_path}"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*/measurements.csv")
    rows = read_csv(path)
    assert set(rows["status"]) == {"ok"}
    runs = rows[rows["method"] != "export"]
    assert set(runs["runner"]) == {"python", "native"}
    assert runs["output_sha"].nunique() == 1
    assert 0 < float(rows[rows["method"] == "export"]["check_error"].iloc[0]) < 1e-4


def test_outputs_of_every_kind_are_judged_alike(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OUTPUTS)
    bench(
        *("model=script", f"script={tmp_path / 'mine.py'}", "backend=portable", "check=off"),
        *("commit=v1.5.1", "runner=python,native", "iterations=1", f"out={tmp_path}"),
    )
    (path,) = tmp_path.glob("*/measurements.csv")
    rows = read_csv(path).set_index(["method", "runner"])
    kinds = rows.loc["kinds"]
    assert set(kinds["status"]) == {"ok"}
    assert kinds["output_sha"].nunique() == 1
    for method in ("single", "half", "brain", "double"):
        lost = rows.loc[method]
        assert len(lost) == 2
        assert set(lost["status"]) == {"failed"}, method
        assert lost["reason"].str.contains("not finite").all(), method
