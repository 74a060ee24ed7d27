"""A GGUF file of the user's: which linears and which embedding it has, read with ``gguf``.

Only the table of its tensors is read here; the worker maps the weights from the same file.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.errors import RequestError

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
KINDS = ("Q4_K", "Q5_K", "Q6_K", "F16", "F32")
_MATRIX = 2


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
        tensors: its matrices, in the file's order; norms and biases are left out.
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

    path = Path(text).expanduser().absolute()
    try:
        size = path.stat().st_size
        entries = GGUFReader(path).tensors
    except OSError as error:
        raise RequestError(f"gguf: {text}: {error.strerror}") from None
    except Exception as error:  # the reader raises whatever a broken file leads to
        raise RequestError(
            f"gguf: {text} is no GGUF file ({' '.join(str(error).split())})"
        ) from None
    tensors = []
    for entry in entries:
        if len(entry.shape) != _MATRIX:
            continue
        kind = entry.tensor_type.name
        if kind not in KINDS:
            raise RequestError(
                f"gguf: {text}: {entry.name} is {kind}; ExecuTorch exports {', '.join(KINDS)}"
            )
        columns, rows = (int(n) for n in entry.shape)
        tensors.append(Tensor(entry.name, kind.lower(), rows, columns, int(entry.data_offset)))
    if EMBEDDING not in [tensor.name for tensor in tensors]:
        raise RequestError(f"gguf: {text} has no {EMBEDDING}: it is no language model's")
    table = json.dumps([size, [asdict(tensor) for tensor in tensors]])
    return GgufFile(path, tuple(tensors), hashlib.sha256(table.encode()).hexdigest())
