"""Real processes that end in every way a worker can."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bench.disk import DiskError
from bench.measure import Outcome, judge, parse_lines, run_worker
from bench.request import Limits
from bench.watch import oom_kills

ROOMY = Limits(30, None)
HEAD = """
import json, os, signal, sys, time
request = json.load(open(sys.argv[1]))
events = open(request["events"], "a", buffering=1)
def say(**event): events.write(json.dumps(event) + "\\n")
say(event="baseline", rss_bytes=10, peak_bytes=10)
say(event="enter", phase="lower")
"""


def run(tmp_path: Path, body: str, limits: Limits = ROOMY, **kwargs: object) -> Outcome:
    package = tmp_path / "root" / "et_worker"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text(HEAD + body)
    folder = tmp_path / "scratch"
    folder.mkdir()
    return run_worker(
        Path(sys.executable),
        {"task": "x"},
        env=dict(os.environ),
        folder=folder,
        limits=limits,
        worker_root=tmp_path / "root",
        **kwargs,  # type: ignore[arg-type]
    )


def test_ok(tmp_path: Path) -> None:
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    phases: list[str] = []
    outcome = run(
        tmp_path,
        f"x = bytearray(b'x') * {ours + 50_000_000}; time.sleep(.2)\n"
        "say(event='result', peak_bytes=20)",
        on_phase=phases.append,
    )
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert phases == ["lower"]
    assert outcome.sampled_peak_bytes and outcome.sampled_peak_bytes > ours
    assert outcome.rusage_peak_bytes and outcome.rusage_peak_bytes > ours


def test_a_relative_folder_is_meant_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "root" / "et_worker"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text(HEAD + "say(event='result', peak_bytes=1)")
    Path("scratch").mkdir()
    outcome = run_worker(
        Path(sys.executable),
        {"task": "x"},
        env=dict(os.environ),
        folder=Path("scratch"),
        limits=ROOMY,
        worker_root=tmp_path / "root",
    )
    assert (outcome.status, outcome.reason) == ("ok", "")


def test_exit_zero_without_a_result_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "pass").status == "failed"


def test_exception_is_named_with_its_phase(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        "say(event='error', kind='exception', reason='lower: no\\nkernel')\nsys.exit(1)",
    )
    assert outcome.status == "failed"
    assert outcome.reason == "lower: no kernel"


def test_unsupported_is_what_the_worker_says(tmp_path: Path) -> None:
    outcome = run(
        tmp_path, "say(event='error', kind='unsupported', reason='no MLX in 1.2.0'); sys.exit(1)"
    )
    assert (outcome.status, outcome.reason) == ("unsupported", "no MLX in 1.2.0")


def test_death_without_a_word_shows_the_log(tmp_path: Path) -> None:
    outcome = run(tmp_path, "print('Illegal \\x1b[31mfoo'); sys.stdout.flush(); os._exit(7)")
    assert outcome.status == "failed"
    assert outcome.reason == "exit code 7 in phase lower: Illegal [31mfoo"


def test_signal(tmp_path: Path) -> None:
    outcome = run(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert (outcome.status, outcome.reason) == ("failed", "ended by SIGSEGV in phase lower")


def test_somebody_elses_kill_is_no_memory_finding(tmp_path: Path) -> None:
    before = oom_kills()
    outcome = run(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    if oom_kills() == before:
        assert (outcome.status, outcome.reason) == ("failed", "ended by SIGKILL in phase lower")


def test_timeout_keeps_what_was_measured_and_ends_the_group(tmp_path: Path) -> None:
    body = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
say(event="mark", iterations=1, peak_bytes=15)
time.sleep(60)
"""
    outcome = run(tmp_path, body, Limits(1.5, None))
    assert outcome.status == "timeout"
    assert outcome.reason == "still in phase lower after 1.50 s: raise timeout_s"
    assert [e["event"] for e in outcome.events] == ["baseline", "enter", "mark"]
    grandchild = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while psutil.pid_exists(grandchild) and time.monotonic() < deadline:
        if psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        assert not psutil.pid_exists(grandchild)


