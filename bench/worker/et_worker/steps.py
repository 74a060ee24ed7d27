"""The delegate's own steps inside lowering, timed from the outside.

What exists at a revision is wrapped in place; what a revision lacks is left out, and nothing is
imported for the sake of it: an export must read the same files with and without.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from et_worker.phases import Phases

_MLX, _XNNPACK, _EXIR = (
    "executorch.backends.mlx",
    "executorch.backends.xnnpack",
    "executorch.exir",
)


@dataclass(frozen=True)
class Hook:
    """A function that is a step.

    Attributes:
        step: its name in ``phases.csv``, behind the phase's.
        module: where it is defined or, for a plain function, called from.
        path: of the attribute in the module: ``Class.method`` or ``function``.

    """

    step: str
    module: str
    path: str


HOOKS = (
    # The question "would you lower this node?", which before pull request 21795 repacked weights.
    Hook(
        "support_check", f"{_MLX}.builder.program_builder", "MLXProgramBuilder.check_support_only"
    ),
    Hook(
        "support_check",
        f"{_XNNPACK}.partition.xnnpack_partitioner",
        "XnnpackPartitioner.generate_partitions",
    ),
    Hook("not_decompose", f"{_MLX}.partitioner", "MLXPartitioner.ops_to_not_decompose"),
    Hook(
        "not_decompose",
        f"{_EXIR}.backend.canonical_partitioners.config_partitioner",
        "ConfigerationBasedPartitioner.ops_to_not_decompose",
    ),
    Hook("partition", f"{_MLX}.partitioner", "MLXPartitioner.partition"),
    Hook("partition", f"{_XNNPACK}.partition.xnnpack_partitioner", "XnnpackPartitioner.partition"),
    Hook("preprocess", f"{_MLX}.preprocess", "MLXBackend.preprocess"),
    Hook("preprocess", f"{_XNNPACK}.xnnpack_preprocess", "XnnpackBackend.preprocess"),
    Hook("build", f"{_MLX}.builder.program_builder", "MLXProgramBuilder.build"),
    Hook("named_data", f"{_MLX}.builder.program_builder", "MLXProgramBuilder.get_named_data_store"),
    Hook("serialize", f"{_MLX}.preprocess", "serialize_mlx_graph"),
    Hook("serialize", f"{_XNNPACK}.xnnpack_preprocess", "serialize_xnnpack_binary"),
    # One call per weight and repacking.
    Hook(
        "repack",
        "executorch.extension.llm.export.gguf",
        "ExportableGGUFTensor.to_intx_unpacked_to_int8_tensor",
    ),
)


def attribute_steps(phases: Phases, hooks: tuple[Hook, ...] = HOOKS) -> list[str]:
    """Wrap every hook whose module is loaded and has it; return the steps that are attributed."""
    found = []
    for hook in hooks:
        with suppress(AttributeError, TypeError):  # not at this revision, or not to be wrapped
            module = sys.modules.get(hook.module)
            if module is not None:
                _wrap(module, hook, phases)
                found.append(hook.step)
    return sorted(set(found))


def _wrap(module: Any, hook: Hook, phases: Phases) -> None:
    *owners, name = hook.path.split(".")
    owner = functools.reduce(getattr, owners, module)
    held = inspect.getattr_static(owner, name)
    kind = type(held) if isinstance(held, staticmethod | classmethod) else None
    function: Callable[..., Any] = held.__func__ if kind else held
    if not callable(function):
        raise TypeError(f"{hook.path} is no function")

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        with phases.step(hook.step):
            return function(*args, **kwargs)

    setattr(owner, name, kind(timed) if kind else timed)
