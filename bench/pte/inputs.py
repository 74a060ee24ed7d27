"""What a method of a program from elsewhere is fed: sizes by its metadata or as asked. Pure.

Floating-point tensors get normal values by the seed, integers and booleans zeros: a token, an
index or a position that is out of range would end the process, and zero is in every range. Plain
values are those that the program was exported with. None of it says anything about accuracy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.errors import RequestError, choices
from bench.pte.schema import Input, Method
from bench.values import parse_list

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_SIZE = re.compile(r"(?P<method>[^:=]+):(?P<index>\d{1,3})=(?P<shape>\d{1,12}(x\d{1,12})*)")


@dataclass(frozen=True)
class Size:
    """The size asked for of one input."""

    method: str
    index: int
    shape: tuple[int, ...]
    text: str


def parse_sizes(text: str) -> tuple[Size, ...]:
    """Parse what ``inputs=`` says, such as ``encode:0=160000,decode:0=1x8``.

    Raises:
        RequestError: if it says something else, or twice the same.

    """
    sizes: dict[tuple[str, int], Size] = {}
    for word in parse_list("inputs", text):
        match = _SIZE.fullmatch(word)
        if not match:
            raise RequestError(f"inputs: {word!r} is not METHOD:INDEX=SIZE, such as decode:0=1x8")
        key = match["method"], int(match["index"])
        if key in sizes:
            raise RequestError(f"inputs: {key[0]}:{key[1]} is given twice")
        sizes[key] = Size(*key, tuple(map(int, match["shape"].split("x"))), word)
    return tuple(sizes.values())


def specs(method: Method, sizes: Sequence[Size]) -> list[dict[str, Any]] | str:
    """Return what a worker makes the method's inputs from, or why it can't.

    Raises:
        RequestError: if a size asked for does not go with the method.

    """
    asked = {size.index: size for size in sizes if size.method == method.name}
    for index, size in asked.items():
        if index >= len(method.inputs):
            valid = [str(number) for number in range(len(method.inputs))] or ["none"]
            raise choices(f"inputs: index of {method.name}", index, valid)
        _check(method.inputs[index], size)
    for number, each in enumerate(method.inputs):
        if each.kind.startswith("?"):
            return f"input {number} of {method.name} is a {each.kind[1:]}, which can't be made"
    return [_spec(n, each, asked.get(n)) for n, each in enumerate(method.inputs)]


def _check(each: Input, size: Size) -> None:
    if each.shape is None:
        raise RequestError(f"inputs: {size.text}: it is a plain value, no tensor")
    most = "x".join(map(str, each.shape))
    if len(size.shape) != len(each.shape) or (not each.dynamic and size.shape != each.shape):
        kind = "at most" if each.dynamic else "always"
        raise RequestError(f"inputs: {size.text}: its size is {kind} {most or 'that of a scalar'}")
    if any(asked > bound for asked, bound in zip(size.shape, each.shape, strict=True)):
        raise RequestError(f"inputs: {size.text}: its size is at most {most}")


def _spec(number: int, each: Input, size: Size | None) -> dict[str, Any]:
    spec = {"name": str(number), "dtype": each.kind, "shape": []}
    if each.shape is None:
        return {**spec, "fill": "value", "value": each.value}
    shape = list(size.shape if size else each.shape)
    return {**spec, "shape": shape, "fill": "spread" if each.kind in _FLOATS else "zeros"}