def test_over_the_cap_while_running(tmp_path: Path) -> None:
    outcome = run(tmp_path, "x = bytearray(300_000_000); time.sleep(30)", Limits(30, 200_000_000))
    assert outcome.status == "over_memory"
    assert outcome.reason == "peak is at least the cap of 200.0 MB, in phase lower"
    assert outcome.wall_s < 20


CHILD = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "x = bytearray(300_000_000); input()"],
                         stdin=subprocess.PIPE)
time.sleep(30)
"""


def test_children_count_under_the_cap(tmp_path: Path) -> None:
    outcome = run(tmp_path, CHILD, Limits(30, 200_000_000))
    assert outcome.status == "over_memory"
    assert outcome.reason.startswith("the worker and its child processes together took the cap of")
    assert outcome.sampled_peak_bytes and outcome.sampled_peak_bytes < 200_000_000  # its own
    assert outcome.wall_s < 20


def test_a_child_that_is_being_started_is_not_its_parent_twice(tmp_path: Path) -> None:
    body = """
import subprocess
x = bytearray(150_000_000)
for _ in range(300): subprocess.run(["true"])
say(event="result", peak_bytes=1)
"""
    assert run(tmp_path, body, Limits(60, 250_000_000)).status == "ok"


def test_over_the_cap_in_a_spike_that_no_sample_saw(tmp_path: Path) -> None:
    body = "say(event='phase', peak_bytes=900_000_000); say(event='result', peak_bytes=900_000_000)"
    assert run(tmp_path, body, Limits(30, 800_000_000)).status == "over_memory"


# Takes memory before its baseline, as a launcher or imports do, and little after it.
EARLY = "x = bytearray(300_000_000); time.sleep(.2); del x\n"
LATE = """
say(event="baseline", rss_bytes=10, peak_bytes=10)
time.sleep(.2)
say(event="result", peak_bytes=20)
"""


def test_what_was_seen_before_the_baseline_is_not_checked_against_what_came_after(
    tmp_path: Path,
) -> None:
    outcome = run(tmp_path, EARLY + LATE)
    assert outcome.sampled_peak_bytes and outcome.sampled_peak_bytes < 200_000_000


def test_what_this_process_held_is_no_peak_of_a_worker(tmp_path: Path) -> None:
    """A child that is started by vfork has its parent's ru_maxrss until it holds more itself."""
    held = bytearray(b"x") * 500_000_000
    del held
    outcome = run(tmp_path, "time.sleep(.1); say(event='result', peak_bytes=20)")
    assert outcome.status == "ok"
    assert outcome.rusage_peak_bytes is None


BECOMES = """
x = bytearray(300_000_000); time.sleep(.2)
code = open(os.path.dirname(__file__) + "/runner.py").read()
os.execv(request["binary"], [request["binary"], "-c", code, request["events"]])
"""
RUNNER = """
import json, sys, time
def say(**event): open(sys.argv[1], "a").write(json.dumps(event) + chr(10))
say(event="baseline", rss_bytes=10, peak_bytes=10)
HOLD
time.sleep(.3)
say(event="result", peak_bytes=20)
"""


