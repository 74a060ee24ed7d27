"""The user's own model: a Python file with one function, run here and nowhere else.

``build(seed)`` returns by method's name a dict of ``module`` (a ``torch.nn.Module``), ``inputs``
(a tuple of example tensors) and, where sizes may vary, ``dynamic_shapes`` as
``torch.export.export`` takes it, with a maximum for each. ``METHODS`` lists the names where there
are others than ``forward``; it is read without running the file. See ``examples/``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from et_worker.failures import UnsupportedError, WorkerError
from et_worker.models import Method
from et_worker.models.neighbours import Neighbours

_MODULE = "et_peak_script"
_FIELDS = ("module", "inputs", "dynamic_shapes")
_neighbours: list[Neighbours] = []  # of the one script of the process


class ScriptError(WorkerError):
    """The user's script failed, or returned something else than methods."""

    shown = False  # whether the user's traceback is in the log already


def prepare(request: Mapping[str, Any]) -> None:
    """Import the script: what it imports is in no peak.

    Raises:
        ScriptError: it has changed since it was asked for, or it raised.

    """
    path = Path(request["source"])
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != request["model"]["sha256"]:
        raise ScriptError(f"{path.name} has changed since this was asked for")
    _neighbours.append(Neighbours(path))
    sys.path.insert(0, str(path.parent))  # as if it had been run: its neighbours can be imported
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise ScriptError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    loader = spec.loader
    _of_the_user(path, lambda: loader.exec_module(module))
    _neighbours[-1].note()


def build(request: Mapping[str, Any]) -> dict[str, Method]:
    """Return the script's methods; see :class:`et_worker.models.Family`.

    Raises:
        ScriptError: it raised, or returned something else than its methods.
        UnsupportedError: a precision that a finished module can't be brought into.

    """
    precision = request["precision"]
    if precision["quantize"] is not None and precision["weights"] != "float32":
        raise UnsupportedError(
            f"{precision['name']} on {request['backend']['name']} is of {precision['weights']} "
            "modules; a script's are taken as it makes them"
        )
    path, module = Path(request["source"]), sys.modules[_MODULE]
    made = _of_the_user(path, lambda: module.build(request["seed"]))
    _neighbours[-1].note()
    return _methods(path.name, made, request["model"]["names"])


def neighbours() -> dict[str, str]:
    """Return what the methods were made of besides the script; see :class:`Neighbours`."""
    return _neighbours[-1].found()


def _methods(file: str, made: Any, names: list[str]) -> dict[str, Method]:
    if not isinstance(made, Mapping) or sorted(made) != sorted(names):
        found = sorted(map(str, made)) if isinstance(made, Mapping) else type(made).__name__
        raise ScriptError(f"{file}: build must return a dict of {sorted(names)}, not {found}")
    methods = {}
    for name, fields in made.items():
        where = f"{file}: method {name}"
        if not isinstance(fields, Mapping) or not {"module", "inputs"} <= set(fields):
            raise ScriptError(f"{where}: must be a dict with module and inputs")
        if unknown := sorted(set(fields) - set(_FIELDS)):
            raise ScriptError(f"{where}: {unknown[0]!r} is none of {', '.join(_FIELDS)}")
        if not isinstance(fields["module"], torch.nn.Module):
            raise ScriptError(f"{where}: module is no torch.nn.Module")
        inputs = fields["inputs"]
        if not isinstance(inputs, tuple) or not all(torch.is_tensor(each) for each in inputs):
            raise ScriptError(f"{where}: inputs must be a tuple of tensors")
        module = fields["module"].eval().requires_grad_(requires_grad=False)
        methods[name] = Method(module, inputs, fields.get("dynamic_shapes"))
    return methods


def _of_the_user(path: Path, work: Callable[[], Any]) -> Any:
    """Do what runs the user's code; what it raises is shown from the user's own lines on.

    Raises:
        ScriptError: with the place and the message.

    """
    try:
        return work()
    except Exception as error:
        frames = error.__traceback__
        while frames and Path(frames.tb_frame.f_code.co_filename) != path:
            frames = frames.tb_next
        theirs = error.with_traceback(frames) if frames else error
        traceback.print_exception(theirs)
        lines = [f.lineno for f in traceback.extract_tb(frames) if Path(f.filename) == path]
        place = f"{path.name}, line {lines[-1]}" if lines else path.name
        text = " ".join(str(error).split())
        failed = ScriptError(f"{place}: {type(error).__name__}: {text}")
        failed.shown = True
        raise failed from None
