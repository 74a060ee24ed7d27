"""The linears of a GGUF file behind its embedding, as a stack; one method, ``forward``.

The file's matrices in their own shapes and nothing else of the model: no attention, and norms of
ones. k-quants are held as they are, f16 and f32 in the compute type. The request has them by block
and name, whatever the file's order (``bench/gguf_file.py``). Each linear takes the latest
activation of its width; what is not of the embedding's width is added to the stream as its mean, so
that nothing is dropped as unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn

from et_worker.models import Method
from et_worker.models.kquant import held, token_inputs
from et_worker.models.kquant_blocks import row_bytes

_EMBEDDING, _HEAD = "token_embd.weight", "output.weight"
_FLOATS = {"f16": np.float16, "f32": np.float32}


class Chain(nn.Module):  # type: ignore[misc]
    """Embedding, linears of any shapes, head."""

    def __init__(
        self, embedding: nn.Parameter, head: nn.Parameter | None, linears: list[nn.Linear]
    ) -> None:
        super().__init__()
        # A tied head has no name of its own: the exporter unwraps a weight under its first only.
        self.embedding, self.head = embedding, head
        self.linears = nn.ModuleList(linears)
        width, dtype = embedding.shape[1], embedding.dtype
        self.norm = nn.RMSNorm(width, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map i64 ``[1, T]`` to logits ``[1, T, vocab]`` in the compute type."""
        x = F.embedding(tokens, self.embedding)
        width = x.shape[-1]
        others: dict[int, Tensor] = {}
        for linear in self.linears:
            source = self.norm(x) if linear.in_features == width else others[linear.in_features]
            out = linear(source)
            if linear.out_features == width:
                x = x + out
            else:
                others[linear.out_features] = out
                x = x + out.mean(-1, keepdim=True)
        return F.linear(self.norm(x), self.embedding if self.head is None else self.head)


def build(request: Mapping[str, Any]) -> dict[str, Method]:
    """Return ``forward``; see :class:`et_worker.models.Family`.

    ``request["source"]`` is the file, ``request["model"]["tensors"]`` the table of its matrices, in
    an order in which each linear's inputs are made before it.
    """
    model, compute = request["model"], request["precision"]["compute"]
    dtype = getattr(torch, compute)
    file = np.memmap(request["source"], np.uint8, mode="r")
    entries = {entry["name"]: entry for entry in model["tensors"]}
    embedding = _weight(file, entries[_EMBEDDING], dtype)
    head = _weight(file, entries[_HEAD], dtype) if _HEAD in entries else None
    linears = []
    for name, entry in entries.items():
        if name in (_EMBEDDING, _HEAD):
            continue
        layer = nn.Linear(entry["columns"], entry["rows"], bias=False, device="meta")
        layer.weight = _weight(file, entry, dtype)
        linears.append(layer)
    chain = Chain(embedding, head, linears).eval().requires_grad_(requires_grad=False)
    tokens, sizes = token_inputs(model["max_sequence"])
    kinds = {compute if entry["kind"] in _FLOATS else entry["kind"] for entry in entries.values()}
    return {"forward": Method(chain, (tokens,), {"tokens": sizes}, "+".join(sorted(kinds)))}


def _weight(file: Any, entry: Mapping[str, Any], dtype: torch.dtype) -> nn.Parameter:
    """Copy a weight out of the file, so that an exporter that lets go of it does free it.

    The graph computes in ``dtype``: a weight of another float type is brought into it.
    """
    kind, rows, columns = entry["kind"], entry["rows"], entry["columns"]
    if kind in _FLOATS:
        size = rows * columns * np.dtype(_FLOATS[kind]).itemsize
        data = file[entry["offset"] : entry["offset"] + size].view(_FLOATS[kind])
        values = torch.from_numpy(np.array(data)).reshape(rows, columns)
        return nn.Parameter(values.to(dtype), requires_grad=False)
    width = row_bytes(kind, columns)
    raw = torch.empty(rows, width, dtype=torch.uint8)
    raw.numpy()[:] = file[entry["offset"] : entry["offset"] + rows * width].reshape(rows, width)
    return held(raw, kind, dtype)
