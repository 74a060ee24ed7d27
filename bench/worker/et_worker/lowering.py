"""The recipe of each backend and precision: quantization, partitioners, passes, what to call it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from et_worker.failures import UnsupportedError

BACKENDS = ("xnnpack", "mlx", "portable")

# torchao's names of what `quantize` may be: (bits, dynamic int8 activations).
SCHEMES = {"8w": (8, False), "4w": (4, False), "8da8w": (8, True), "8da4w": (4, True)}

_QUANTIZED = "qdata"  # what torchao's quantized tensors have and no other has
_STORED_SHARE = 0.1  # a dtype below this share of the stored bytes is not named


@dataclass(frozen=True)
class Lowering:
    """What ``to_edge_transform_and_lower`` is given besides the programs.

    Attributes:
        partitioner: in order of preference; empty: everything stays on portable kernels.
        passes: over the edge graph before partitioning.
        skip_dim_order: leave out ExecuTorch's dim-order operators, which MLX has no handlers for.

    """

    partitioner: list[Any]
    passes: list[Any]
    skip_dim_order: bool

    def lower(self, programs: Mapping[str, Any]) -> Any:
        """Lower exported programs by method name to an ``EdgeProgramManager``."""
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        return to_edge_transform_and_lower(
            dict(programs),
            transform_passes=self.passes or None,
            partitioner=self.partitioner or None,
            compile_config=EdgeCompileConfig(
                _check_ir_validity=False, _skip_dim_order=self.skip_dim_order
            ),
        )


def load_lowering(backend: str, precision: Mapping[str, Any]) -> Lowering:
    """Import the backend's exporter and return the recipe.

    Raises:
        UnsupportedError: this release has no such exporter, or it can't do the precision.
        ValueError: an unknown backend or quantization.

    """
    quantize = precision["quantize"]
    if quantize is not None and quantize not in SCHEMES:
        raise ValueError(f"unknown quantization {quantize!r}; known: {', '.join(SCHEMES)}")
    if backend == "xnnpack":
        return Lowering(_xnnpack_partitioners(precision), [], skip_dim_order=False)
    if backend == "mlx":
        return _mlx_lowering()
    if backend == "portable":
        if quantize is not None:
            raise UnsupportedError("the portable kernels have no quantized linear")
        return Lowering([], [], skip_dim_order=False)
    raise ValueError(f"unknown backend {backend!r}; known: {', '.join(BACKENDS)}")


def quantize_linears(module: Any, scheme: str, group_size: int) -> None:
    """Quantize the weights of every ``nn.Linear`` in ``module``, in place.

    torchao directly, with what ``executorch.extension.llm.export.quantize`` (1.2 and later)
    passes to it: older releases have no such helper.

    Args:
        module: a ``torch.nn.Module``.
        scheme: one of :data:`SCHEMES`.
        group_size: input channels that share a scale; 0: one scale per output channel.

    """
    import torch
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        quantize_,
    )

    bits, dynamic = SCHEMES[scheme]
    dtype = {8: torch.int8, 4: torch.int4}[bits]
    granularity = PerGroup(group_size) if group_size else PerAxis(0)
    algorithm = "hqq_scale_only"
    config = (
        Int8DynamicActivationIntxWeightConfig(
            weight_dtype=dtype,
            weight_granularity=granularity,
            intx_choose_qparams_algorithm=algorithm,
        )
        if dynamic
        else IntxWeightOnlyConfig(
            weight_dtype=dtype,
            granularity=granularity,
            intx_choose_qparams_algorithm=algorithm,
        )
    )

    def is_plain_linear(layer: Any, _name: str) -> bool:
        # A layer that two parents share comes by twice.
        return isinstance(layer, torch.nn.Linear) and not hasattr(layer.weight, _QUANTIZED)

    quantize_(module, config, filter_fn=is_plain_linear)


def stored_dtype(modules: list[Any], precision: Mapping[str, Any]) -> str:
    """Name what the weights are stored in, most bytes first: ``bfloat16``, ``int8+float32``.

    Counted over parameters and buffers, each once; a dtype with less than a tenth of the bytes is
    left out (norms, the mel basis). Quantized linears count as their bits, whatever the container,
    and are always named: in a small model the embedding outweighs them ten to one.
    """
    tensors = {
        id(tensor): tensor
        for module in modules
        for tensor in (*module.parameters(), *module.buffers())
    }
    sizes: Counter[str] = Counter()
    quantized: str | None = None
    for tensor in tensors.values():
        if hasattr(tensor, _QUANTIZED):
            bits, _ = SCHEMES[precision["quantize"]]
            quantized = f"int{bits}"
            sizes[quantized] += tensor.numel() * bits // 8
        else:
            sizes[str(tensor.dtype).removeprefix("torch.")] += (
                tensor.numel() * tensor.element_size()
            )
    least = sum(sizes.values()) * _STORED_SHARE
    return "+".join(
        name for name, size in sizes.most_common() if size >= least or name == quantized
    )


def compute_dtype(precision: Mapping[str, Any]) -> str:
    """Name what the linears compute in: a dtype, or ``int8-dynamic``.

    ``int8-dynamic``: activations quantized to int8 at run time, integer products; the rest of
    the graph computes in ``precision["compute"]``.
    """
    quantize = precision["quantize"]
    if quantize is not None and SCHEMES[quantize][1]:
        return f"int8-dynamic+{precision['compute']}"
    return str(precision["compute"])


def _xnnpack_partitioners(precision: Mapping[str, Any]) -> list[Any]:
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS
    from executorch.backends.xnnpack.partition.config.gemm_configs import LinearConfig
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )

    if precision["quantize"] is not None:
        return [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    if precision["weights"] == precision["compute"]:
        return [XnnpackPartitioner()]

    class CastLinearConfig(LinearConfig):  # type: ignore[misc]
        """Takes linears whose float32 weight is computed, here by a cast, not constant."""

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**{**kwargs, "force_non_static_weights_for_f32_linear": True})

    # Only linears: on a convolution the flag loses the bias and the program does not load. And one
    # partitioner: of two, the last one's decompositions win, and linears become addmm.
    configs = [
        CastLinearConfig if config is LinearConfig else config for config in ALL_PARTITIONER_CONFIGS
    ]
    return [XnnpackPartitioner(configs=configs)]


def _mlx_lowering() -> Lowering:
    try:
        from executorch.backends.mlx import MLXPartitioner
        from executorch.backends.mlx.passes import get_default_passes
    except ImportError as error:
        missing = error.name or ""
        if missing.startswith("executorch.backends.mlx."):
            raise UnsupportedError(
                f"MLX's exporter lacks {missing}: generate its schema files "
                "(backends/mlx/serialization/generate.py)"
            ) from error
        if missing == "executorch.backends.mlx":
            raise UnsupportedError("this ExecuTorch has no MLX exporter (1.3 and later)") from error
        raise
    return Lowering([MLXPartitioner()], get_default_passes(), skip_dim_order=True)
