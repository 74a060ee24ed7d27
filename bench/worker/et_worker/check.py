"""Task ``check``: does an exported program compute what its model does?

In a process of its own, so that nothing of it is in a peak, a time, or the files that an export
reads. Where the program runs, its outputs are compared with the eager model's; an MLX program,
which runs on Apple silicon only, has its k-quant weights read back and compared with their source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from et_worker import lowering
from et_worker.events import EventWriter
from et_worker.failures import OutputError, UnsupportedError
from et_worker.guards import ProgramError
from et_worker.inputs import input_specs, make_inputs
from et_worker.models import Method, load_family, set_switches
from et_worker.phases import Phases
from et_worker.program_file import read_program
from et_worker.runtime import load_extension, load_method, load_program

# Root mean square of the difference over that of the eager output. `check=on` on 1.4.1 found 6e-7
# for Whisper tiny in fp32 (both methods), 2e-7 and 4e-7 for the examples; for encode in int8,
# of one block, 3e-4: what is quantised as it runs may be rounded the other way, and passes that on.
_TOLERANCE, _TOLERANCE_QUANTISED = 1e-3, 0.1


def run_check(request: Mapping[str, Any], events: EventWriter, phases: Phases) -> None:
    """Check ``request["program"]`` against the model of the same request; emit ``result``.

    Args:
        request: as for an export, with ``inputs`` by method where the family does not know them.
        events: where to report.
        phases: ``import build [quantize] compare``.

    Raises:
        OutputError: an output is not what the model gives.
        ProgramError: a weight is not its source.
        UnsupportedError: nothing of it can be compared here, or not with a model that is another
            one each time it is built.

    """
    set_switches(request["model"])
    with phases.phase("import"):
        family = load_family(request["model"]["family"])
        if prepare := getattr(family, "prepare", None):
            prepare(request)
    with phases.phase("build"):
        methods = family.build(request)
    path, precision = Path(request["program"]), request["precision"]
    if request["backend"]["name"] == "mlx":
        with phases.phase("compare"):
            errors = _weights(methods, path)
    else:
        if precision["quantize"] is not None:
            with phases.phase("quantize"):
                _quantize(methods, precision)
        with phases.phase("compare"):
            errors = _outputs(methods, path, request, family.build)
    events.emit("result", errors=errors)


def relative_error(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest relative root mean square error of any output; infinite where none fits.

    Args:
        found: tensors and plain values that the program gave.
        wanted: those that the model gave.

    """
    import torch

    if len(found) != len(wanted):
        return float("inf")
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        if one is None or isinstance(one, str):
            worst = max(worst, 0.0 if one == other else float("inf"))
            continue
        a, b = (torch.as_tensor(each).to(torch.float64) for each in (one, other))
        if a.shape != b.shape:
            return float("inf")
        whole, difference = b.norm().item(), (a - b).norm().item()
        error = difference / whole if whole else difference
        worst = max(worst, float("inf") if math.isnan(error) else error)
    return worst


def _quantize(methods: Mapping[str, Method], precision: Mapping[str, Any]) -> None:
    for method in methods.values():
        lowering.quantize_linears(method.module, precision["quantize"], precision["group_size"])


def _outputs(
    methods: Mapping[str, Method],
    path: Path,
    request: Mapping[str, Any],
    build: Callable[[Mapping[str, Any]], dict[str, Method]],
) -> dict[str, float]:
    precision = request["precision"]
    allowed = _TOLERANCE if precision["quantize"] is None else _TOLERANCE_QUANTISED
    errors = {}
    for name, method in methods.items():
        wanted = _eager(method, _inputs(name, request))
        errors[name] = relative_error(_executed(name, path, _inputs(name, request)), wanted)
        if errors[name] <= allowed:
            continue
        again = build(request)
        if precision["quantize"] is not None:
            _quantize(again, precision)
        if not relative_error(_eager(again[name], _inputs(name, request)), wanted) <= allowed:
            raise UnsupportedError(
                f"{name}: the model is another one each time it is built; make its weights from "
                "the seed, as by torch.manual_seed(seed)"
            )
        raise OutputError(
            f"{name}: the program's output is {errors[name]:.2g} off the model's (relative root "
            f"mean square), more than {allowed:g}"
        )
    return errors


def _inputs(name: str, request: Mapping[str, Any]) -> list[Any]:
    """Make a method's inputs, the same values each time: a model may write to what it is given."""
    fed = request.get("inputs") or {}
    about = {**request, "method": name, "tokens": 1}
    about.pop("inputs", None)
    specs = input_specs({**about, "inputs": fed[name]} if name in fed else about)
    return make_inputs(specs, request["seed"])


def _eager(method: Method, inputs: list[Any]) -> list[Any]:
    """Return what a program of the model gives: the inputs that it writes to, then its outputs."""
    import torch

    versions = [getattr(each, "_version", None) for each in inputs]
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(method.module(*inputs))
    written = [
        each
        for each, version in zip(inputs, versions, strict=True)
        if getattr(each, "_version", None) != version
    ]
    return [*written, *outputs]


def _executed(name: str, path: Path, inputs: list[Any]) -> Sequence[Any]:
    extension = load_extension()
    program, keep_alive = load_program(extension, path, "mmap")
    loaded = load_method(extension, program, name, path)
    loaded.set_inputs(inputs)
    loaded.execute()
    outputs: Sequence[Any] = loaded.get_outputs(True)
    del loaded, program, keep_alive
    return outputs


def _weights(methods: Mapping[str, Method], path: Path) -> dict[str, float]:
    from et_worker.constants import compare_weights

    program = read_program(path)
    errors: dict[str, float] = {}
    lacking, wrong = [], []
    for method, made in methods.items():
        sources = {
            name: (weight.ggml_type, weight.raw.numpy())
            for name, weight in made.module.named_parameters()
            if hasattr(weight, "ggml_type")
        }
        found = compare_weights(path, program, method, sources)
        errors |= {f"{method}/{name}": error for name, error in found.errors.items()}
        lacking += [f"{method}/{name} is absent" for name in found.absent]
        wrong += [
            f"{method}/{name} is {found.errors[name]:.2g} off{_why(found.zeroed.get(name, 0))}"
            for name in found.wrong
        ]
    if lacking or wrong:
        raise ProgramError(f"weights differ from their source: {', '.join(lacking + wrong)}")
    if not errors:
        raise UnsupportedError("nothing to compare: MLX programs run on Apple silicon only")
    return errors


def _why(zeroed: int) -> str:
    if not zeroed:
        return ""
    return f" ({zeroed} group{'s' if zeroed > 1 else ''} of scale 0 became zeros)"
