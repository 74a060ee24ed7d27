"""A small process that runs another one and tells what it took, as ``/usr/bin/time`` does.

Run by ``python -S -P -m et_worker.outside REQUEST.json``: the standard library only. On Linux a
process's ``ru_maxrss`` is at least what its parent had when it was started: ``exec_mmap``
(fs/exec.c) counts the memory that the exec replaces, a copy of the parent's. So the parent is to
be smaller than what is measured, about 16 MB; of anything smaller still, the high-water mark is
what was seen last: a lower bound, and the ``mark`` event's ``exact`` is false.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from et_worker import memory, process
from et_worker.events import EventWriter

_POLL_S = 0.01
_CLOSE_POLL_S = 0.001  # while what is seen may be all that there will be
_SHA_DIGITS = 16
_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, getrusage(2)
# What examples/portable/executor_runner/executor_runner.cpp logs, the newest with each execution.
_EACH = re.compile(r"Iteration \d+ of \d+: ([\d.]+) ms")
_ALL = re.compile(r"executed successfully (\d+) time\(s\) in ([\d.]+) ms")
_SIZES = {
    **dict.fromkeys(("uint8", "int8", "bool"), 1),
    **dict.fromkeys(("int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "float32"), 4),
    **dict.fromkeys(("int64", "float64"), 8),
}


def main(argv: Sequence[str]) -> int:
    """Run the command of the request once per mark; return 0 after a ``result`` event."""
    request: dict[str, Any] = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    process.die_with_parent(request["parent_pid"])
    events = EventWriter(Path(request["events"]))
    sampled, sha = 0, None
    for mark in request["marks"]:
        phase = f"{mark} executions"
        events.emit("enter", phase=phase)
        words = [*request["command"], f"--num_executions={mark}"]
        if request["output_file"] and mark == request["marks"][0]:
            words.append(f"--output_file={request['output_file']}")
        done = run(words)
        if done["code"]:
            events.emit("error", kind="exception", type="exit", reason=_why(phase, done))
            return 1
        peak, exact = peak_of(done)
        sampled = max(sampled, done["sampled_peak_bytes"])
        told = {"seconds": done["seconds"], "rss_bytes": None, "peak_bytes": peak}
        events.emit("phase", name=phase, **told)
        seconds = execution_seconds(done["log"])
        events.emit(
            "mark",
            iterations=mark,
            rss_bytes=None,
            peak_bytes=peak,
            first_peak_bytes=peak if mark == 1 else None,
            load_rss_bytes=None,
            exec_median_s=seconds,
            exact=exact,
            parent_bytes=done["parent_bytes"],
        )
        if request["output_file"] and sha is None:
            sha = output_sha(request["output_file"], request["outputs"])
    events.emit("result", output_sha=sha, sampled_peak_bytes=sampled, total_s=events.seconds())
    return 0


def run(words: Sequence[str]) -> dict[str, Any]:
    """Run a command to its end.

    Returns:
        ``code`` (negative: the signal), ``seconds``, ``log`` (all it said), ``peak_bytes`` (the
        kernel's, of the whole process), ``sampled_peak_bytes`` (the same counter as seen on the
        way), ``parent_bytes`` (what ``peak_bytes`` would be of any smaller process).

    """
    parent = os.getpid()
    least = memory.high_water_of(parent) or 0
    began = time.monotonic()
    with Path("executor_runner.log").open("w+b") as log:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Not vfork's: with it the child would share this very memory until its exec.
            preexec_fn=lambda: process.die_with_parent(parent),
        )
        sampled = 0
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            sampled = max(sampled, memory.high_water_of(child.pid) or 0)
            time.sleep(_CLOSE_POLL_S if sampled < least else _POLL_S)
        child.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        said = log.read().decode(errors="replace")
    sys.stdout.write(said)
    sys.stdout.flush()
    return {
        "code": child.returncode,
        "seconds": round(time.monotonic() - began, 4),
        "log": said,
        "peak_bytes": usage.ru_maxrss * _UNIT,
        "sampled_peak_bytes": sampled,
        "parent_bytes": memory.high_water_of(parent) or 0,
    }


def peak_of(done: Mapping[str, Any]) -> tuple[int | None, bool]:
    """Return a process's peak, and whether it is exact rather than a lower bound. Pure.

    None where nothing is known: it was small, and had ended before it could be looked at.
    """
    if done["peak_bytes"] > done["parent_bytes"]:
        return done["peak_bytes"], True
    return done["sampled_peak_bytes"] or None, False


def execution_seconds(log: str) -> float | None:
    """Return the median of the executions; their mean where only the sum is told, or None. Pure."""
    each = [float(text) / 1e3 for text in _EACH.findall(log)]
    if each:
        return round(statistics.median(each), 6)
    total = _ALL.search(log)
    return round(float(total[2]) / 1e3 / max(int(total[1]), 1), 6) if total else None


def output_sha(base: str, outputs: Sequence[tuple[str, Sequence[int]]]) -> str | None:
    """Return the checksum of :func:`et_worker.outputs.summarize` from the files of the outputs.

    None where it can't be told: an output that is no tensor, or smaller than its largest shape.
    """
    digest = hashlib.sha256()
    for number, (dtype, shape) in enumerate(outputs):
        path = Path(f"{base}-{number}.bin")
        content = path.read_bytes() if path.exists() else b""
        if dtype not in _SIZES or len(content) != _SIZES[dtype] * math.prod(shape):
            return None
        digest.update(f"{dtype}{list(shape)}".encode())
        digest.update(content)
    return digest.hexdigest()[:_SHA_DIGITS]


def _why(phase: str, done: Mapping[str, Any]) -> str:
    lines = [line for line in done["log"].splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E ", "F "))]  # ET_LOG's levels
    last = (errors or lines or ["no output"])[-1].strip()
    code = done["code"]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"{phase}: executor_runner ended with {how}: {last[:250]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
