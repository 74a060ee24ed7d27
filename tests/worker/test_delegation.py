"""Counting over stand-ins for the graphs of torch.fx."""

import operator
from types import SimpleNamespace
from typing import Any

from et_worker.delegation import Delegation, count_delegation


class SymInt:
    """Known by its name, as torch's is."""


class Tensor:
    pass


def op(name: str, namespace: str = "aten", val: Any = None, args: tuple = ()) -> SimpleNamespace:
    target = SimpleNamespace(__name__=name, namespace=namespace)
    return node("call_function", target, Tensor() if val is None else val, args)


def node(kind: str, target: Any, val: Any = None, args: tuple = ()) -> SimpleNamespace:
    return SimpleNamespace(op=kind, target=target, args=args, meta={"val": val})


def graph(*nodes: SimpleNamespace, **attributes: Any) -> SimpleNamespace:
    return SimpleNamespace(graph=SimpleNamespace(nodes=nodes), **attributes)


def lowered(*nodes: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(original_module=SimpleNamespace(graph_module=graph(*nodes)))


def call(attribute: str) -> SimpleNamespace:
    target = SimpleNamespace(__name__="executorch_call_delegate", namespace="higher_order")
    return node("call_function", target, (Tensor(),), (SimpleNamespace(target=attribute),))


GETITEM = node("call_function", operator.getitem, Tensor())


def test_the_three_counts_and_the_names() -> None:
    outer = graph(
        node("placeholder", "x"),
        node("get_attr", "lowered_module_0"),
        call("lowered_module_0"),
        GETITEM,
        op("native_layer_norm.default"),
        GETITEM,
        op("aten.add.Tensor"),  # an edge operator's name has the namespace already
        op("add.Tensor"),  # an ATen operator's has not
        call("lowered_module_1"),
        node("output", "output"),
        lowered_module_0=lowered(node("placeholder", "x"), op("addmm.default"), GETITEM),
        lowered_module_1=lowered(op("mul.Tensor"), op("mul.Tensor"), node("output", "output")),
    )
    counted = count_delegation(outer)
    assert counted == Delegation(
        delegates=2,
        delegated_nodes=3,
        undelegated_nodes=3,
        undelegated_ops={"aten.add.Tensor": 2, "aten.native_layer_norm.default": 1},
    )
    assert list(counted.undelegated_ops) == ["aten.add.Tensor", "aten.native_layer_norm.default"]


def test_sizes_are_no_work() -> None:
    outer = graph(
        op("sym_size.int", val=SymInt()),
        node("call_function", operator.sub, SymInt()),
        node("call_function", operator.le, True),
    )
    assert count_delegation(outer) == Delegation(0, 0, 0)


def test_an_operator_without_metadata_counts() -> None:
    assert count_delegation(graph(node("call_function", SimpleNamespace(__name__="copy_")))) == (
        Delegation(0, 0, 1, {"copy_": 1})
    )
