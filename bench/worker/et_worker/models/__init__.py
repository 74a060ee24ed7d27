"""The models: how each family becomes methods that can be exported.

A family is a module with ``build``; it is imported when an export asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

FAMILIES = {"whisper": "et_worker.models.whisper"}


@dataclass(frozen=True)
class Method:
    """One method of a program, ready for ``torch.export.export``.

    Attributes:
        module: what to export.
        args: example inputs, a tuple of tensors.
        dynamic_shapes: as ``torch.export.export`` takes it; None when all is static.

    """

    module: Any
    args: tuple[Any, ...]
    dynamic_shapes: Mapping[str, Any] | None


class Family(Protocol):
    """What a family's module offers."""

    def build(self, request: Mapping[str, Any]) -> dict[str, Method]:
        """Return the methods by name, weights made from the request's seed.

        The dtypes are those of ``request["precision"]`` before any quantization; the same seed
        gives the same weights at every precision, up to rounding.
        """


def load_family(name: str) -> Family:
    """Import a family.

    Raises:
        ValueError: there is none of that name.

    """
    if name not in FAMILIES:
        raise ValueError(f"unknown model family {name!r}; known: {', '.join(FAMILIES)}")
    family: Family = import_module(FAMILIES[name])
    return family
