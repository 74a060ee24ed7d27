"""``nox -s perf -- tables``: how long a report and a comparison of many rows take."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from bench.errors import EtPeakError
from bench.place import ROOT
from bench.results.tables import frame, to_csv
from bench.values import format_mb, format_seconds

_ROWS = 100_000
_PROMISE_S = 10
_PROMISE_BYTES = 10**9


def tables() -> None:
    """Report on and compare tables of 100 000 rows, each in a process of its own.

    Judged by CPU seconds: what other work on the machine does to the clock is not ours.

    Raises:
        EtPeakError: if a command fails, or is beyond its promise of 10 CPU seconds and 1 GB.
    """
    print("| command | time | of it CPU | peak RSS |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        before, after = (Path(folder) / f"{name}.csv" for name in ("before", "after"))
        before.write_text(to_csv(many_rows(_ROWS, 0)))
        after.write_text(to_csv(many_rows(_ROWS, 1)))
        slow = []
        for module, words in (
            ("bench.report", [before, "format=markdown", "html=no"]),
            ("bench.report", [before, "html=no"]),
            ("bench.report.compare", [before, after, "format=markdown"]),
            ("bench.report.compare", [before, after]),
        ):
            seconds, cpu_s, peak = _child([sys.executable, "-m", module, *map(str, words)])
            shown = " ".join([module, *(str(word).rpartition("/")[2] for word in words)])
            times = f"{format_seconds(seconds)} | {format_seconds(cpu_s)}"
            print(f"| {shown}, {_ROWS} rows | {times} | {format_mb(peak)} MB |", flush=True)
            if cpu_s > _PROMISE_S or peak > _PROMISE_BYTES:
                slow.append(shown)
    if slow:
        raise EtPeakError(f"beyond {_PROMISE_S} s or {format_mb(_PROMISE_BYTES)} MB: {slow[0]}")


def many_rows(count: int, seed: int) -> pd.DataFrame:
    """Make a table of measurements of a large matrix: noise and effects as real ones have."""
    random = np.random.default_rng(seed)
    axes = product(
        [f"v1.{n}.{m}" for n in range(50) for m in range(20)],
        ("tiny", "base", "small"),
        ("fp32", "bf16", "int8"),
        ("xnnpack", "mlx"),
        ("encode", "decode"),
        (1, 5, 20),
    )
    rows = []
    for number, (commit, model, precision, backend, method, runs) in enumerate(axes):
        if number == count:
            break
        peak = round(len(model) * 5e7 * (1 + len(precision) / 10) * random.normal(1, 0.0005))
        rows.append(
            {
                **{"model": model, "precision": precision, "backend": backend, "method": method},
                **{"iterations": runs, "samples": 480000, "exporter": commit, "runtime": commit},
                **{"exporter_sha": f"{number:040x}", "rung": "wheel", "torch": "2.13.0+cpu"},
                **{"allocator": "default", "load_mode": "mmap", "status": "ok", "repeat": 0},
                **{"baseline_bytes": 240_000_000, "peak_bytes": peak + 240_000_000},
                **{"peak_delta_bytes": peak, "steady_bytes": peak + 230_000_000, "total_s": 9.5},
                **{"exec_median_s": 0.4, "pte_bytes": 80_000_000, "delegates": 13},
                **{"delegated_nodes": 118, "undelegated_nodes": 16, "machine": "one"},
                **{"cell_key": f"{number:016x}", "build_key": commit},
            }
        )
    return frame(rows)


def _child(command: Sequence[str]) -> tuple[float, float, int]:
    """Run a command without its output; return seconds, CPU seconds, and peak RSS in bytes."""
    began = time.monotonic()
    # Bytecode is compiled once in a user's life, not once a command.
    env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=env) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise EtPeakError(f"{' '.join(command[1:4])} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes there, kilobytes here
    cpu_s = usage.ru_utime + usage.ru_stime
    return time.monotonic() - began, cpu_s, usage.ru_maxrss * unit
