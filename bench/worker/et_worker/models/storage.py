"""In which dtype weights are stored, and in which they compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn


class StoredLinear(nn.Linear):  # type: ignore[misc]
    """A linear layer stored in one dtype and computed in float32."""

    def forward(self, x: Tensor) -> Tensor:
        """As ``nn.Linear``; ``x`` is float32."""
        return F.linear(x, self.weight.float(), self.bias)


class StoredEmbedding(nn.Embedding):  # type: ignore[misc]
    """An embedding stored in one dtype and read as float32."""

    def forward(self, indices: Tensor) -> Tensor:
        """As ``nn.Embedding``, returning float32."""
        return F.embedding(indices, self.weight).float()


def store_weights(model: nn.Module, stored: torch.dtype, computed: torch.dtype) -> None:
    """Store the large weights in ``stored`` and let the arithmetic be in ``computed``, in place.

    When the two differ (only ``computed`` = float32), linears and embeddings cast as they
    compute; convolutions are stored as they compute, as backends want their weights constant.
    Everything else, norms among it, is left as it is.

    Raises:
        ValueError: the two differ and ``computed`` is not float32.

    """
    if stored != computed and computed != torch.float32:
        raise ValueError(f"cannot store {stored} and compute {computed}: only float32 is cast to")
    cast = stored != computed

    def convert(layer: nn.Module) -> nn.Module | None:
        # openai's Linear and Conv1d cast their weights at every call; torch's own do not.
        if isinstance(layer, nn.Linear):
            linear = (StoredLinear if cast else nn.Linear)(
                layer.in_features, layer.out_features, layer.bias is not None, device="meta"
            )
            linear.weight = frozen(layer.weight, stored)
            if layer.bias is not None:
                linear.bias = frozen(layer.bias, computed)
            return linear
        if isinstance(layer, nn.Embedding):
            embedding = (StoredEmbedding if cast else nn.Embedding)(
                layer.num_embeddings, layer.embedding_dim, device="meta"
            )
            embedding.weight = frozen(layer.weight, stored)
            return embedding
        if isinstance(layer, nn.Conv1d):
            return _plain_conv(layer, computed)
        return None

    _replace_layers(model, convert)


def _plain_conv(layer: nn.Conv1d, dtype: torch.dtype) -> nn.Conv1d:
    conv = nn.Conv1d(
        layer.in_channels,
        layer.out_channels,
        layer.kernel_size,
        stride=layer.stride,
        padding=layer.padding,
        device="meta",
    )
    conv.weight = frozen(layer.weight, dtype)
    conv.bias = frozen(layer.bias, dtype)
    return conv


def frozen(weight: Tensor, dtype: torch.dtype) -> nn.Parameter:
    """Return the weight as a parameter of ``dtype`` that needs no gradient."""
    return nn.Parameter(weight.detach().to(dtype), requires_grad=False)


def _replace_layers(parent: nn.Module, convert: Callable[[nn.Module], nn.Module | None]) -> None:
    """Put ``convert(layer)`` in the place of every layer below ``parent`` where it is not None."""
    for name, child in parent.named_children():
        new = convert(child)
        if new is None:
            _replace_layers(child, convert)
        else:
            setattr(parent, name, new)
