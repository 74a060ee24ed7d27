"""The byte layouts of GGUF's k-quants, and random weights in them. numpy only.

A row of a weight is a string of blocks of 256 weights. As in llama.cpp's ``ggml-common.h``
(``block_q4_K``, ``block_q5_K``, ``block_q6_K``), little-endian:

=====  =====  ==========================================================================
type   bytes  fields
=====  =====  ==========================================================================
q4_k     144  f16 d, f16 dmin, 12 bytes of 6-bit scales and minima, 128 of low nibbles
q5_k     176  the same, with 32 bytes of fifth bits before the nibbles
q6_k     210  128 bytes of low nibbles, 64 of upper bit pairs, 16 int8 scales, f16 d
=====  =====  ==========================================================================

q4_k and q5_k have 8 groups of 32 weights ``d * scale * q - dmin * minimum`` with ``q`` from 0;
q6_k has 16 groups of 16 weights ``d * scale * (q - 32)``. Any bytes are valid quants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_WEIGHTS = 256

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """One format.

    Attributes:
        block_bytes: of 256 weights.
        groups: per block; the weights of a group share a scale.
        deviation: standard deviation of the weights of :func:`fill_random`, in units of ``d``.
        middle: ``dmin / d`` for which their mean is zero; 0 where the format has no minimum.

    """

    block_bytes: int
    groups: int
    deviation: float
    middle: float


# Scales and minima are uniform in 1..63 and 0..63 (6 bits), q uniform; for q6_k scales are
# uniform in 1..127 with either sign. So the variance of scale * q - middle * minimum is
# E[scale^2] E[q^2] - (E[scale] E[q])^2 + middle^2 * 341.25.
LAYOUTS = {
    "q4_k": Layout(144, 8, deviation=258.0, middle=7.5),
    "q5_k": Layout(176, 8, deviation=527.0, middle=15.5),
    "q6_k": Layout(210, 16, deviation=1366.0, middle=0.0),
}


def row_bytes(kind: str, columns: int) -> int:
    """Return the bytes of a row of ``columns`` weights.

    Raises:
        ValueError: an unknown format, or a row that is not whole blocks.

    """
    if kind not in LAYOUTS:
        raise ValueError(f"unknown k-quant {kind!r}; known: {', '.join(LAYOUTS)}")
    if columns < 1 or columns % BLOCK_WEIGHTS:
        raise ValueError(f"{kind}: a row of {columns} weights is no multiple of {BLOCK_WEIGHTS}")
    return columns // BLOCK_WEIGHTS * LAYOUTS[kind].block_bytes


def fill_random(
    out: Bytes, kind: str, deviation: float, rng: np.random.Generator, equal_groups: int = 1
) -> None:
    """Fill ``out`` with valid blocks of random weights of mean about zero.

    Args:
        out: ``[rows, row_bytes]``, contiguous; written in place, so that a caller who owns the
            memory needs no second copy.
        kind: a key of :data:`LAYOUTS`.
        deviation: of the weights; ``d`` is varied by half of itself from block to block.
        rng: where the numbers come from.
        equal_groups: neighbouring groups that share scale and minimum, from 1 (none do). An
            exporter may merge them into one larger group.

    Raises:
        ValueError: ``equal_groups`` does not divide a block's groups.

    """
    layout = LAYOUTS[kind]
    if equal_groups < 1 or layout.groups % equal_groups:
        raise ValueError(f"{kind}: {layout.groups} groups are not runs of {equal_groups} alike")
    blocks = out.reshape(-1, layout.block_bytes)
    blocks[:] = np.frombuffer(rng.bytes(out.size), np.uint8).reshape(blocks.shape)
    count = len(blocks)
    d = deviation / layout.deviation * rng.uniform(0.5, 1.5, count)
    if kind == "q6_k":
        signs = rng.choice(np.array([-1, 1], np.int8), (count, layout.groups // equal_groups))
        sizes = rng.integers(1, 128, signs.shape, dtype=np.int8)
        blocks[:, 192:208] = (signs * sizes).repeat(equal_groups, axis=1).view(np.uint8)
        blocks[:, 208:210] = _half(d)
        return
    shape = (count, layout.groups // equal_groups)
    scales = rng.integers(1, 64, shape, dtype=np.uint8).repeat(equal_groups, axis=1)
    minima = rng.integers(0, 64, shape, dtype=np.uint8).repeat(equal_groups, axis=1)
    blocks[:, 0:2] = _half(d)
    blocks[:, 2:4] = _half(d * layout.middle)
    blocks[:, 4:16] = pack_scales(scales, minima)


def pack_scales(scales: Bytes, minima: Bytes) -> Bytes:
    """Pack 8 scales and 8 minima of 6 bits, ``[blocks, 8]`` each, into ``[blocks, 12]``.

    The first four of each fill the low 6 bits of bytes 0-3 and 4-7; of the last four, the low
    nibbles are in bytes 8-11 and the upper two bits on top of the former.
    """
    first = scales[:, :4] | (scales[:, 4:] >> 4 << 6)
    second = minima[:, :4] | (minima[:, 4:] >> 4 << 6)
    third = (scales[:, 4:] & 15) | ((minima[:, 4:] & 15) << 4)
    return np.concatenate([first, second, third], axis=1)


def _half(values: npt.NDArray[Any]) -> Bytes:
    """``[n]`` numbers as the bytes of little-endian f16, ``[n, 2]``."""
    return values.astype("<f2")[:, None].view(np.uint8)


def dequantise(rows: Bytes, kind: str) -> npt.NDArray[np.float32]:
    """Return the weights of whole rows, ``[rows, row_bytes]`` to ``[rows, columns]``.

    Written here as no release brings llama.cpp's own; the tests hold it against that.
    """
    blocks = rows.reshape(-1, LAYOUTS[kind].block_bytes)
    if kind == "q6_k":
        low = _fields(blocks[:, :128].reshape(-1, 2, 1, 64), 4).reshape(-1, 256)
        high = _fields(blocks[:, 128:192].reshape(-1, 2, 1, 32), 2).reshape(-1, 256)
        groups = (low | high << 4).astype(np.float32).reshape(-1, 16, 16) - 32
        factor = _float(blocks[:, 208:210]) * blocks[:, 192:208].view(np.int8)
        return (factor[:, :, None] * groups).reshape(len(rows), -1)
    quants: Bytes = _fields(blocks[:, -128:].reshape(-1, 4, 1, 32), 4).reshape(-1, 8, 32)
    if kind == "q5_k":
        quants |= _fields(blocks[:, 16:48].reshape(-1, 1, 32), 1) << 4
    scales, minima = _unpack_scales(blocks[:, 4:16])
    scale, minimum = _float(blocks[:, 0:2]) * scales, _float(blocks[:, 2:4]) * minima
    found: npt.NDArray[np.float32] = scale[:, :, None] * quants - minimum[:, :, None]
    return found.reshape(len(rows), -1)


def _fields(packed: Bytes, bits: int) -> Bytes:
    """Split bytes ``[..., 1, n]`` into their fields of ``bits`` bits, ``[..., 8 / bits, n]``."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    found: Bytes = packed >> shifts & np.uint8((1 << bits) - 1)
    return found


def _unpack_scales(packed: Bytes) -> tuple[Bytes, Bytes]:
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    minima = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    return scales, minima


def _float(halves: Bytes) -> npt.NDArray[np.float32]:
    """``[n, 2]`` bytes of little-endian f16 as ``[n, 1]`` numbers."""
    found: npt.NDArray[np.float32] = np.ascontiguousarray(halves).view("<f2").astype(np.float32)
    return found
