"""What a method gave: shape, checksum, sanity. Computed outside any phase, without copying."""

from __future__ import annotations

import ctypes
import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from et_worker.failures import OutputError

_SHA_DIGITS = 16


@dataclass(frozen=True)
class OutputSummary:
    """One output: a tensor, or a plain value.

    Attributes:
        dtype: torch's name of it; of a plain value its type's.
        shape: in elements.
        finite: whether every value is.
        mean: of all values; 0 if not finite, or none.
        absmax: largest magnitude; 0 if not finite, or none.

    """

    dtype: str
    shape: list[int]
    finite: bool
    mean: float
    absmax: float


def summarize(outputs: Sequence[Any]) -> tuple[str, list[OutputSummary]]:
    """Return the checksum of all outputs and a summary of each.

    The checksum is the SHA-256 (first 16 hexadecimal digits) over dtype, shape and bytes of each
    tensor, and over the type and value of each plain one. The bare runner makes the same of them
    (``summarize`` in ``bench/native/runner.cpp``).
    """
    import torch

    digest = hashlib.sha256()
    summaries = []
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            digest.update(_plain(output))
            finite = not isinstance(output, float) or math.isfinite(output)
            summaries.append(OutputSummary(type(output).__name__, [], finite, 0.0, 0.0))
            continue
        tensor = output.detach().contiguous()
        dtype = str(tensor.dtype).removeprefix("torch.")
        digest.update(f"{dtype}{list(tensor.shape)}".encode())
        size = tensor.numel() * tensor.element_size()
        digest.update((ctypes.c_char * size).from_address(tensor.data_ptr()))
        # Reductions only, nothing of the tensor's size is made; min and max propagate NaN.
        low, high = map(float, tensor.aminmax()) if size else (0.0, 0.0)
        finite = math.isfinite(low) and math.isfinite(high)
        mean = float(tensor.sum(dtype=torch.float64)) / tensor.numel() if finite and size else 0.0
        summaries.append(
            OutputSummary(
                dtype, list(tensor.shape), finite, mean, max(abs(low), abs(high)) if finite else 0.0
            )
        )
    return digest.hexdigest()[:_SHA_DIGITS], summaries


def _plain(value: Any) -> bytes:
    """Return what stands for a value that is no tensor: of a float its bits, the same anywhere."""
    text = struct.pack("<d", value) if isinstance(value, float) else str(value).encode()
    return type(value).__name__.encode() + text


def check_finite(method: str, outputs: Sequence[Any], summaries: Sequence[OutputSummary]) -> None:
    """Check that there are outputs and that all of their values are finite.

    Args:
        method: its name, for the message.
        outputs: of one execution.
        summaries: of the same.

    Raises:
        OutputError: naming the first output that fails.

    """
    if not outputs:
        raise OutputError(f"{method} returned nothing")
    for index, (output, summary) in enumerate(zip(outputs, summaries, strict=True)):
        if not summary.finite:
            if isinstance(output, float):
                raise OutputError(f"{method} output {index} is {output}")
            bad = output.numel() - int(output.isfinite().sum())
            raise OutputError(
                f"{method} output {index}: {bad} of {output.numel()} values are not finite"
            )
