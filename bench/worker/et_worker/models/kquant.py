"""A decoder-like stack of linears whose weights are GGUF k-quants; one method, ``forward``.

Tokens are embedded, pass ``layers`` square linears (each behind a norm, with a residual), and the
head is the embedding's own weight once more: one weight, two users. It is no language model: there
is no attention, as the question is what quantised weights cost an export. The weights are
random blocks in the formats' real bytes, held by ExecuTorch's own ``ExportableGGUFTensor``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn

from et_worker.failures import UnsupportedError
from et_worker.models import Method
from et_worker.models.kquant_blocks import fill_random, row_bytes

try:
    from executorch.extension.llm.export.gguf import ExportableGGUFTensor
except ImportError as error:
    if not (error.name or "").startswith("executorch"):
        raise
    raise UnsupportedError("this ExecuTorch has no GGUF k-quant weights (1.4 and later)") from error
try:  # imported for what it registers: how MLX lowers these weights
    import executorch.backends.mlx.custom_kernel_ops.gguf.patterns  # noqa: F401
except ImportError as error:
    if not (error.name or "").startswith("executorch"):
        raise
    raise UnsupportedError(f"MLX's exporter of GGUF weights lacks {error.name}") from error


class Stack(nn.Module):  # type: ignore[misc]
    """Embedding, linears, and the embedding again as the head."""

    def __init__(self, embedding: nn.Parameter, linears: list[nn.Linear]) -> None:
        super().__init__()
        self.embedding = embedding
        self.linears = nn.ModuleList(linears)
        width, dtype = embedding.shape[1], embedding.dtype
        self.norms = nn.ModuleList(nn.RMSNorm(width, dtype=dtype) for _ in linears)
        self.last_norm = nn.RMSNorm(width, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map i64 ``[1, T]`` to logits ``[1, T, vocab]`` in the compute type."""
        return F.linear(self.hidden(tokens), self.embedding)

    def hidden(self, tokens: Tensor) -> Tensor:
        """Map i64 ``[1, T]`` to what the head gets, ``[1, T, width]``."""
        x = F.embedding(tokens, self.embedding)
        for norm, linear in zip(self.norms, self.linears, strict=True):
            x = x + linear(norm(x))
        return self.last_norm(x)


class Adapted(nn.Module):  # type: ignore[misc]
    """A stack whose head is a weight given as an input, as an adapter is.

    Its number of rows is symbolic: what a backend must answer about it, it must answer without
    knowing the size, and without data to look at.
    """

    def __init__(self, stack: Stack, kind: str) -> None:
        super().__init__()
        self.stack = stack
        self.kind = kind

    def forward(self, tokens: Tensor, blocks: Tensor) -> Tensor:
        """Map i64 ``[1, T]`` and uint8 ``[rows, row_bytes]`` to ``[1, T, rows]``."""
        x = self.stack.hidden(tokens)
        return F.linear(x, torch.ops.torchao.dequantize_gguf(blocks, self.kind, x.dtype))


def build(request: Mapping[str, Any]) -> dict[str, Method]:
    """Return ``forward``, or a method for each of ``parts``; see :class:`et_worker.models.Family`.

    ``request["model"]`` has ``layers``, ``width``, ``vocab``, ``max_sequence`` (the bound of the
    dynamic length, in tokens), ``equal_groups`` (see :func:`fill_random`) and ``adapter_rows``
    (the bound of an adapter's rows; 0: none). ``parts`` has layers, width and vocab by part.
    """
    model, kind = request["model"], request["precision"]["weights"]
    dtype = getattr(torch, request["precision"]["compute"])
    rng = np.random.default_rng(request["seed"])
    parts = model.get("parts") or {"forward": model}
    return {name: _method({**model, **part}, kind, dtype, rng) for name, part in parts.items()}


def _method(
    model: Mapping[str, Any], kind: str, dtype: torch.dtype, rng: np.random.Generator
) -> Method:
    width = model["width"]

    def weight(rows: int) -> nn.Parameter:
        # The memory is torch's own, so that an exporter that lets go of a weight does free it.
        raw = torch.empty(rows, row_bytes(kind, width), dtype=torch.uint8)
        fill_random(raw.numpy(), kind, width**-0.5, rng, model["equal_groups"])
        return held(raw, kind, dtype)

    def linear() -> nn.Linear:
        layer = nn.Linear(width, width, bias=False, device="meta")
        layer.weight = weight(width)
        return layer

    embedding, linears = weight(model["vocab"]), [linear() for _ in range(model["layers"])]
    tokens, sizes = token_inputs(model["max_sequence"])
    rows, shapes = model["adapter_rows"], {"tokens": sizes}
    example: tuple[Tensor, ...] = (tokens,)
    stack: nn.Module = Stack(embedding, linears)
    if rows:
        stack = Adapted(stack, kind)
        shapes["blocks"] = {0: torch.export.Dim("rows", min=2, max=rows)}
        example += (torch.zeros(2, row_bytes(kind, width), dtype=torch.uint8),)
    return Method(stack.eval().requires_grad_(requires_grad=False), example, shapes, kind)


def token_inputs(longest: int) -> tuple[Tensor, dict[int, Any] | None]:
    """Return example tokens, i64 ``[1, T]``, and how T varies: to ``longest``, for 1 not at all."""
    if longest == 1:
        return torch.zeros(1, 1, dtype=torch.int64), None
    return torch.zeros(1, 2, dtype=torch.int64), {1: torch.export.Dim("tokens", min=1, max=longest)}


def held(raw: Tensor, kind: str, dtype: torch.dtype) -> nn.Parameter:
    """Return a weight whose blocks ``raw``, uint8 ``[rows, row_bytes]``, are held as they are.

    Raises:
        UnsupportedError: this ExecuTorch does not have the format.

    """
    try:
        tensor = ExportableGGUFTensor.from_raw(raw, kind, dtype)
    except NotImplementedError as error:
        raise UnsupportedError(f"this ExecuTorch has no {kind} weights: {error}") from error
    return nn.Parameter(tensor, requires_grad=False)