def becoming(tmp_path: Path, hold: str, cap: int) -> Outcome:
    """A worker of 300 MB that becomes another program, as for runner=native."""
    binary = tmp_path / "runner"
    shutil.copy(Path(sys.executable).resolve(), binary)
    package = tmp_path / "root" / "et_worker"
    package.mkdir(parents=True)
    head = HEAD.replace('say(event="baseline", rss_bytes=10, peak_bytes=10)\n', "")
    (package / "__main__.py").write_text(head + BECOMES)
    (package / "runner.py").write_text(RUNNER.replace("HOLD", hold))
    (tmp_path / "scratch").mkdir()
    return run_worker(
        Path(sys.executable),
        {"task": "x", "binary": str(binary)},
        env={**os.environ, "PYTHONHOME": sys.base_prefix},
        folder=tmp_path / "scratch",
        limits=Limits(30, cap),
        worker_root=tmp_path / "root",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which program a process is")
def test_a_launcher_is_neither_under_the_cap_nor_in_the_peaks_of_what_it_becomes(
    tmp_path: Path,
) -> None:
    outcome = becoming(tmp_path, "pass", 200_000_000)
    assert (outcome.status, outcome.reason) == ("ok", ""), outcome.log_tail
    assert outcome.rusage_peak_bytes is None
    assert outcome.sampled_peak_bytes and outcome.sampled_peak_bytes < 100_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which program a process is")
def test_what_a_launcher_became_is_under_the_cap(tmp_path: Path) -> None:
    outcome = becoming(tmp_path, "x = bytearray(300_000_000); time.sleep(20)", 200_000_000)
    assert outcome.status == "over_memory", outcome.log_tail
    assert outcome.wall_s < 15


def test_out_of_memory_in_python(tmp_path: Path) -> None:
    outcome = run(
        tmp_path, "say(event='error', kind='memory', type='MemoryError', reason=''); sys.exit(1)"
    )
    assert outcome.status == "over_memory"


def test_kernel_oom_kill() -> None:
    status, reason = judge(-9, [{"event": "enter", "phase": "lower"}], "oom", Limits(1, None), "")
    assert status == "over_memory"
    assert "this machine ran out of memory" in reason


def test_a_torn_last_line_is_left_out() -> None:
    assert parse_lines([b'{"event": "a"}', b'{"event": "b', b"[1]", b""]) == [{"event": "a"}]


def test_the_worker_never_sees_our_bisect(tmp_path: Path) -> None:
    body = "import bisect; say(event='result', peak_bytes=1, file=bisect.__file__)"
    outcome = run(tmp_path, body)
    assert "bisect.py" in outcome.events[-1]["file"]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=str(tmp_path / "gone")):
        run_worker(
            Path(sys.executable), {}, env=dict(os.environ), folder=tmp_path / "gone", limits=ROOMY
        )


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_no_worker_outlives_a_killed_controller(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    script = f"""
import os, sys
from pathlib import Path
sys.path[:0] = [{str(root)!r}]
from bench.request import Limits
from bench.measure import run_worker
run_worker(Path(sys.executable), {{"task": "sleep"}}, env=dict(os.environ),
           folder=Path({str(tmp_path)!r}), limits=Limits(60, None),
           worker_root=Path({str(tmp_path / "root")!r}))
"""
    package = tmp_path / "root" / "et_worker"
    package.mkdir(parents=True)
    real = root / "bench" / "worker" / "et_worker"
    (package / "__init__.py").write_text("")
    (package / "process.py").write_text((real / "process.py").read_text())
    (package / "__main__.py").write_text(
        "from et_worker import process; process.die_with_parent()\n"
        + HEAD
        + f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    controller = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    worker = int((tmp_path / "pid").read_text())
    controller.kill()
    controller.wait()
    while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_operators_that_a_runtime_lacks_are_named_once_each() -> None:
    error = {"event": "error", "kind": "exception", "reason": "error: 0x14"}
    log = "".join(f"[method.cpp:822] Missing operator: [{n}] a::b{n % 2}.out\n" for n in range(4))
    loading = [{"event": "enter", "phase": "load_method"}, error]
    found = judge(1, loading, None, Limits(1, None), log)
    assert found == (
        "unsupported",
        "the program needs operators that this runtime lacks: a::b0.out, a::b1.out",
    )
    # Of an export, whose log may say anything, it says nothing.
    lowering = [{"event": "enter", "phase": "lower"}, error]
    assert judge(1, lowering, None, Limits(1, None), log) == ("failed", "error: 0x14")
