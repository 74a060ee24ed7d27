"""Real exports of k-quants and of users' scripts, some of them sabotaged on purpose."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from bench.environment import Environment
from tests.integration.conftest import ROOT, Bench
from tests.test_gguf import SHAPES, write

TIED = """
import torch
import torch.nn.functional as F

class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(640, 64)
        self.mix = torch.nn.Linear(64, 64)

    def forward(self, tokens):
        return F.linear(self.mix(self.words(tokens)), self.words.weight)

def build(seed):
    torch.manual_seed(seed)
    return {"forward": {"module": Tied(), "inputs": (torch.arange(640)[None],)}}
"""
IN_PLACE = """
import torch

METHODS: list[str] = ["add", "scale", "nothing"]

class Writes(torch.nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.places = torch.nn.Parameter(torch.randn(8, 64))
        self.mix = torch.nn.Linear(64, 64)

    def forward(self, x):
        if self.how == "add":
            x += self.places
        elif self.how == "scale":
            x.mul_(2)
        else:
            x.mul_(1)  # a write that changes no value
        return self.mix(x)

def build(seed):
    torch.manual_seed(seed)
    return {how: {"module": Writes(how), "inputs": (torch.zeros(8, 64),)} for how in METHODS}
"""
WITHOUT_A_WEIGHT = """
from executorch.exir._serialize import _named_data_store as store

whole = store.NamedDataStore.get_named_data_store_output

def lossy(self):
    output = whole(self)
    if len(output.pte_data) > 1:
        del output.pte_data[sorted(output.pte_data)[0]]
    return output

store.NamedDataStore.get_named_data_store_output = lossy
"""
WITHOUT_A_DELEGATE = """
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

XnnpackPartitioner.generate_partitions = lambda self, program: []
XnnpackPartitioner.ops_to_not_decompose = lambda self, program: ([], None)
"""


def export(bench: Bench, folder: Path, text: str, *words: str) -> tuple[int, pd.Series, str]:
    """Measure a script; return the exit code, the export's row, and what was printed."""
    (folder / "mine.py").write_text(text)
    script = f"script={folder / 'mine.py'}"
    done = bench("model=script", script, "backend=xnnpack", f"out={folder}", *words)
    (path,) = folder.glob("*/measurements.csv")
    rows = pd.read_csv(path, keep_default_na=False)
    return done.returncode, rows[rows["method"] == "export"].iloc[0], done.stdout + done.stderr


def test_a_users_model_is_fed_values_that_tell_two_models_apart(environment: Environment) -> None:
    done = subprocess.run(
        [str(environment.python), "-P", str(Path(__file__).with_name("script_check.py"))],
        env=os.environ | {"PYTHONPATH": str(ROOT / "bench" / "worker")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name in ("single", "half", "brain"):
        fill, low, high = found[name]
        assert (fill, low < -1, high > 1) == ("spread", True, True), name
    assert found["index"] == ["integers", 0, 9]  # to the largest of the example
    assert found["mask"] == ["integers", 0, 1]
    assert found["same"] == 0
    assert found["other"] > 0.5


def test_a_weight_that_two_kernels_store_is_named_and_the_outputs_agree(
    bench: Bench, tmp_path: Path
) -> None:
    code, row, said = export(bench, tmp_path, TIED, "method=export", "check=on")
    assert (code, row["status"]) == (0, "ok"), said
    assert f"stored 2 times, {640 * 64 * 4} too many" in row["notes"]
    assert row["notes"].startswith("words.weight (")
    assert 0 < float(row["check_error"]) < 1e-4


def test_a_model_that_writes_to_its_input_is_compared_like_any(
    bench: Bench, tmp_path: Path
) -> None:
    code, row, said = export(bench, tmp_path, IN_PLACE, "method=export")
    assert (code, row["status"]) == (0, "ok"), said
    assert float(row["check_error"]) < 1e-4


def test_a_model_that_is_another_each_time_is_no_fault_of_its_program(
    bench: Bench, tmp_path: Path
) -> None:
    text = TIED.replace("torch.manual_seed(seed)", "pass")
    code, row, said = export(bench, tmp_path, text, "method=export")
    assert (code, row["status"]) == (0, "ok"), said
    assert "the model is another one each time it is built" in row["notes"]
    assert row["check_error"] == ""


def test_a_program_of_another_model_fails(bench: Bench, tmp_path: Path) -> None:
    # The same model all through a process: the one of the export is not that of the check.
    text = TIED.replace("manual_seed(seed)", "manual_seed(__import__('os').getpid())")
    code, row, said = export(bench, tmp_path, text, "method=export")
    assert (code, row["status"]) == (3, "failed"), said
    assert re.match(r"forward: the program.s output is [\d.]+ off the model", row["reason"]), said


def test_a_lost_weight_fails_the_export_and_nothing_runs(bench: Bench, tmp_path: Path) -> None:
    _, row, said = export(bench, tmp_path, WITHOUT_A_WEIGHT + TIED, "iterations=1")
    assert row["status"] == "failed", said
    assert "forward: the program lacks " in row["reason"]
    assert int(row["peak_bytes"]) > 0  # what was measured is kept
    assert "no program to run" in said


def test_a_lost_delegate_is_named(bench: Bench, tmp_path: Path) -> None:
    _, row, said = export(bench, tmp_path, WITHOUT_A_DELEGATE + TIED, "method=export", "check=off")
    assert row["status"] == "ok", said
    assert "forward: nothing was delegated to xnnpack" in row["notes"]


def test_an_error_in_a_script_is_shown_as_the_users_own(bench: Bench, tmp_path: Path) -> None:
    text = TIED.replace("torch.manual_seed(seed)", "raise KeyError('no weights')")
    code, row, _ = export(bench, tmp_path, text, "method=export")
    assert code == 3
    line = text[: text.index("raise")].count("\n") + 1
    assert row["reason"] == f"mine.py, line {line}: KeyError: 'no weights'"
    log = next(tmp_path.glob("*/logs/*.log")).read_text()
    assert log.count("Traceback") == 1
    assert "et_worker" not in log


def test_an_example_runs_at_its_largest_size(bench: Bench, tmp_path: Path) -> None:
    text = (ROOT / "examples" / "vocoder.py").read_text()
    code, _, said = export(bench, tmp_path, text, "iterations=1", "check=off")
    assert code == 0, said
    rows = pd.read_csv(next(tmp_path.glob("*/measurements.csv")))
    assert list(rows["method"]) == ["export", "vocode"]
    assert set(rows["status"]) == {"ok"}, said


def test_a_k_quant_of_half_a_gigabyte_is_exported_whole(bench: Bench, tmp_path: Path) -> None:
    done = bench("model=kquant", "commit=v1.5.1", f"out={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    row = pd.read_csv(next(tmp_path.glob("*/measurements.csv")), keep_default_na=False).iloc[0]
    assert (row["status"], row["undelegated_nodes"], row["notes"]) == ("ok", 0, "")
    assert row["constant_bytes"] > 500e6
    phases = pd.read_csv(next(tmp_path.glob("*/phases.csv"))).set_index("phase")
    # Since pull request 21795 to ask whether a weight would be lowered repacks none: each is once.
    assert phases.loc["lower/repack", "calls"] == 45
    assert phases.loc["lower/support_check", "calls"] > 1
    assert phases.loc["lower/support_check", "raised_bytes"] < 1e6


def test_a_program_of_three_parts_is_its_weights_read_back(bench: Bench, tmp_path: Path) -> None:
    parts = [
        f"model.parts.{part}.{field}={value}"
        for part, vocab in (("target", 128), ("draft", 96), ("projector", 64))
        for field, value in (("layers", 1), ("width", 512), ("vocab", vocab))
    ]
    done = bench("model=kquant-parts", "precision=q6_k", "check=on", f"out={tmp_path}", *parts)
    assert done.returncode == 0, done.stdout + done.stderr
    row = pd.read_csv(next(tmp_path.glob("*/measurements.csv")), keep_default_na=False).iloc[0]
    assert row["delegates"] >= 3
    assert float(row["check_error"]) < 2**-7


@pytest.mark.parametrize(
    ("kind", "length", "stored"), [("Q4_K", 2048, "q4_k"), ("F16", 1, "bfloat16")]
)
def test_a_gguf_file_is_exported_and_its_weights_read_back(
    bench: Bench, tmp_path: Path, kind: str, length: int, stored: str
) -> None:
    path = write(tmp_path / "tiny.gguf", kind)
    words = (f"model.max_sequence={length}", "check=on", f"out={tmp_path}")
    done = bench("model=gguf", f"gguf={path}", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    row = pd.read_csv(next(tmp_path.glob("*/measurements.csv")), keep_default_na=False).iloc[0]
    assert (row["status"], row["stored_dtype"]) == ("ok", stored)
    assert row["model"].startswith("tiny")
    assert row["undelegated_nodes"] == 0
    weights = sum(rows * columns for rows, columns in SHAPES.values())
    assert row["constant_bytes"] > weights * (2 if kind == "F16" else 0.5)  # all of them
    if kind == "Q4_K":
        assert float(row["check_error"]) < 2**-7
