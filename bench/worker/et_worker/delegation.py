"""What of a lowered method is delegated, counted by walking its graph. No torch needed.

ExecuTorch has a helper of its own (``devtools.backend_debug``), whose definition has changed
between releases; counted here, the numbers mean the same at every revision:

* a *delegate* is a call of ``executorch_call_delegate``;
* a *delegated node* is an operator call inside a delegate's original module;
* an *undelegated node* is any other operator call on tensors, run by a portable or optimised
  kernel. Picking one of several outputs and arithmetic on symbolic sizes is neither.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_SCALARS = (bool, int, float)
_SYMBOLIC = frozenset({"SymInt", "SymFloat", "SymBool"})  # by name: no torch here


@dataclass(frozen=True)
class Delegation:
    """The counts of one method.

    Attributes:
        delegates: calls into a backend.
        delegated_nodes: operator calls inside them.
        undelegated_nodes: operator calls outside.
        undelegated_ops: the latter by operator, most frequent first.

    """

    delegates: int
    delegated_nodes: int
    undelegated_nodes: int
    undelegated_ops: dict[str, int] = field(default_factory=dict)


def count_delegation(graph_module: Any) -> Delegation:
    """Count the nodes of a lowered method's ``torch.fx.GraphModule``."""
    delegates = delegated = 0
    undelegated: Counter[str] = Counter()
    for node in graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        name = _name(node.target)
        if name.endswith("executorch_call_delegate"):
            delegates += 1
            lowered = getattr(graph_module, node.args[0].target)
            inner = lowered.original_module.graph_module.graph.nodes
            delegated += sum(1 for each in inner if _is_operator(each))
        elif _is_operator(node):
            undelegated[name] += 1
    ops = dict(sorted(undelegated.items(), key=lambda item: (-item[1], item[0])))
    return Delegation(delegates, delegated, sum(ops.values()), ops)


def _is_operator(node: Any) -> bool:
    if node.op != "call_function" or _name(node.target) == "getitem":
        return False
    value = node.meta.get("val")
    return not (isinstance(value, _SCALARS) or type(value).__name__ in _SYMBOLIC)


def _name(target: Any) -> str:
    """Return ``aten.add.Tensor`` for an ATen or an edge operator, ``getitem`` for Python's own."""
    name = getattr(target, "__name__", str(target))
    namespace = getattr(target, "namespace", "")
    return name if not namespace or name.startswith(f"{namespace}.") else f"{namespace}.{name}"
