"""The models: how each family becomes methods that can be exported.

A family is a module with ``build``; it is imported when an export asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

FAMILIES = {
    "whisper": "et_worker.models.whisper",
    "kquant": "et_worker.models.kquant",
    "gguf": "et_worker.models.gguf",
    "script": "et_worker.models.script",
}

# What a model's field says to ExecuTorch through the environment: read when it is imported.
_SWITCHES = {"emit_direct_gguf": "ET_MLX_EMIT_DIRECT_GGUF"}


@dataclass(frozen=True)
class Method:
    """One method of a program, ready for ``torch.export.export``.

    Attributes:
        module: what to export.
        args: example inputs, a tuple of tensors.
        dynamic_shapes: as ``torch.export.export`` takes it; None when all is static.
        stored: what the weights are stored in, where their dtypes don't say; else None.

    """

    module: Any
    args: tuple[Any, ...]
    dynamic_shapes: Mapping[str, Any] | None
    stored: str | None = None


class Family(Protocol):
    """What a family's module offers.

    ``prepare(request)`` too, where something is to be imported before the baseline; and
    ``neighbours()``, where the methods are made of files that the request doesn't know of.
    """

    def build(self, request: Mapping[str, Any]) -> dict[str, Method]:
        """Return the methods by name, weights made from the request's seed.

        The dtypes are those of ``request["precision"]`` before any quantization; the same seed
        gives the same weights at every precision, up to rounding.
        """


def set_switches(model: Mapping[str, Any]) -> None:
    """Set the environment variables that the model's fields stand for, as 0 or 1.

    To be called before anything of ExecuTorch is imported. A variable that the user's shell has
    set is overruled: the model's field is what the row says.
    """
    for field, variable in _SWITCHES.items():
        if field in model:
            os.environ[variable] = "1" if model[field] else "0"


def load_family(name: str) -> Family:
    """Import a family.

    Raises:
        ValueError: there is none of that name.
        UnsupportedError: this ExecuTorch lacks what the family is made of.

    """
    if name not in FAMILIES:
        raise ValueError(f"unknown model family {name!r}; known: {', '.join(FAMILIES)}")
    family: Family = import_module(FAMILIES[name])
    return family
