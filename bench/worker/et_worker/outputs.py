"""What a method gave: shape, checksum, sanity. Computed outside any phase, without copying."""

from __future__ import annotations

import ctypes
import hashlib
import math
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
    tensor, and over the text of each plain value.
    """
    import torch

    digest = hashlib.sha256()
    summaries = []
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            digest.update(f"{type(output).__name__}{output!r}".encode())
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
            bad = output.numel() - int(output.isfinite().sum())
            raise OutputError(
                f"{method} output {index}: {bad} of {output.numel()} values are not finite"
            )
