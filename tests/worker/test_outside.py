"""A process measured from outside, by one that is smaller than it."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from et_worker.outside import execution_seconds, output_sha, peak_of

from tests.binaries import make_binary

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"
MB = 1_000_000


def start(tmp_path: Path, words: list[str], marks: list[int], outputs=()) -> subprocess.Popen:
    wanted = {
        "command": words,
        "marks": marks,
        "events": str(tmp_path / "events.jsonl"),
        "parent_pid": os.getpid(),
        "output_file": str(tmp_path / "out") if outputs else None,
        "outputs": outputs,
    }
    (tmp_path / "outside.json").write_text(json.dumps(wanted))
    return subprocess.Popen(
        [sys.executable, "-S", "-P", "-m", "et_worker.outside", str(tmp_path / "outside.json")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )


def events(tmp_path: Path) -> list[dict]:
    return [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]


def finished(tmp_path: Path, binary: Path, *marks: int, outputs=()) -> tuple[int, list[dict], str]:
    model = tmp_path / "model.pte"
    model.write_bytes(b"x")
    process = start(tmp_path, [str(binary), f"--model_path={model}"], list(marks), outputs)
    said, _ = process.communicate(timeout=60)
    return process.returncode, events(tmp_path), said


def test_each_count_is_a_process_of_its_own_with_its_whole_peak(tmp_path: Path) -> None:
    binary = make_binary(tmp_path / "er", takes=80 * MB, outputs=(24,))
    code, found, said = finished(tmp_path, binary, 1, 5, outputs=[["float32", [2, 3]]])
    assert code == 0
    assert said.count("Model executed successfully") == 2
    first, fifth = (event for event in found if event["event"] == "mark")
    assert (first["iterations"], fifth["iterations"]) == (1, 5)
    for mark in (first, fifth):
        assert 80 * MB < mark["peak_bytes"] < 120 * MB  # what it took, and a Python's own
        assert mark["parent_bytes"] < 40 * MB
        assert mark["exact"] is True
    assert first["first_peak_bytes"] == first["peak_bytes"]
    assert fifth["first_peak_bytes"] is None
    assert (first["exec_median_s"], fifth["exec_median_s"]) == (0.1, 0.12)
    result = found[-1]
    assert result["event"] == "result"
    # The same counter, but for some pages that are counted per CPU first.
    assert 0 < result["sampled_peak_bytes"] <= 1.01 * max(m["peak_bytes"] for m in (first, fifth))
    assert result["output_sha"] == hashlib.sha256(b"float32[2, 3]" + bytes(24)).hexdigest()[:16]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the mark is read from /proc")
def test_of_a_process_smaller_than_its_parent_the_parent_is_not_told(tmp_path: Path) -> None:
    binary = tmp_path / "small"
    binary.write_text("#!/bin/sh\nsleep 0.3\n")
    binary.chmod(0o755)
    code, found, _ = finished(tmp_path, binary, 1)
    (mark,) = (event for event in found if event["event"] == "mark")
    assert code == 0
    assert 0 < mark["peak_bytes"] < mark["parent_bytes"]
    assert mark["exact"] is False


@pytest.mark.parametrize(
    ("peak", "sampled", "parent", "told"),
    [
        (80 * MB, 79 * MB, 16 * MB, (80 * MB, True)),
        (16 * MB, 3 * MB, 16 * MB, (3 * MB, False)),
        (16 * MB, 0, 16 * MB, (None, False)),
        (3 * MB, 0, 0, (3 * MB, True)),  # no /proc: macOS counts nothing of the parent's
    ],
)
def test_a_peak_is_the_kernels_or_a_lower_bound_or_unknown(peak, sampled, parent, told) -> None:
    done = {"peak_bytes": peak, "sampled_peak_bytes": sampled, "parent_bytes": parent}
    assert peak_of(done) == told


@pytest.mark.parametrize(
    ("mischief", "why"),
    [
        ("sys.exit(3)", "1 executions: executor_runner ended with exit code 3"),
        ("os.kill(os.getpid(), 11)", "1 executions: executor_runner ended with signal 11"),
        (
            "print('E 00:00:00.1 executorch:x.cpp:1] no such file'); print('bye'); sys.exit(1)",
            "exit code 1: E 00:00:00.1 executorch:x.cpp:1] no such file",
        ),
    ],
)
def test_how_it_failed_is_an_event(tmp_path: Path, mischief: str, why: str) -> None:
    code, found, _ = finished(tmp_path, make_binary(tmp_path / "er", mischief=mischief), 1, 5)
    assert code == 1
    assert found[-1]["event"] == "error"
    assert why in found[-1]["reason"]
    assert not [event for event in found if event["event"] == "mark"]


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path) -> None:
    mischief = "if given['num_executions'] == '5': sys.exit(3)"
    found = finished(tmp_path, make_binary(tmp_path / "er", mischief=mischief), 1, 5)[1]
    assert [e["iterations"] for e in found if e["event"] == "mark"] == [1]


def test_the_binary_dies_with_who_watches_it(tmp_path: Path) -> None:
    binary = make_binary(tmp_path / "er", mischief="time.sleep(300)")
    (tmp_path / "model.pte").write_bytes(b"x")
    process = start(tmp_path, [str(binary), f"--model_path={tmp_path / 'model.pte'}"], [1])
    watcher = psutil.Process(process.pid)
    deadline = time.monotonic() + 30
    while not (children := watcher.children()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    assert children and not all(map(ended, children))  # it would live on
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 30
    while not all(map(ended, children)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(map(ended, children))


def ended(process: psutil.Process) -> bool:
    """Whether it is gone, or waits for whoever is its parent now to look."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(
    ("log", "seconds"),
    [
        ("", None),
        (
            "I runner.cpp:341] Model executed successfully 4 time(s) in 2 ms",
            5e-4,
        ),
        (
            "x] Iteration 1 of 3: 627.09 ms\nx] Iteration 2 of 3: 500.0 ms\nx] Iteration 3 of 3: "
            "400.0 ms\nx] Model executed successfully 3 time(s) in 1527.1 ms.",
            0.5,
        ),
    ],
)
def test_seconds_are_those_of_the_log(log: str, seconds: float | None) -> None:
    assert execution_seconds(log) == seconds


def test_outputs_of_another_size_than_the_largest_have_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "out-0.bin").write_bytes(bytes(8))
    assert output_sha(str(tmp_path / "out"), [["float32", [3]]]) is None
    assert output_sha(str(tmp_path / "out"), [["int", []]]) is None
    assert output_sha(str(tmp_path / "out"), [["float32", [2]], ["float32", [2]]]) is None
    assert output_sha(str(tmp_path / "out"), [["int64", [1]]])


@pytest.mark.parametrize("kind", ["int", "float", "bool list", "None", "?9"])
@pytest.mark.parametrize("place", [0, 1])
def test_outputs_that_are_no_tensors_have_no_checksum(
    tmp_path: Path, kind: str, place: int
) -> None:
    """executor_runner writes no file for them: what the other runners hash of them is not known."""
    outputs: list = [["float32", [2]]]
    outputs.insert(place, [kind, []])
    (tmp_path / f"out-{1 - place}.bin").write_bytes(bytes(8))
    assert output_sha(str(tmp_path / "out"), outputs) is None
