"""Entry point: read the request, do its task, report how it ended."""

from __future__ import annotations

import json
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import Any

from et_worker import memory, process
from et_worker.events import EventWriter
from et_worker.failures import describe
from et_worker.phases import Phases
from et_worker.trace import Trace


def main(argv: list[str]) -> int:
    """Run the request named by the only argument.

    Returns:
        0 after a ``result`` event, 1 after an ``error`` event (its traceback is on stderr),
        2 when the request itself can't be read, so that there is nowhere to report to.

    """
    if len(argv) != 1:
        print("usage: python -P -m et_worker REQUEST.json", file=sys.stderr)
        return 2
    try:
        request: dict[str, Any] = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
        events = EventWriter(Path(request["events"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"et_worker: cannot use the request {argv[0]}: {error!r}", file=sys.stderr)
        return 2
    process.die_with_parent(request.get("parent_pid"))
    events.emit(
        "start",
        pid=os.getpid(),
        python=platform.python_version(),
        platform=platform.platform(),
        cpus=process.usable_cpus(),
        peak_source=memory.peak_source(),
    )
    tracer = Trace()
    phases = Phases(events)
    try:
        watched = None
        if "explain" in request:  # slower and larger: nothing it says of itself is a measurement
            from et_worker.highwater import ExplainedPhases

            phases = watched = ExplainedPhases(events, request["explain"])
        # Imported here: each task pulls in what it measures with, and only that.
        if request["task"] == "export":
            from et_worker.export import run_export as task
        elif request["task"] == "run" and "executor_runner" in request:
            from et_worker.executor_runner import become_watcher

            become_watcher(request, Path(argv[0]).parent)
        elif request["task"] == "run" and "binary" in request:
            from et_worker.native import become_runner

            become_runner(request)
        elif request["task"] == "run":
            from et_worker.run import run_method as task
        elif request["task"] == "inputs":
            from et_worker.input_files import write_inputs as task
        elif request["task"] == "check":
            from et_worker.check import run_check as task
        else:
            raise ValueError(f"unknown task {request['task']!r}; known: export, run, inputs, check")
        task(request, events, phases)
        if watched:
            watched.report()
    except Exception as error:
        if not getattr(error, "shown", False):
            traceback.print_exc()
        kind, reason = describe(error, phases.current, request.get("source"))
        events.emit("error", kind=kind, type=type(error).__name__, reason=reason)
        return 1
    finally:
        events.emit("trace", **tracer.found())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
