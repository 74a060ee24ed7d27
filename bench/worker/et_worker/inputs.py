"""What a method is fed: shapes by request, values by seed. No torch at import."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from et_worker.failures import UnsupportedError

FILLS = ("spread", "integers", "range", "zeros", "value")
WHISPER_MIN_SAMPLES = 401  # torch.stft's reflection needs more than half a window; whisper, one

# int64_t, double and bool, in the memory of any machine that runs this.
_SCALARS = {int: "<q", float: "<d", bool: "<?"}


@dataclass(frozen=True)
class InputSpec:
    """One input: a tensor, or a plain value.

    Attributes:
        name: of the method's argument.
        dtype: a torch dtype's name; of a plain value its type's.
        shape: in elements.
        fill: ``spread`` (mean 0, standard deviation ``scale``), ``integers`` (uniform in
            ``[0, high)``), ``range`` (0, 1, 2, ...), ``zeros``, or ``value`` (no tensor).
        scale: of ``spread``.
        high: of ``integers``.
        value: of ``value``.

    Raises:
        ValueError: an unknown fill: what would be fed instead measures another thing.

    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    fill: str = "spread"
    scale: float = 1.0
    high: int = 0
    value: Any = None

    def __post_init__(self) -> None:
        if self.fill not in FILLS:
            raise ValueError(
                f"unknown fill {self.fill!r} of {self.name}; known: {', '.join(FILLS)}"
            )


def input_specs(request: Mapping[str, Any]) -> list[InputSpec]:
    """Return the inputs of the request's method, in the order of its arguments.

    They are those of the request, where it names a program from elsewhere; else the family's.

    Raises:
        ValueError: an unknown family or method, or a size it can't take.

    """
    if "inputs" in request:
        return [InputSpec(**{**each, "shape": tuple(each["shape"])}) for each in request["inputs"]]
    model, method = request["model"], request["method"]
    if model["family"] != "whisper":
        raise ValueError(f"unknown model family {model['family']!r}")
    if method == "encode":
        samples = request["samples"]
        if samples < WHISPER_MIN_SAMPLES:
            raise ValueError(f"whisper needs at least {WHISPER_MIN_SAMPLES} samples: {samples}")
        # A tenth of full scale: about what speech is, and all that matters is that it is no zero.
        return [InputSpec("waveform", "float32", (samples,), "spread", scale=0.1)]
    if method == "decode":
        tokens = request["tokens"]
        if tokens < 1:
            raise ValueError(f"decode needs at least one token: {tokens}")
        encoded = (1, model["n_audio_ctx"], model["n_audio_state"])
        return [
            InputSpec("tokens", "int64", (1, tokens), "integers", high=model["n_vocab"]),
            InputSpec("positions", "int64", (tokens,), "range"),
            # The encoder ends in a layer norm: unit variance is what it gives.
            InputSpec("encoded", "float32", encoded, "spread"),
        ]
    raise ValueError(f"unknown method {method!r} of whisper; known: encode, decode")


def make_inputs(specs: list[InputSpec], seed: int) -> list[Any]:
    """Return the inputs; the same seed gives the same values, whatever runs the program."""
    import torch

    from et_worker import values

    made: list[Any] = []
    for index, spec in enumerate(specs):
        count, key = math.prod(spec.shape), values.input_key(seed, index)
        if spec.fill == "value":
            made.append(spec.value)
            continue
        if spec.fill == "spread":
            flat = torch.empty(count)
            values.spread(flat.numpy(), key, spec.scale * values.UNIT)
        elif spec.fill == "integers":
            flat = torch.empty(count, dtype=torch.int64)
            values.integers(flat.numpy(), key, spec.high)
        elif spec.fill == "range":
            flat = torch.arange(count)
        else:
            flat = torch.zeros(count)
        made.append(flat.to(getattr(torch, spec.dtype)).reshape(spec.shape))
    return made


def raw_bytes(value: Any) -> bytes:
    """Return an input's bytes as executor_runner reads them from a file: row by row, or a number.

    Raises:
        UnsupportedError: a text, which it can't be given.

    """
    if value is None:
        return b""
    if isinstance(value, bool | int | float):
        return struct.pack(_SCALARS[type(value)], value)
    if isinstance(value, str):
        raise UnsupportedError("a text has no bytes that a runner could be fed")
    tensor = value.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
