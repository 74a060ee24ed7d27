"""Ctrl-C at any moment is one line and 130, the first imports included."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What each imports first of other people's, and how it is started.
COMMANDS = {
    "bench": "hydra",
    "bench.environment": "psutil",
    "bench.results": "pandas",
    "bench.report.readme": "pandas",
    "bench.perf": "hydra",
    "bench.revision": "psutil",
    "bisect": "rich",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_while_importing(tmp_path: Path, command: str) -> None:
    slow = tmp_path / COMMANDS[command]
    slow.mkdir()
    (slow / "__init__.py").write_text(
        "import time\nprint('importing', flush=True)\n"
        # As libraries do that find one of theirs missing.
        "try:\n    time.sleep(60)\nexcept BaseException as error:\n"
        "    raise KeyboardInterrupt from error\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert err == "et-peak: interrupted\n"
    assert process.returncode == 130


def test_who_only_imports_us_keeps_his_interrupts() -> None:
    code = "import signal, bench, bench.cli; print(signal.getsignal(signal.SIGINT))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "default_int_handler" in done.stdout


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = (
        "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.argv = ['-m']; import bench; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
