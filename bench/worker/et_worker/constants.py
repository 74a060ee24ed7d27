"""The k-quant weights of an MLX program, read back and compared with their source. numpy only.

MLX's affine quantisation, as ``quantized_matmul`` reads it: ``w = scale * q + bias`` per group,
with q a stream of ``bits`` bits in little-endian order, row by row. Scales and biases are bf16
here, as the graph computes; a format whose zero is in its middle has no biases: they are
``-scale * 2^(bits - 1)``.

What is not rounding: ExecuTorch (1.4.1 and 1.5.1 both, ``extension/llm/export/gguf.py``) carries
the minimum of a Q4_K or Q5_K group as a zero point, ``minimum / scale``. A group whose scale is 0,
all of whose weights are ``-minimum``, has none, and comes out as zeros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from et_worker.models.kquant_blocks import dequantise
from et_worker.program_file import Constant, ProgramFile

Floats = npt.NDArray[np.float32]

# bf16 has 8 bits of precision: scales and biases are off by 2^-9 at the most.
TOLERANCE = 2.0**-7
_ROWS = 256  # at a time
_PACKED = re.compile(r"(?P<stem>.*)_(?P<kind>q[456])k_packed")
# torch's parametrisation, which unwraps a tensor subclass: parametrizations.X.original0 is X.
_UNWRAPPED = re.compile(r"parametrizations\.(\w+)\.original\d")


@dataclass(frozen=True)
class Compared:
    """How near the weights of a program are to their source.

    Attributes:
        errors: root mean square of the difference by weight, over that of the two terms that a
            weight is the sum of: they are what is rounded, and may cancel nearly.
        absent: weights that are in the program in no form that could be read.
        zeroed: groups of a scale of 0 by weight, where there are any: zeros in the program, but
            not in the source.

    """

    errors: dict[str, float]
    absent: list[str]
    zeroed: dict[str, int]

    @property
    def wrong(self) -> list[str]:
        """The weights that are not their source, rounded."""
        return [name for name, error in self.errors.items() if not error <= TOLERANCE]


def compare_weights(
    path: Path, program: ProgramFile, method: str, sources: Mapping[str, tuple[str, Any]]
) -> Compared:
    """Compare the weights of a method with what they were made from.

    Args:
        path: the ``.pte``.
        program: what :func:`et_worker.program_file.read_program` said of it.
        method: its delegates say which constants are its own: others may have the same names,
            behind the digits of a hash (``et_worker.failures``).
        sources: by name a k-quant's kind and its blocks, uint8 ``[rows, row_bytes]``.

    """
    own = {key for delegate in program.delegates.get(method, ()) for key in delegate.keys}
    held = {
        key.partition("/")[2]: constant
        for constant in program.constants
        for key in constant.name.split(" = ")
        if key in own
    }
    packed = {
        _UNWRAPPED.sub(r"\1", match["stem"]): match[0]
        for key in held
        if (match := _PACKED.fullmatch(key))
    }
    raw = {_UNWRAPPED.sub(r"\1", key): constant for key, constant in held.items()}
    data = np.memmap(path, np.uint8, mode="r")
    errors: dict[str, float] = {}
    absent: list[str] = []
    zeroed: dict[str, int] = {}
    for name, (kind, blocks) in sources.items():
        if name in packed:
            errors[name], lost = _error(data, held, packed[name], kind, blocks)
            zeroed |= {name: lost} if lost else {}
        elif name in raw and raw[name].size == blocks.size:  # the blocks as they are
            errors[name] = 0.0 if np.array_equal(_bytes(data, raw[name]), blocks.ravel()) else 1.0
        else:
            absent.append(name)
    return Compared(errors, absent, zeroed)


def unpack(packed: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Return the numbers of ``bits`` bits in ``[rows, bytes]``, as ``[rows, bytes * 8 / bits]``."""
    stream = np.unpackbits(packed, axis=1, bitorder="little")
    digits = stream.reshape(len(packed), -1, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    found: npt.NDArray[np.uint8] = (digits * weights).sum(axis=2, dtype=np.uint8)
    return found


def _error(
    data: Any, held: Mapping[str, Constant], key: str, kind: str, blocks: npt.NDArray[np.uint8]
) -> tuple[float, int]:
    """Return the error of a weight, and how many of its groups are zeros that should be none."""
    stem = key.removesuffix("_packed")
    bits, rows = int(kind[1]), len(blocks)
    packed = _bytes(data, held[key]).reshape(rows, -1)
    scales = _bf16(data, held[f"{stem}_scales"]).reshape(rows, -1)
    biases = next(
        (
            _bf16(data, held[name]).reshape(rows, -1)
            for name in (f"{stem}_to_biases", f"{stem}_biases")
            if name in held
        ),
        None,
    )
    difference = whole = 0.0
    zeroed = 0
    for first in range(0, rows, _ROWS):
        part = slice(first, first + _ROWS)
        source = dequantise(blocks[part], kind)
        numbers = unpack(packed[part], bits).reshape(len(source), scales.shape[1], -1)
        scale = scales[part, :, None]
        bias = -scale * 2 ** (bits - 1) if biases is None else biases[part, :, None]
        product = scale * numbers
        stored = (product + bias).reshape(source.shape)
        empty = ((scale == 0) & (bias == 0))[..., 0]
        zeroed += int((source.reshape(numbers.shape)[empty] != 0).any(axis=-1).sum())
        difference += float(np.square(stored - source, dtype=np.float64).sum())
        whole += float(np.square(np.abs(product) + np.abs(bias), dtype=np.float64).sum())
    error = float(np.sqrt(difference / whole)) if whole else float(difference > 0)
    return error, zeroed


def _bytes(data: Any, constant: Constant) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = data[constant.offset : constant.offset + constant.size]
    return found


def _bf16(data: Any, constant: Constant) -> Floats:
    halves = np.frombuffer(_bytes(data, constant).tobytes(), "<u2").astype(np.uint32)
    return (halves << 16).view(np.float32)
