"""A real child of a real parent: dies with it, and may lock nothing when told so."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from et_worker import process

ROOT = Path(process.__file__).resolve().parents[1]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def python(code: str, **kwargs) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ended(pid: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


WORKER = (
    "import os, sys, time; from et_worker import process; process.die_with_parent(); "
    "print(os.getpid(), flush=True); time.sleep(60)"
)
PARENT = (
    "import subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-c', {WORKER!r}])\n"
    "time.sleep(60)"
)


@linux
@pytest.mark.parametrize("watcher", [False, True])
def test_no_worker_outlives_a_killed_parent(watcher: bool) -> None:
    code = PARENT
    if watcher:  # as on another system: no prctl
        code = code.replace(
            "process.die_with_parent()", "sys.platform = str(); process.die_with_parent()"
        )
    parent = python(code)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert alive(worker)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert ended(worker, within_s=10)


def test_a_worker_whose_parent_is_gone_already_does_nothing() -> None:
    code = "from et_worker import process; process.die_with_parent(1 << 30); print('went on')"
    worker = python(code)
    out, _ = worker.communicate(timeout=30)
    assert (out, worker.returncode) == ("", 1)


LOCK = """
import ctypes, mmap
from et_worker import memory, process
process.pin_load_mode({mode!r})
block = mmap.mmap(-1, 1 << 16)
libc = ctypes.CDLL(None, use_errno=True)
address = ctypes.addressof(ctypes.c_char.from_buffer(block))
print(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 16)), memory.sample().locked_bytes)
"""


@linux
def test_mmap_mode_lets_nothing_be_locked_not_even_by_root() -> None:
    out, _ = python(LOCK.format(mode="mmap")).communicate(timeout=30)
    assert out.split() == ["-1", "0"]


@linux
def test_mlock_mode_locks_and_it_shows() -> None:
    out, _ = python(LOCK.format(mode="mlock")).communicate(timeout=30)
    result, locked = out.split()
    if result != "0":
        pytest.skip("this user may lock nothing")
    assert int(locked) >= 1 << 16


def test_an_unknown_load_mode_is_refused_before_anything_changes() -> None:
    with pytest.raises(ValueError, match="mmap, mlock, buffer"):
        process.pin_load_mode("file")


@linux
def test_age_is_since_the_process_started_and_not_since_the_import() -> None:
    code = "import time; time.sleep(0.3); from et_worker import process; print(process.age())"
    out, _ = python(code).communicate(timeout=30)
    assert 0.29 < float(out) < 20
