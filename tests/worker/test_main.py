"""The worker as a command, where there is no torch: it still says how it ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"


def worker(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "et_worker", *args],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_failure_is_an_event_and_its_traceback_is_on_stderr(tmp_path: Path) -> None:
    request, events = tmp_path / "request.json", tmp_path / "events.jsonl"
    request.write_text(json.dumps({"task": "train", "events": str(events)}))
    done = worker(str(request))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    start, error, trace = (json.loads(line) for line in events.read_text().splitlines())
    assert start["event"] == "start"
    assert start["pid"] > 0
    assert trace["files"] == trace["native"] == []
    assert error == {
        "event": "error",
        "t": error["t"],
        "kind": "exception",
        "type": "ValueError",
        "reason": "ValueError: unknown task 'train'; known: export, run, inputs, check",
    }


@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"events": "/no/such/folder/e.jsonl"}'])
def test_without_a_request_there_is_nowhere_to_report_to(tmp_path: Path, text: str | None) -> None:
    request = tmp_path / "request.json"
    if text is not None:
        request.write_text(text)
    done = worker(str(request))
    assert done.returncode == 2
    assert done.stderr.startswith("et_worker: cannot use the request")
    assert done.stderr.count("\n") == 1


def test_usage() -> None:
    assert worker().returncode == 2
