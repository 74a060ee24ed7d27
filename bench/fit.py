"""What goes with what: a model's own defaults, methods, precisions and sample bounds. Pure.

All of it is said by the files of ``conf/``. A model may have

* ``methods`` and ``precisions``: what it takes; without them, anything;
* ``samples``: the bounds of its waveform; without them, it has none;
* ``usual``: what is meant where the user gives nothing (``defaults`` is Hydra's own word).

A precision may have ``families``: the only ones it is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.errors import RequestError, choices
from bench.values import parse_int

ABOUT = ("samples", "methods", "precisions", "usual")
"""Fields of a model that say how to ask for it, and nothing about what is measured."""

_FIXED = ("name", "family")
WORDS = {"runner.load_mode": ("mmap", "mlock", "buffer")}
"""Of the fields whose values are words, which these are."""
PATH = "runner.path"
"""The one field whose value is a path: any text may be one."""

# Up to this size of the program, comparing takes seconds beside an export of tens.
_CHEAP_BYTES = 256_000_000

Model = Mapping[str, Any]


def common_defaults(
    models: Sequence[Model], given: Mapping[str, str], usual: Mapping[str, str]
) -> dict[str, str]:
    """Return what the models' ``usual`` add to what was given.

    Args:
        models: the chosen ones.
        given: by the user; never overruled.
        usual: the defaults of everything for which a model has none of its own.

    Raises:
        RequestError: the models differ in one that was not given.

    """
    own: list[Mapping[str, Any]] = [model.get("usual", {}) for model in models]
    added: dict[str, str] = {}
    for key in dict.fromkeys(key for defaults in own for key in defaults):
        if key in given:
            continue
        values = [str(defaults.get(key, usual[key])) for defaults in own]
        if len(set(values)) > 1:
            each = ", ".join(f"{m['name']}: {v}" for m, v in zip(models, values, strict=True))
            raise RequestError(f"{key}: the models' defaults differ ({each}); give {key}=")
        added[key] = values[0]
    return added


def check_methods(models: Sequence[Model], methods: Sequence[str]) -> None:
    """Refuse a method that a model does not have.

    Raises:
        RequestError: with the methods that it does have.

    """
    for model in models:
        for method in methods:
            if method not in model.get("methods", methods):
                raise choices(f"method of {model['name']}", method, list(model["methods"]))


def check_precisions(models: Sequence[Model], precisions: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a precision that none of the models takes; one that some take is no error.

    Raises:
        RequestError: with the reason of the first model.

    """
    for precision in precisions.values():
        reasons = [misfit(model, precision) for model in models]
        if all(reasons):
            raise RequestError(f"precision: {reasons[0]}")


def misfit(model: Model, precision: Mapping[str, Any]) -> str | None:
    """Say why the model does not come in the precision; None where it does."""
    name = precision["name"]
    takes = model.get("precisions")
    if takes is not None and name not in takes:
        return f"{model['name']} takes {', '.join(takes)}, not {name}"
    families = precision.get("families")
    if families is not None and model["family"] not in families:
        return f"{name} is for {', '.join(families)} models; {model['name']} is {model['family']}"
    return None


def sample_bounds(models: Sequence[Model], *, given: bool) -> tuple[int, int | None]:
    """Return the bounds that every model with a waveform accepts; any length where there is none.

    Raises:
        RequestError: ``given``, a length was asked for, but no model has a waveform.

    """
    bounds = [model["samples"] for model in models if "samples" in model]
    if not bounds:
        if given:
            raise RequestError(f"samples: {models[0]['name']} takes no waveform")
        return 1, None
    return max(b["min"] for b in bounds), min(b["max"] for b in bounds)


def field_value(key: str, old: object, text: str) -> Any:
    """Parse what a field such as ``model.layers`` is set to, as the type that it has.

    Raises:
        RequestError: if it is no value of that type, or no word that the field takes.

    """
    if isinstance(old, bool):
        if text not in ("true", "false"):
            raise choices(key, text, ["true", "false"])
        return text == "true"
    if isinstance(old, int):
        return parse_int(key, text, min(1, old))  # 0 means "none" where it is the default
    if key != PATH and text not in WORDS[key]:
        raise choices(key, text, list(WORDS[key]))
    return text


def fields(part: Model, prefix: str = "") -> list[str]:
    """Return the fields of a model or a runner that can be changed, such as ``parts.draft.width``.

    Not what it is called and made by, and not how to ask for it: other values would say of a
    model what does not hold for it.
    """
    found = []
    for key, value in part.items():
        if not prefix and key in (*_FIXED, *ABOUT):
            continue
        found += fields(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [prefix + key]
    return found


def compared_by_default(request: Mapping[str, Any], pte_bytes: int) -> bool:
    """Say whether ``check=auto`` compares a program: a user's own model's, where that is cheap.

    Not Whisper's: the tests hold its programs to openai's model, and a check of tiny in fp32 would
    add 9 s of processor time to a main job of 80 s.
    """
    own = request["model"]["family"] == "script"
    return own and request["backend"]["name"] == "xnnpack" and pte_bytes <= _CHEAP_BYTES
