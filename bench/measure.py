"""One worker process: start it, watch it, end it if it must be, say how it ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from bench.disk import writing
from bench.request import Limits
from bench.timeline import Point, Timeline
from bench.values import format_mb, format_seconds
from bench.watch import EndedBy, Watch, oom_kills

Status = Literal["ok", "failed", "timeout", "over_memory", "unsupported", "untestable"]
WORKER_ROOT = Path(__file__).resolve().parent / "worker"
_POLL_S = 0.02
_TAIL_LINES = 15
_LOG_LINES = 300
# runtime/executor/method.cpp, once for each kernel that a program needs and nobody registered.
_MISSING = re.compile(r"Missing operator: \[\d+\] (\S+)")


@dataclass(frozen=True)
class Outcome:
    """How one worker ended, and all it said.

    Attributes:
        status: ``ok``, ``failed``, ``timeout`` or ``over_memory``.
        reason: one line a person can act on; empty when ok.
        events: what the worker wrote, in order; complete lines only.
        wall_s: seconds from start to end of the process, seen from outside.
        rusage_peak_bytes: ``ru_maxrss`` of the finished child. The worker's resets of the
            high-water mark hide earlier phases from it: a lower bound, for cross-checking. None
            where it may be of another program (see :class:`bench.watch.Watch`).
        sampled_peak_bytes: highest RSS psutil saw from outside since the baseline, every 20 ms: a
            lower bound too.
        log_tail: last lines of the worker's own output.
        timeline: RSS against time, where it was asked for.

    """

    status: Status
    reason: str
    events: list[dict[str, Any]]
    wall_s: float
    rusage_peak_bytes: int | None
    sampled_peak_bytes: int | None
    log_tail: str
    timeline: tuple[Point, ...] = ()


def run_worker(
    python: Path,
    request: Mapping[str, Any],
    *,
    env: Mapping[str, str],
    folder: Path,
    limits: Limits,
    on_phase: Callable[[str], None] = lambda _phase: None,
    timeline: bool = False,
    worker_root: Path = WORKER_ROOT,
) -> Outcome:
    """Run one measurement in a process group of its own and wait for its end.

    Args:
        python: the interpreter of the benchmarked environment.
        request: what to measure; gets the path of the events file added. With ``binary``, the
            process becomes that program, and the limit of memory is for what it is then.
        env: the whole OS environment of the process; ``PYTHONPATH`` gets the worker's root.
        folder: an empty folder for the request, the events and the log.
        limits: time and memory after which the process group is killed.
        on_phase: called with the name of each phase the worker enters.
        timeline: whether its RSS is sampled against time (:mod:`bench.timeline`).
        worker_root: the folder that holds the package ``et_worker``.

    Raises:
        DiskError: if the folder can't be written to.

    """
    folder = folder.absolute()  # the worker's working directory is another than ours
    events_path, log_path = folder / "events.jsonl", folder / "worker.log"
    request_path = folder / "request.json"
    told = {**request, "events": str(events_path), "parent_pid": os.getpid()}
    with writing(folder):
        events_path.touch()
        request_path.write_text(json.dumps(told))
    began = time.monotonic()
    process = _start(python, request_path, log_path, env, worker_root)
    kills = oom_kills()
    becomes = Path(request["binary"]) if "binary" in request else None
    watch = Watch(process, limits, began, becomes)
    line = Timeline(process.pid, began)
    try:
        with line if timeline else nullcontext(), events_path.open("rb") as file:
            reader = _EventReader(file, on_phase, watch.baseline)
            while not watch.finished():
                reader.poll()
                time.sleep(_POLL_S)
            reader.poll()
    finally:  # also on KeyboardInterrupt: no worker outlives its controller
        watch.kill_group()
        watch.reap()
    events = read_events(events_path)
    ended_by = watch.ended_by
    if watch.returncode == -signal.SIGKILL and ended_by is None and oom_kills() > kills:
        ended_by = "oom"
    said = log_text(log_path, _LOG_LINES)
    status, reason = judge(watch.returncode, events, ended_by, limits, said)
    return Outcome(
        status=status,
        reason=reason,
        events=events,
        wall_s=round(time.monotonic() - began, 3),
        rusage_peak_bytes=watch.rusage_peak_bytes,
        sampled_peak_bytes=watch.sampled_peak_bytes,
        log_tail="" if status == "ok" else "\n".join(said.splitlines()[-_TAIL_LINES:]),
        timeline=tuple(line.points),
    )


def _start(
    python: Path, request: Path, log: Path, env: Mapping[str, str], worker_root: Path
) -> subprocess.Popen[bytes]:
    """Start the worker in a session of its own, in the folder of its request."""
    paths = [str(worker_root), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    with log.open("wb") as output:
        # -P: nothing of the working directory, whose `bisect` would hide the standard one.
        return subprocess.Popen(
            [str(python), "-P", "-m", "et_worker", str(request)],
            env={**env, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=request.parent,
            start_new_session=True,
        )


class _EventReader:
    """Tells each phase the worker enters, and its baseline, while it runs."""

    def __init__(
        self, file: BinaryIO, on_phase: Callable[[str], None], on_baseline: Callable[[], None]
    ) -> None:
        self._file = file
        self._on_phase = on_phase
        self._on_baseline = on_baseline
        self._rest = b""

    def poll(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for event in parse_lines(lines):
            if event.get("event") == "enter":
                self._on_phase(str(event.get("phase")))
            elif event.get("event") == "baseline":
                self._on_baseline()


def read_events(path: Path) -> list[dict[str, Any]]:
    """Read a worker's events; a last line cut short by a kill is left out."""
    return parse_lines(path.read_bytes().split(b"\n"))


