"""Task ``run`` by the bare runner: this process becomes it, once the request is understood."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from et_worker.failures import UnsupportedError
from et_worker.inputs import InputSpec, input_specs
from et_worker.values import UNIT, input_key  # numpy, gone with the rest of Python


def become_runner(request: Mapping[str, Any]) -> NoReturn:
    """Replace this process by ``request["binary"]``; nothing of Python is left in it.

    It keeps the process id, the death with its parent and the limits, and appends to the same
    file of events. torch was not imported: the exec leaves a process of its own size.

    Args:
        request: as for :func:`et_worker.run.run_method`, and ``binary``.

    Raises:
        UnsupportedError: an input that the runner can't make.
        OSError: there is no such runner.

    """
    specs = input_specs(request)
    words = [
        request["binary"],
        request["program"],
        request["method"],
        request["events"],
        request["load_mode"],
        ",".join(str(mark) for mark in sorted(set(request["marks"]))),
        "finite" if request["finite"] else "any",
        *runner_inputs(specs, request["seed"]),
    ]
    os.execv(words[0], words)  # noqa: S606 - no shell is meant


def runner_inputs(specs: Iterable[InputSpec], seed: int) -> list[str]:
    """Return the runner's words for the inputs: ``dtype:sizes:fill:number:key``.

    Raises:
        UnsupportedError: an input that is no tensor.

    """
    words = []
    for index, spec in enumerate(specs):
        if spec.fill == "value":
            raise UnsupportedError(f"runner=native has tensors for inputs; {spec.name} is none")
        sizes = "x".join(map(str, spec.shape)) or "-"
        number = repr(spec.scale * UNIT) if spec.fill == "spread" else str(spec.high)
        words.append(f"{spec.dtype}:{sizes}:{spec.fill}:{number}:{input_key(seed, index)}")
    return words
