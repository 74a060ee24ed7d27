"""Is the program that was written the one that was lowered? Read back from the file; no torch.

What makes it wrong is an error; what makes it larger or slower than it need be is a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from et_worker.delegation import Delegation
from et_worker.failures import WorkerError
from et_worker.program_file import Constant, ProgramFile, duplicates, read_program

_NAMED_AT_MOST = 3
_NAME_CHARACTERS = 60  # XNNPACK's keys are SHA-256 digests: 64
_NOTED_BYTES = 1 << 16  # two equal norms of a hidden size are not worth a line


class ProgramError(WorkerError):
    """The file is not what was lowered."""

    kind = "program"


@dataclass(frozen=True)
class Findings:
    """What the guards found in a program.

    Attributes:
        constant_bytes: of all constant data in the file.
        constants: how many pieces of it.
        duplicate_bytes: of them, those that are there once more than needed.
        largest: names and bytes of the largest constants.
        notes: one line each on what costs memory or time without being wrong.
        errors: one line each on what is wrong.

    """

    constant_bytes: int
    constants: int
    duplicate_bytes: int
    largest: dict[str, int]
    notes: list[str]
    errors: list[str]


def inspect_program(
    path: Path, lowered: Mapping[str, Delegation], backend: str, weights: Mapping[int, str]
) -> Findings:
    """Inspect a program after its export.

    Args:
        path: the ``.pte``.
        lowered: what of each method was delegated before the program was written.
        backend: that was asked for.
        weights: names of the source's weights by their bytes, where only one has that size: a
            backend's own keys may be hashes.

    Raises:
        ValueError: the file is no program.

    """
    program = read_program(path)
    again = duplicates(path, program.constants)
    extra = [(group, group[0].size * (len(group) - 1)) for group in again]
    largest = sorted(program.constants, key=lambda constant: -constant.size)[:_NAMED_AT_MOST]
    return Findings(
        constant_bytes=sum(constant.size for constant in program.constants),
        constants=len(program.constants),
        duplicate_bytes=sum(size for _, size in extra),
        largest={_named([constant], weights): constant.size for constant in largest},
        notes=[
            *(_stored_again(group, size, weights) for group, size in extra if size >= _NOTED_BYTES),
            *_not_delegated(lowered, backend),
        ],
        errors=[*_lost_constants(program), *_lost_delegates(program, lowered)],
    )


def check(findings: Findings) -> None:
    """Refuse a wrong program.

    Raises:
        ProgramError: naming what is wrong.

    """
    if findings.errors:
        raise ProgramError("; ".join(findings.errors))


def too_small(
    planned: Mapping[str, Sequence[Sequence[int]]],
    wanted: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[str]:
    """Say which inputs a program will refuse at the largest size that was exported.

    Lowering may narrow the range of a symbolic size by what it compares the example's size with;
    the memory of the input is planned for the narrower range, and a runtime refuses the rest
    (``Error::NotSupported``, 0x10).

    Args:
        planned: the shapes that the program has memory for, by method, in order.
        wanted: ``name`` and ``shape`` of each input at its largest, by method, in order.

    """
    return [
        f"{method}: {spec['name']} is planned for {list(shape)}, not for {list(spec['shape'])}: "
        "larger inputs will be refused"
        for method, specs in wanted.items()
        for shape, spec in zip(planned[method], specs, strict=False)
        if math.prod(shape) < math.prod(spec["shape"])
    ]


def weight_names(modules: Iterable[Any]) -> dict[int, str]:
    """Return the names of weights by their bytes, where no other weight has that size.

    Args:
        modules: the methods' ``torch.nn.Module``; a weight that several share counts once.

    """
    names: dict[int, dict[int, str]] = {}
    for module in modules:
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            size = tensor.numel() * tensor.element_size()
            names.setdefault(size, {}).setdefault(id(tensor), name)
    return {size: next(iter(found.values())) for size, found in names.items() if len(found) == 1}


def _named(constants: list[Constant], weights: Mapping[int, str]) -> str:
    """Return the names of constants of one size, with that of the weight which they must be."""
    names = " and ".join(
        name if len(name) <= _NAME_CHARACTERS else f"{name[:8]}…"
        for name in (constant.name for constant in constants)
    )
    weight = weights.get(constants[0].size)
    return f"{weight} ({names})" if weight and weight not in names else names


def as_event(findings: Findings) -> dict[str, Any]:
    """Return the findings as JSON; the errors have an event of their own."""
    event = asdict(findings)
    del event["errors"]
    return event


def _lost_constants(program: ProgramFile) -> list[str]:
    return [
        f"{method}: the program lacks {_list(missing)}, which its graph refers to"
        for method, missing in program.missing.items()
    ]


def _lost_delegates(program: ProgramFile, lowered: Mapping[str, Delegation]) -> list[str]:
    errors = []
    for method, counts in lowered.items():
        written = program.calls.get(method)
        if written is None:
            errors.append(f"the program lacks the method {method}")
        elif written < counts.delegates:
            errors.append(
                f"{method}: {counts.delegates} delegate calls were lowered, "
                f"{written} are in the program"
            )
        empty = [d.backend for d in program.delegates.get(method, ()) if not d.payload]
        if empty:
            errors.append(f"{method}: the payload of {_list(empty)} is empty")
    return errors


def _not_delegated(lowered: Mapping[str, Delegation], backend: str) -> list[str]:
    """Say what was lost to a backend that takes all or nothing; XNNPACK never takes all."""
    notes = []
    for method, counts in lowered.items():
        if backend == "portable":
            continue
        if not counts.delegates:
            notes.append(f"{method}: nothing was delegated to {backend}")
        elif backend == "mlx" and counts.undelegated_nodes:
            ops = [f"{name} x{count}" for name, count in counts.undelegated_ops.items()]
            notes.append(f"{method}: not delegated to mlx: {_list(ops)}")
    return notes


def _stored_again(group: list[Constant], size: int, weights: Mapping[int, str]) -> str:
    return (
        f"{_named(group, weights)}: the same {group[0].size} bytes are stored "
        f"{len(group)} times, {size} too many"
    )


def _list(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    shown = ", ".join(names[:_NAMED_AT_MOST])
    return f"{shown} and {more} more" if more > 0 else shown
