"""The linears of a GGUF file behind its embedding, as a stack; one method, ``forward``.

The file's matrices in their own types and shapes, in its order, and nothing else of the model: no
attention, and norms of ones. Each linear takes the latest activation of its width; what is not of
the embedding's width is added to the stream as its mean, so that nothing is dropped as unused.
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
from et_worker.models.kquant import held
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

    ``request["source"]`` is the file, ``request["model"]["tensors"]`` its table.

    Raises:
        UnsupportedError: a linear whose inputs no linear before it makes.

    """
    model = request["model"]
    dtype = getattr(torch, request["precision"]["compute"])
    file = np.memmap(request["source"], np.uint8, mode="r")
    entries = {entry["name"]: entry for entry in model["tensors"]}
    embedding = _weight(file, entries[_EMBEDDING], dtype)
    head = _weight(file, entries[_HEAD], dtype) if _HEAD in entries else None
    made, linears = {embedding.shape[1]}, []
    for name, entry in entries.items():
        if name in (_EMBEDDING, _HEAD):
            continue
        if entry["columns"] not in made:
            raise UnsupportedError(
                f"{name} takes {entry['columns']} inputs, which nothing before it gives: "
                "this is no Llama-like file"
            )
        layer = nn.Linear(entry["columns"], entry["rows"], bias=False, device="meta")
        layer.weight = _weight(file, entry, dtype)
        linears.append(layer)
        made.add(entry["rows"])
    chain = Chain(embedding, head, linears).eval().requires_grad_(requires_grad=False)
    length = model["max_sequence"]
    shapes = {"tokens": {1: torch.export.Dim("tokens", min=1, max=length)}}
    kinds = "+".join(sorted({entry["kind"] for entry in entries.values()}))
    return {"forward": Method(chain, (torch.zeros(1, 2, dtype=torch.int64),), shapes, kinds)}


def _weight(file: Any, entry: Mapping[str, Any], dtype: torch.dtype) -> nn.Parameter:
    """Copy a weight out of the file, so that an exporter that lets go of it does free it."""
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
