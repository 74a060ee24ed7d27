"""Task ``run`` by the user's own executor_runner: its inputs are written, then it is watched."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from et_worker.failures import UnsupportedError
from et_worker.inputs import input_specs, make_inputs, raw_bytes


def become_watcher(request: Mapping[str, Any], folder: Path) -> NoReturn:
    """Write the inputs, then replace this process by :mod:`et_worker.outside`, which runs it.

    What a process took is told together with what its parent had when it was started (see there):
    so the parent is one without torch.

    Args:
        request: as for :func:`et_worker.run.run_method`, with ``inputs``, ``outputs`` and ``first``
            of the program's metadata, and ``executor_runner``: its ``path`` and ``flags``.
        folder: for the inputs, and for what comes out.

    Raises:
        UnsupportedError: this binary can't do what is asked.

    """
    runner = request["executor_runner"]
    words = command(request, [folder / f"input-{n}.bin" for n, _ in enumerate(request["inputs"])])
    for number, value in enumerate(make_inputs(input_specs(request), request["seed"])):
        (folder / f"input-{number}.bin").write_bytes(raw_bytes(value))
    wanted = {
        "command": words,
        "marks": sorted(set(request["marks"])),
        "events": request["events"],
        "parent_pid": os.getppid(),
        "output_file": str(folder / "output") if "output_file" in runner["flags"] else None,
        "outputs": request["outputs"],
    }
    path = folder / "outside.json"
    path.write_text(json.dumps(wanted))
    words = [sys.executable, "-S", "-P", "-m", "et_worker.outside", str(path)]
    os.execv(words[0], words)  # noqa: S606 - no shell is meant


def command(request: Mapping[str, Any], inputs: list[Path]) -> list[str]:
    """Return the words that run the request's method, but for how often.

    Raises:
        UnsupportedError: the binary has no flag for it.

    """
    runner, method = request["executor_runner"], request["method"]
    words = [runner["path"], f"--model_path={request['program']}"]
    if "method_name" in runner["flags"]:
        words.append(f"--method_name={method}")
    elif method != request["first"]:
        raise UnsupportedError(
            f"this executor_runner has no --method_name and runs the program's first method, "
            f"{request['first']}"
        )
    if inputs and "inputs" not in runner["flags"]:
        raise UnsupportedError("this executor_runner has no --inputs to be fed by")
    if inputs:
        words.append(f"--inputs={','.join(map(str, inputs))}")
    if "print_output" in runner["flags"]:
        words.append("--print_output=none")
    return words
