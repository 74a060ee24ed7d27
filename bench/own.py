"""A model that is made from a file of the user's: a script, or a GGUF file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.gguf_file import GgufFile, read_gguf
from bench.script import Script, read_script

_READ: dict[str, Callable[[str], Script | GgufFile]] = {"script": read_script, "gguf": read_gguf}
_EXAMPLES = {"script": "my_model.py", "gguf": "some.gguf"}
NAMES = tuple(_READ)
"""Models that take a file, and the options that name it."""


@dataclass(frozen=True)
class OwnModel:
    """The file that a model is made from."""

    file: Script | GgufFile

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.file.path

    @property
    def methods(self) -> tuple[str, ...] | None:
        """The methods that are measured where none are asked for; None: the model's usual."""
        return ("export", *self.file.methods) if isinstance(self.file, Script) else None

    def fields(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """Return a model of ``conf/model`` with the file's own fields put in."""
        own = self.methods
        return {
            **model,
            "name": self.file.label,
            **self.file.fields,
            **({"methods": list(own)} if own else {}),
        }


def own_model(given: Mapping[str, str], models: Sequence[str]) -> OwnModel | None:
    """Return the user's file, where the model is made from one.

    Raises:
        RequestError: if a model and its file are not given together, or with other models.

    """
    for name in NAMES:
        if (name in models) != bool(given.get(name)):
            example = _EXAMPLES[name]
            raise RequestError(f"{name}: model={name} and {name}={example} go together")
    chosen = [name for name in NAMES if name in models]
    if chosen and len(models) > 1:
        raise RequestError(f"model: {chosen[0]} is measured by itself, not with other models")
    return OwnModel(_READ[chosen[0]](given[chosen[0]])) if chosen else None
