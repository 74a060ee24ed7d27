"""Task ``inputs``: write what a method is fed, for a machine that runs it without us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from et_worker.events import EventWriter
from et_worker.inputs import input_specs, make_inputs, raw_bytes
from et_worker.phases import Phases


def write_inputs(request: Mapping[str, Any], events: EventWriter, phases: Phases) -> None:
    """Write each input of ``request["method"]`` to ``request["folder"]``; emit ``result``.

    Args:
        request: as for :func:`et_worker.run.run_method`, and ``folder``.
        events: where to report: ``inputs``, the specification of each with its ``file``.
        phases: ``inputs``.

    Raises:
        WorkerError: an input that has no bytes of its own.

    """
    folder, method = Path(request["folder"]), request["method"]
    found = []
    with phases.phase("inputs"):
        specs = input_specs(request)
        for index, value in enumerate(make_inputs(specs, request["seed"])):
            name = f"{method}-{index}.bin"
            (folder / name).write_bytes(raw_bytes(value))
            found.append({**asdict(specs[index]), "file": name})
    events.emit("result", inputs=found)
