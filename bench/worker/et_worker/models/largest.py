"""The inputs of an exported program, every dynamic dimension at its maximum."""

from __future__ import annotations

from typing import Any

from et_worker.failures import UnsupportedError
from et_worker.inputs import InputSpec

_MANY = 1 << 40  # elements: no maximum that anybody meant


def largest_inputs(program: Any) -> list[InputSpec]:
    """Return what to feed a ``torch.export.ExportedProgram``, in the order of its arguments.

    Floating-point values have mean 0 and standard deviation 1. Integers are drawn from 0 to the
    largest of the example, so that an index stays in range; booleans are drawn.

    Raises:
        UnsupportedError: a dimension has no maximum, or an input is no tensor.

    """
    import torch

    bounds = program.range_constraints
    examples = iter(torch.utils._pytree.tree_leaves(program.example_inputs))
    places = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    specs = []
    for name in program.graph_signature.user_inputs:
        example = next(examples)
        if not isinstance(example, torch.Tensor):
            raise UnsupportedError(f"input {name} is no tensor: {type(example).__name__}")
        shape = tuple(_largest(name, size, bounds) for size in places[name].meta["val"].shape)
        dtype = str(example.dtype).removeprefix("torch.")
        if example.is_floating_point():
            specs.append(InputSpec(name, dtype, shape, "spread"))
        else:
            high = int(example.max()) + 1 if example.numel() else 1
            high = 2 if example.dtype == torch.bool else high
            specs.append(InputSpec(name, dtype, shape, "integers", high=max(high, 1)))
    return specs


def _largest(name: str, size: Any, bounds: Any) -> int:
    """Return a size as it is, or a symbolic one with its symbols at their upper bounds."""
    if isinstance(size, int):
        return size
    expression = size.node.expr
    upper = {symbol: bounds[symbol].upper for symbol in expression.free_symbols if symbol in bounds}
    try:
        largest = int(expression.subs(upper))
    except (TypeError, ValueError, OverflowError):
        largest = _MANY
    if largest >= _MANY:
        raise UnsupportedError(
            f"a dimension of input {name} has no maximum: give torch.export.Dim(..., max=...)"
        )
    return largest
