"""Seeded values that every runner makes alike, in whatever language it is written.

Number ``i`` of input ``key`` is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
number generators", OOPSLA 2014) after ``i + 1`` steps from ``key``. ``bench/native/runner.cpp``
has the same few lines in C++: the outputs of two runners are comparable bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_PIECE = 4096
UNIT = math.sqrt(6)
"""Standard deviation 1 for the sum of two uniform numbers less 1, whose variance is 1/6."""


def input_key(seed: int, index: int) -> int:
    """Return the stream of one input of a method: no two inputs share their values."""
    return (seed * 0x10001 + index + 1) * 0x632BE59BD9B4E019 % 2**64


def random_bits(count: int, key: int, start: int = 0) -> npt.NDArray[np.uint64]:
    """Return ``count`` words of 64 random bits, from number ``start`` on."""
    with np.errstate(over="ignore"):  # modulo 2^64 is the point
        z = np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(
            _GOLDEN
        ) + np.uint64(key)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
        return z ^ (z >> np.uint64(31))


def spread(out: npt.NDArray[np.float32], key: int, factor: float) -> None:
    """Fill with numbers of mean 0 and standard deviation ``factor / UNIT``, bounded by ``factor``.

    The sum of the two halves of each word as fractions, less 1, times ``factor``: exact in double
    but for one rounding, and one more to float32, so that any compiler gives the same bits.
    """
    for piece, bits in _pieces(out, key):
        total = (bits >> np.uint64(32)).astype(np.float64)
        total += (bits & np.uint64(0xFFFFFFFF)).astype(np.float64)
        piece[:] = (total * 2.0**-32 - 1.0) * factor


def integers(out: npt.NDArray[np.int64], key: int, high: int) -> None:
    """Fill with integers from 0 to ``high - 1``."""
    for piece, bits in _pieces(out, key):
        piece[:] = bits % np.uint64(high)


def _pieces(out: npt.NDArray[Any], key: int) -> Iterator[tuple[npt.NDArray[Any], Any]]:
    # Small ones: large temporaries would leave the heap larger than what is kept of it, and the
    # baseline with it.
    for start in range(0, len(out), _PIECE):
        piece = out[start : start + _PIECE]
        yield piece, random_bits(len(piece), key, start)