def parse_lines(lines: list[bytes]) -> list[dict[str, Any]]:
    """Parse JSON lines, leaving out what is no whole object."""
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def log_text(path: Path, lines: int) -> str:
    """Return the last lines of a log, without control characters."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 16_384))
        text = log.read().decode(errors="replace")
    printable = "".join(c for c in text if c.isprintable() or c in "\n\t")
    return "\n".join(printable.splitlines()[-lines:])


def judge(
    returncode: int | None,
    events: list[dict[str, Any]],
    ended_by: EndedBy,
    limits: Limits,
    log: str,
) -> tuple[Status, str]:
    """Name the end of a worker and the reason a person can act on. Pure."""
    last = next((e.get("phase") for e in reversed(events) if e.get("event") == "enter"), "start")
    if ended_by == "timeout":
        took = format_seconds(limits.timeout_s)
        return "timeout", f"still in phase {last} after {took}: raise timeout_s"
    cap = limits.memory_cap
    peaks = [int(e["peak_bytes"]) for e in events if e.get("peak_bytes") is not None]
    if cap is not None and (ended_by == "memory" or max(peaks, default=0) > cap):
        return "over_memory", f"peak is at least the cap of {format_mb(cap)} MB, in phase {last}"
    if ended_by == "group":
        what = "the worker and its child processes together"
        return "over_memory", f"{what} took the cap of {format_mb(cap)} MB, in phase {last}"
    if ended_by == "oom":
        return (
            "over_memory",
            f"killed by the kernel in phase {last}: this machine ran out of memory",
        )
    error = next((e for e in events if e.get("event") == "error"), None)
    if error is not None:
        return _judge_error(error, str(last), log)
    if returncode == 0 and any(e.get("event") == "result" for e in events):
        return "ok", ""
    if returncode is not None and returncode < 0:
        known = -returncode in set(signal.Signals)
        name = signal.Signals(-returncode).name if known else f"signal {-returncode}"
        return "failed", f"ended by {name} in phase {last}"
    why = next((line for line in reversed(log.splitlines()) if line.strip()), "no output")
    return "failed", f"exit code {returncode} in phase {last}: {why.strip()[:200]}"


def _judge_error(error: Mapping[str, Any], phase: str, log: str) -> tuple[Status, str]:
    missing = ", ".join(dict.fromkeys(_MISSING.findall(log)))
    if phase == "load_method" and missing:
        return "unsupported", f"the program needs operators that this runtime lacks: {missing}"[
            :300
        ]
    reason = " ".join(str(error.get("reason", "")).split())[:300]
    match error.get("kind"):
        case "unsupported":
            return "unsupported", reason
        case "memory":
            return "over_memory", f"out of memory in phase {phase}: {reason}"
        case _:
            return "failed", reason  # the worker names phase and exception itself
