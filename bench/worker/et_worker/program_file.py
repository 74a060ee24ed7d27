"""What a ``.pte`` holds: its methods, its delegates, its constants. No torch, little memory.

Layout (``schema/extended_header.cpp``, ``schema/program.fbs`` of ExecuTorch)::

    u32 root offset, "ET" and two digits | "eh00", u32 length, u64 program size, u64 segment base
    FlatBuffer ``Program`` | segments: constants, delegates' payloads, named data

Only the ``Program`` and the delegates' graphs are held; constants are read in pieces and hashed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from et_worker.flatbuffer import Table

# Fields of the tables of program.fbs, by number.
_PLANS, _INLINE, _SEGMENTS, _CONSTANTS, _NAMED = 1, 3, 4, 5, 7
_PLAN_NAME, _PLAN_VALUES, _PLAN_CHAINS, _PLAN_DELEGATES = 0, 2, 5, 7
_TENSOR, _DELEGATE_CALL = 5, 2  # of the unions KernelTypes and InstructionArguments

_PIECE = 1 << 20


@dataclass(frozen=True)
class Constant:
    """One piece of constant data in the file.

    Attributes:
        name: its named-data keys, joined with `` = `` where several share the data; for one that
            has none (a portable kernel's), its number and shape.
        offset: in the file.
        size: in bytes.

    """

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Delegate:
    """One delegate of a method.

    Attributes:
        backend: the id of its backend, such as ``XnnpackBackend``.
        payload: its graph, without any constants that follow it.
        keys: of the named data that it refers to.
        missing: those of them that the file lacks.

    """

    backend: str
    payload: bytes = field(repr=False)
    keys: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramFile:
    """A program as it was written.

    Attributes:
        calls: delegate calls per method.
        delegates: the delegates of each method.
        constants: all constant data, each once, named data first.
        missing: names of the constants that a method's graph refers to and the file lacks.

    """

    calls: dict[str, int]
    delegates: dict[str, list[Delegate]]
    constants: list[Constant]
    missing: dict[str, list[str]]


def read_program(path: Path) -> ProgramFile:
    """Read a program's structure.

    Raises:
        ValueError: the file is no program, or a broken one.

    """
    with path.open("rb") as file:
        program, base = _read_head(file)
        segments = _segments(program, base, path.stat().st_size)
        named = _named_data(program, segments)
        plain, shapes = _plain_constants(program, segments), {}
        calls, delegates, missing = {}, {}, {}
        for plan in program.tables(_PLANS):
            name = plan.string(_PLAN_NAME)
            calls[name] = _delegate_calls(plan)
            inline = program.tables(_INLINE)
            delegates[name] = [
                _delegate(each, file, segments, inline, named)
                for each in plan.tables(_PLAN_DELEGATES)
            ]
            lost = [key for delegate in delegates[name] for key in delegate.missing]
            for number, shape in _tensor_constants(plan):
                shapes[number] = shape
                if number >= len(plain):
                    lost.append(f"constant {number} {shape}")
            if lost:
                missing[name] = lost
    keys: dict[tuple[int, int], list[str]] = {}
    for key, place in named.items():
        keys.setdefault(place, []).append(key)
    constants = [Constant(" = ".join(names), *place) for place, names in keys.items()]
    constants += [
        Constant(f"constant {number} {shapes.get(number, '')}".strip(), *place)
        for number, place in enumerate(plain)
        if place[1]
    ]
    return ProgramFile(calls, delegates, constants, missing)


def duplicates(path: Path, constants: list[Constant]) -> list[list[Constant]]:
    """Return the groups of constants whose bytes are stored more than once, largest first."""
    sizes: dict[int, list[Constant]] = {}
    for constant in constants:
        sizes.setdefault(constant.size, []).append(constant)
    groups: dict[tuple[int, bytes], list[Constant]] = {}
    with path.open("rb") as file:
        for size, alike in sizes.items():
            if len(alike) > 1 and size:  # others need not be read
                for constant in alike:
                    groups.setdefault((size, _hash(file, constant)), []).append(constant)
    found = [group for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: -group[0].size * (len(group) - 1))


def _read_head(file: BinaryIO) -> tuple[Table, int]:
    head = file.read(32)
    if len(head) < 8 or head[4:6] != b"ET":
        raise ValueError(f"{file.name} is no program: no ET identifier")
    size, base = -1, 0
    if head[8:12] == b"eh00":
        size, base = struct.unpack_from("<QQ", head, 16)
    file.seek(0)
    return Table.root(file.read(size)), base


def _segments(program: Table, base: int, end: int) -> list[tuple[int, int]]:
    """Return offset and size of each segment; one that is cut off by the file's end has none."""
    spans = [
        (base + each.scalar(0, "Q"), each.scalar(1, "Q")) for each in program.tables(_SEGMENTS)
    ]
    return [(start, size if start + size <= end else 0) for start, size in spans]


def _named_data(program: Table, segments: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    found = {}
    for entry in program.tables(_NAMED):
        number = entry.scalar(1, "I")
        if number < len(segments) and segments[number][1]:
            found[entry.string(0)] = segments[number]
    return found


def _plain_constants(program: Table, segments: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return offset and size of each constant of the constants' own segment; number 0 is none."""
    table = program.table(_CONSTANTS)
    offsets = table.scalars(1, "Q") if table else []
    if table is None or not offsets:
        return []
    start, size = segments[table.scalar(0, "I")]
    if not size:
        return []
    ends = [*offsets[1:], size]
    spans = [(start + at, end - at) for at, end in zip(offsets, ends, strict=True)]
    return [(start, 0), *spans[1:]]


def _delegate_calls(plan: Table) -> int:
    return sum(
        instruction.scalar(0, "B") == _DELEGATE_CALL
        for chain in plan.tables(_PLAN_CHAINS)
        for instruction in chain.tables(2)
    )


def _tensor_constants(plan: Table) -> Iterator[tuple[int, list[int]]]:
    """Yield number and shape of the constants that a method's own tensors are."""
    for value in plan.tables(_PLAN_VALUES):
        tensor = value.table(1) if value.scalar(0, "B") == _TENSOR else None
        if tensor is None or tensor.table(6) is not None:  # planned: no constant
            continue
        extra = tensor.table(9)
        number = tensor.scalar(5, "I")
        if number and not (extra and extra.scalar(2, "B")):  # else external, in a file of its own
            yield number, tensor.scalars(2, "i")


def _delegate(
    entry: Table,
    file: BinaryIO,
    segments: list[tuple[int, int]],
    inline: list[Table],
    named: dict[str, tuple[int, int]],
) -> Delegate:
    backend, reference = entry.string(0), entry.table(1)
    number = reference.scalar(1, "I") if reference else 0
    if reference is not None and reference.scalar(0, "b"):
        offset, size = segments[number]
        file.seek(offset)
        payload = _graph(file, size)
    else:
        payload = bytes(inline[number].scalars(0, "B")) if number < len(inline) else b""
    keys = tuple(_references(payload))
    return Delegate(backend, payload, keys, tuple(key for key in keys if key not in named))


def _graph(file: BinaryIO, size: int) -> bytes:
    """Read a payload up to the constants that XNNPACK may put behind its graph."""
    head = file.read(min(size, 32))
    end = size
    if head[4:8] == b"XH00":
        end = sum(struct.unpack_from("<II", head, 10))
    return head + file.read(max(end - len(head), 0))


def _references(payload: bytes) -> list[str]:
    """Return the named data that a delegate's graph refers to.

    MLX (``backends/mlx/serialization/schema.fbs``): the named slots that are no mutable buffers.
    XNNPACK (``backends/xnnpack/serialization/schema.fbs``): the keys of its constants. Of other
    backends nothing is known.
    """
    if payload[4:8] == b"MLX0":
        graph = Table.root(payload[24:])
        constants = graph.scalar(1, "I")  # constants have the first ids
        slots = [(each.string(0), each.table(1)) for each in graph.tables(13)]
        return [name for name, slot in slots if slot and slot.scalar(0, "I") < constants]
    if payload[4:8] == b"XH00":
        offset, size = struct.unpack_from("<II", payload, 10)
        graph = Table.root(payload[offset : offset + size])
        return [key for each in graph.tables(8) if (key := each.string(2))]
    return []


def _hash(file: BinaryIO, constant: Constant) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    file.seek(constant.offset)
    left = constant.size
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        digest.update(piece)
        left -= len(piece)
    return digest.digest()
