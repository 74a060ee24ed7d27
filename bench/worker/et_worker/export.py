"""Task ``export``: from a model's description to a ``.pte``, phase by phase."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from et_worker import lowering, memprofile
from et_worker.delegation import count_delegation
from et_worker.events import EventWriter
from et_worker.guards import as_event, check, inspect_program, too_small, weight_names
from et_worker.models import load_family, set_switches
from et_worker.models.largest import largest_inputs
from et_worker.phases import Phases
from et_worker.steps import attribute_steps
from et_worker.versions import versions


def run_export(request: Mapping[str, Any], events: EventWriter, phases: Phases) -> None:
    """Export the request's model to ``request["program"]`` and emit ``baseline`` and ``result``.

    Args:
        request: ``program model precision backend seed``, what the model's family takes besides
            (whisper: ``samples max_tokens``; script and gguf: ``source``), ``steps`` (false:
            lowering's steps are not told apart) and ``memprofile`` (true: MLX's own profile is on).
        events: where to report.
        phases: ``import build [quantize] torch.export lower to_executorch write``.

    Raises:
        Exception: whatever the exporter raises, :class:`et_worker.failures.WorkerError` included.

    """
    precision = request["precision"]
    set_switches(request["model"])
    profiled = request.get("memprofile", False)
    if profiled:
        memprofile.turn_on()
    with phases.phase("import"):
        import torch
        from executorch.exir import ExecutorchBackendConfig

        if precision["quantize"] is not None:
            import torchao.quantization.quant_api  # noqa: F401 - before the baseline
        family = load_family(request["model"]["family"])
        if prepare := getattr(family, "prepare", None):
            prepare(request)
        recipe = lowering.load_lowering(request["backend"]["name"], precision)
    steps = attribute_steps(phases) if request.get("steps", True) else []
    if profiled:
        memprofile.listen(events)
    phases.baseline(threads=torch.get_num_threads())

    with phases.phase("build"):
        methods = family.build(request)
    modules = [method.module for method in methods.values()]
    if precision["quantize"] is not None:
        with phases.phase("quantize"):
            for module in modules:
                lowering.quantize_linears(module, precision["quantize"], precision["group_size"])
    named = {method.stored for method in methods.values() if method.stored}
    stored = "+".join(sorted(named)) or lowering.stored_dtype(modules, precision)
    weights = weight_names(modules)

    with phases.phase("torch.export"), torch.no_grad():
        programs = {
            name: torch.export.export(
                method.module, method.args, dynamic_shapes=method.dynamic_shapes, strict=False
            )
            for name, method in methods.items()
        }
    inputs = fed(request["model"]["family"], programs)
    del methods, modules  # the programs hold the weights from here on

    # `programs` is held meanwhile, as by any script that lowers what it exported. It hides nothing
    # that a revision frees: pull request 21795 releases the delegate's own copies. Measured on a
    # k-quant of 12 x 4096: peaks within 3 MB whether the modules are held too, or not even these.
    with phases.phase("lower"):
        edge = recipe.lower(programs)
    del programs
    delegation = {
        name: count_delegation(edge.exported_program(name).graph_module) for name in edge.methods
    }

    with phases.phase("to_executorch"):
        # Segments are what lets a runtime free a delegate's weights after its initialisation.
        final = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    planned = planned_bytes(final.executorch_program)
    small = too_small(input_shapes(final.executorch_program), inputs)

    program = Path(request["program"])
    with phases.phase("write"):
        write_program(final, program)
    total_s = events.seconds()  # what follows is the instrument's

    findings = inspect_program(program, delegation, request["backend"]["name"], weights)
    others: dict[str, str] = getattr(family, "neighbours", dict)()
    events.emit(
        "result",
        pte_bytes=program.stat().st_size,
        pte_sha256=file_sha256(program),
        planned_bytes=sum(planned.values()),
        methods={
            name: {**asdict(counts), "planned_bytes": planned[name]}
            for name, counts in delegation.items()
        },
        stored_dtype=stored,
        compute_dtype=lowering.compute_dtype(precision),
        baseline_bytes=phases.baseline_bytes,
        peak_bytes=phases.peak_bytes(),
        total_s=total_s,
        inputs=inputs,
        neighbours=others,
        steps=steps,
        program=as_event(replace(findings, notes=[*findings.notes, *small])),
        **versions(),
    )
    check(findings)


def fed(family: str, programs: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return by method what a run feeds it, for families that only their export knows."""
    if family != "script":
        return {}
    return {
        name: [asdict(spec) for spec in largest_inputs(program)]
        for name, program in programs.items()
    }


def planned_bytes(program: Any) -> dict[str, int]:
    """Return the bytes of planned (non-constant) buffers of each method of an exir ``Program``."""
    return {plan.name: sum(plan.non_const_buffer_sizes) for plan in program.execution_plan}


def input_shapes(program: Any) -> dict[str, list[list[int]]]:
    """Return the largest shapes that the inputs of each method of an exir ``Program`` can take."""
    return {
        plan.name: [list(plan.values[number].val.sizes) for number in plan.inputs]
        for plan in program.execution_plan
    }


def write_program(final: Any, path: Path) -> None:
    """Write the program so that ``path`` never holds half of one.

    Args:
        final: an ``ExecutorchProgramManager``.
        path: in an existing folder.

    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            final.write_to_file(file)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
