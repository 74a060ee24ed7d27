"""A GGUF file of the user's: which linears and which embedding it has, read with ``gguf``.

Only the table of its tensors is read here; the worker maps the weights from the same file. The
order of that table says nothing: a file holds a block's tensors as its converter met them, such as
``ffn_down`` first. What is exported is stacked by names and shapes, see :func:`stacked`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.place import expanded

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
KINDS = ("Q4_K", "Q5_K", "Q6_K", "F16", "F32")
_MATRIX = 2
_BLOCK = re.compile(r"blk\.(\d+)\.")


@dataclass(frozen=True)
class Tensor:
    """One matrix of the file.

    Attributes:
        name: as in the file.
        kind: ``q4_k``, ``q5_k``, ``q6_k``, ``f16`` or ``f32``.
        rows: outputs.
        columns: inputs.
        offset: of its data in the file, bytes.

    """

    name: str
    kind: str
    rows: int
    columns: int
    offset: int


@dataclass(frozen=True)
class GgufFile:
    """A file, and what is exported of it.

    Attributes:
        path: absolute.
        tensors: its matrices: the embedding, the linears as :func:`stacked`, and the head where
            the file has its own. Norms and biases are left out.
        sha256: of that table and of the file's size: hashing gigabytes of weights, whose values
            decide no memory, would take longer than an export.

    """

    path: Path
    tensors: tuple[Tensor, ...]
    sha256: str

    @property
    def label(self) -> str:
        """Stands where the name of a model would."""
        return self.path.stem

    @property
    def fields(self) -> dict[str, Any]:
        """What the worker is told of it, beside its place."""
        return {"sha256": self.sha256, "tensors": [asdict(tensor) for tensor in self.tensors]}


def read_gguf(text: str) -> GgufFile:
    """Read a file's table of tensors.

    Raises:
        RequestError: there is no such file, it is none, or it has what can't be exported.

    """
    from gguf import GGUFReader  # a slow import, for one model of many

    path = expanded(text, "gguf").absolute()
    try:
        size = path.stat().st_size
        entries = GGUFReader(path).tensors
    except OSError as error:
        raise RequestError(f"gguf: {text}: {error.strerror}") from None
    except Exception as error:  # the reader raises whatever a broken file leads to
        raise RequestError(
            f"gguf: {text} is no GGUF file ({' '.join(str(error).split())})"
        ) from None
    if EMBEDDING not in [entry.name for entry in entries if len(entry.shape) == _MATRIX]:
        raise RequestError(f"gguf: {text} has no {EMBEDDING}: it is no language model's")
    tensors = []
    for entry in entries:
        if len(entry.shape) > _MATRIX:
            raise RequestError(
                f"gguf: {text}: {entry.name} is {len(entry.shape)}-D, as a mixture's experts are; "
                "only matrices are exported, so most of this model would be left out"
            )
        if len(entry.shape) < _MATRIX:
            continue
        kind = entry.tensor_type.name
        if kind not in KINDS:
            raise RequestError(
                f"gguf: {text}: {entry.name} is {kind}; ExecuTorch exports {', '.join(KINDS)}"
            )
        columns, rows = (int(n) for n in entry.shape)
        tensors.append(Tensor(entry.name, kind.lower(), rows, columns, int(entry.data_offset)))
    try:
        ordered = _ordered(tensors)
    except ValueError as error:
        raise RequestError(f"gguf: {text}: {error}") from None
    table = json.dumps([size, [asdict(tensor) for tensor in ordered]])
    return GgufFile(path, tuple(ordered), hashlib.sha256(table.encode()).hexdigest())


def stacked(linears: Iterable[Tensor], width: int) -> list[Tensor]:
    """Return the linears in an order in which each one's inputs are made before it.

    By block, and within a block by name; one whose inputs are not there yet comes as soon as they
    are. They are best made in its own block, as ``ffn_down``'s are by ``ffn_gate`` and ``ffn_up``.
    Only names and shapes decide: of the same tensors in any order comes the same stack.

    Args:
        linears: all but the embedding and the head.
        width: of the embedding, which every block has.

    Raises:
        ValueError: a linear whose inputs nothing makes.

    """
    found: list[Tensor] = []
    made = {width}
    for _, block in groupby(sorted(linears, key=_place), key=lambda tensor: _place(tensor)[0]):
        waiting, here = list(block), {width}
        while waiting:
            candidates = (each for outs in (here, made) for each in waiting if each.columns in outs)
            ready = next(candidates, None)
            if ready is None:
                raise ValueError(
                    f"{waiting[0].name} takes {waiting[0].columns} inputs, which neither the "
                    "embedding nor a linear before it gives: this is no Llama-like file"
                )
            waiting.remove(ready)
            found.append(ready)
            here.add(ready.rows)
            made.add(ready.rows)
    return found


def _ordered(tensors: Iterable[Tensor]) -> list[Tensor]:
    named = {tensor.name: tensor for tensor in tensors}
    embedding, head = named.pop(EMBEDDING), named.pop(HEAD, None)
    if head and head.columns != embedding.columns:
        raise ValueError(
            f"{HEAD} takes {head.columns} inputs; the embedding's width is {embedding.columns}"
        )
    linears = stacked(named.values(), embedding.columns)
    return [embedding, *linears, *([head] if head else [])]


def _place(tensor: Tensor) -> tuple[int, str]:
    """Return the number of a tensor's block, -1 for one that is in none, and its name."""
    block = _BLOCK.match(tensor.name)
    return int(block[1]) if block else -1, tensor.name
