"""Read a program's flatbuffer without ExecuTorch. Pure.

The numbers below are those of ``schema/program.fbs`` and ``schema/scalar_type.fbs`` in ExecuTorch's
repository: the position of a field in its table, of a table in its union, of a name in its
enumeration. They never change: that is what lets a runtime read older programs.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flatbuffers import number_types
from flatbuffers.table import Table

IDENTIFIER = b"ET12"
_DTYPES = {
    **{0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64"},
    **{5: "float16", 6: "float32", 7: "float64", 11: "bool", 15: "bfloat16"},
}
"""Torch's names of the types that a Python runtime takes."""
_SCALARS = {
    2: ("int", number_types.Int64Flags),
    3: ("bool", number_types.BoolFlags),
    4: ("float", number_types.Float64Flags),
}
_NULL, _TENSOR, _STRING = 1, 5, 6
_STATIC = 0
_KERNEL_CALL, _DELEGATE_CALL = 1, 2
_MOST = 10_000_000
"""Entries of a vector beyond which it is no program that anyone made."""


@dataclass(frozen=True)
class Input:
    """What a method takes or gives at one position: a tensor or, without shape, a plain value."""

    kind: str
    """Of a tensor torch's name of its type; else ``int``, ``float``, ``bool``, ``str``, ``None``.
    What can't be made begins with ``?``."""
    shape: tuple[int, ...] | None = None
    """In elements; dynamic dimensions at their upper bound."""
    dynamic: bool = False
    """Whether smaller sizes are taken too."""
    value: Any = None
    """The plain value that it was exported with: a runtime takes no other."""


@dataclass(frozen=True)
class Method:
    """A method of a program."""

    name: str
    inputs: tuple[Input, ...]
    backends: tuple[str, ...]
    """Ids of the backends it is delegated to, each once."""
    delegates: int
    """Calls into a backend."""
    planned_bytes: int
    """Memory-planned buffers."""
    kernels: Mapping[str, int] = field(default_factory=dict)
    """Kernel calls outside delegates by operator, such as ``aten.add.out``, most frequent first;
    arithmetic on sizes is left out, as in the counts of our own exports."""
    outputs: tuple[Input, ...] = ()
    """What it gives, as of its inputs."""


def parse(data: Any) -> tuple[Method, ...]:
    """Read the methods of a program from its bytes (or a ``mmap`` of them).

    Raises:
        ValueError: if they are no whole program.

    """
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise ValueError(f"no {IDENTIFIER.decode()} at byte 4")
    try:
        root = Table(data, number_types.UOffsetTFlags.packer_type.unpack_from(data, 0)[0])
        methods = tuple(_method(plan) for plan in _Node(root).nodes(1))
    except (struct.error, TypeError, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"it can't be read: {error}") from error
    if not methods:
        raise ValueError("it has no method")
    return methods


class _Node:
    """A table: its fields by position."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def number(self, position: int, flags: Any, default: Any = 0) -> Any:
        return self._table.GetSlot(4 + 2 * position, default, flags)

    def text(self, position: int) -> str:
        at = self._at(position)
        return self._table.String(self._table.Pos + at).decode() if at else ""

    def node(self, position: int) -> _Node:
        at = self._at(position)
        if not at:
            raise ValueError(f"field {position} is missing")
        return _Node(Table(self._table.Bytes, self._table.Indirect(self._table.Pos + at)))

    def nodes(self, position: int) -> list[_Node]:
        return [
            _Node(Table(self._table.Bytes, self._table.Indirect(place)))
            for place in self._places(position, 4)
        ]

    def numbers(self, position: int, flags: Any) -> list[Any]:
        places = self._places(position, flags.bytewidth)
        return [self._table.Get(flags, place) for place in places]

    def _places(self, position: int, width: int) -> range:
        at = self._at(position)
        if not at:
            return range(0)
        length, start = self._table.VectorLen(at), self._table.Vector(at)
        if length > _MOST:
            raise ValueError(f"field {position} has {length} entries")
        return range(start, start + length * width, width)

    def _at(self, position: int) -> int:
        return int(self._table.Offset(4 + 2 * position))


def _method(plan: _Node) -> Method:
    values = plan.nodes(2)
    operators = [
        ".".join(filter(None, (o.text(0).replace("::", "."), o.text(1)))) for o in plan.nodes(6)
    ]
    kernels: Counter[str] = Counter()
    delegates = 0
    for chain in plan.nodes(5):
        for instruction in chain.nodes(2):
            kind = instruction.number(0, number_types.Uint8Flags)
            if kind == _KERNEL_CALL:
                name = operators[instruction.node(1).number(0, number_types.Int32Flags)]
                kernels[name] += not _on_sizes(name)
            delegates += kind == _DELEGATE_CALL
    return Method(
        name=plan.text(0),
        inputs=tuple(_input(values[n]) for n in plan.numbers(3, number_types.Int32Flags)),
        backends=tuple(dict.fromkeys(delegate.text(0) for delegate in plan.nodes(7))),
        delegates=delegates,
        planned_bytes=sum(plan.numbers(8, number_types.Int64Flags)),
        kernels=dict(sorted((+kernels).items(), key=lambda item: (-item[1], item[0]))),
        outputs=tuple(_input(values[n]) for n in plan.numbers(4, number_types.Int32Flags)),
    )


def _on_sizes(operator: str) -> bool:
    prim = operator.startswith("executorch_prim.") and "et_view" not in operator
    return prim or operator.startswith("aten.sym_")


def _input(value: _Node) -> Input:
    kind = value.number(0, number_types.Uint8Flags)
    if kind == _TENSOR:
        tensor = value.node(1)
        scalar_type = tensor.number(0, number_types.Int8Flags)
        return Input(
            _DTYPES.get(scalar_type, f"?scalar type {scalar_type}"),
            tuple(tensor.numbers(2, number_types.Int32Flags)),
            tensor.number(8, number_types.Int8Flags) != _STATIC,
        )
    if kind in _SCALARS:
        name, flags = _SCALARS[kind]
        return Input(name, value=value.node(1).number(0, flags, flags.py_type(0)))
    if kind == _STRING:
        return Input("str", value=value.node(1).text(0))
    return Input("None" if kind == _NULL else f"?value of kind {kind}")
