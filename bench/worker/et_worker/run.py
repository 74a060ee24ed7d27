"""Task ``run``: load one method of a program and execute it, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from et_worker import memory, process
from et_worker.events import EventWriter
from et_worker.failures import UnsupportedError
from et_worker.inputs import input_specs, make_inputs
from et_worker.outputs import check_finite, summarize
from et_worker.phases import Phases
from et_worker.runtime import load_extension, load_method, load_program
from et_worker.versions import versions


def run_method(request: Mapping[str, Any], events: EventWriter, phases: Phases) -> None:
    """Run ``request["method"]`` of ``request["program"]``; emit ``baseline``, marks, ``result``.

    The inputs are made before the baseline: they are the caller's, not the model's.

    Args:
        request: ``program method marks load_mode seed``, ``finite`` (whether outputs that are not
            are an error), and what the inputs are made from: ``model
            samples tokens``, or ``inputs`` and ``backends`` (the ids that the program names) for
            one from elsewhere. ``marks`` are the numbers of executions to report after, ascending
            from 1.
        events: where to report.
        phases: ``import load_program load_method first loop`` (no loop when one mark is asked).

    Raises:
        WorkerError: with a reason for a person.
        Exception: whatever the runtime raises.

    """
    name, mode, marks = request["method"], request["load_mode"], sorted(set(request["marks"]))
    if not marks or marks[0] != 1:
        raise ValueError(f"marks must begin with 1: {request['marks']}")
    process.pin_load_mode(mode)
    with phases.phase("import"):
        import torch

        extension = load_extension()
        versions()
        inputs = make_inputs(input_specs(request), request["seed"])
        # Also warms the instrument: what it allocates must not look like the program's growth.
        input_sha, _ = summarize(inputs)
    phases.baseline(threads=torch.get_num_threads())

    with phases.phase("load_program"):
        program, keep_alive = load_program(extension, Path(request["program"]), mode)
    locked = memory.sample().locked_bytes
    _check_load_mode(mode, locked)
    with phases.phase("load_method"):
        ids = request.get("backends")
        method = load_method(extension, program, name, Path(request["program"]), ids)
    load_rss = memory.sample().rss_bytes

    seconds: list[float] = []
    with phases.phase("first"):
        seconds.append(_execute(method, inputs))
        outputs = method.get_outputs(False)  # views of the method's own memory
    first_peak = phases.peak_bytes()

    def mark() -> None:
        events.emit(
            "mark",
            iterations=len(seconds),
            rss_bytes=memory.sample().rss_bytes,
            peak_bytes=phases.peak_bytes_now(),
            first_peak_bytes=first_peak,
            load_rss_bytes=load_rss,
            exec_median_s=round(statistics.median(seconds), 9),
            exec_first_s=round(seconds[0], 9),
        )

    mark()
    sha, summaries = summarize(outputs)
    if request["finite"]:
        check_finite(name, outputs, summaries)
    del outputs
    if marks[-1] > 1:
        with phases.phase("loop"):
            while len(seconds) < marks[-1]:
                seconds.append(_execute(method, inputs))
                method.get_outputs(False)
                if len(seconds) in marks:
                    mark()
    events.emit(
        "result",
        input_sha=input_sha,
        output_sha=sha,
        outputs=[asdict(summary) for summary in summaries],
        load_mode=mode,
        locked_bytes=locked,
        baseline_bytes=phases.baseline_bytes,
        load_rss_bytes=load_rss,
        first_peak_bytes=first_peak,
        peak_bytes=phases.peak_bytes(),
        steady_rss_bytes=memory.sample().rss_bytes,
        total_s=events.seconds(),
        **versions(),
    )
    del method, program, keep_alive


def _execute(method: Any, inputs: list[Any]) -> float:
    """Execute once; return the seconds it took, input set-up included."""
    began = time.perf_counter()
    method.set_inputs(inputs)
    method.execute()
    return time.perf_counter() - began


def _check_load_mode(mode: str, locked_bytes: int) -> None:
    if mode == "mmap" and locked_bytes:
        raise UnsupportedError(
            f"load_mode=mmap: {locked_bytes} bytes are locked although this host should refuse it"
        )
    if mode == "mlock" and not locked_bytes:
        raise UnsupportedError(
            "load_mode=mlock: nothing could be locked; raise the memlock limit (ulimit -l)"
        )
