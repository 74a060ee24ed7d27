"""Dimensions of a model that do not go together: refused here, not in a worker after minutes. Pure.

What the relations come from is openai-whisper's ``whisper/model.py`` and ``whisper/audio.py``, the
GGUF block layouts, and torchao's groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.errors import RequestError

Model = Mapping[str, Any]

_MEL_FILTERS = (80, 128)  # the banks that openai-whisper ships
_SAMPLES_PER_POSITION = 320  # a hop of 160 samples, halved by the second convolution
_BLOCK = 256  # weights of a GGUF k-quant block
_EQUAL_GROUPS = (1, 2, 4, 8)  # divide the groups of every k-quant block


def check_dimensions(model: Model, recipe: Model | None) -> None:
    """Refuse a model that can't be built, or not be quantized as its precision says.

    Args:
        model: its fields; a family that is not known here is not checked.
        recipe: of its precision on its backend; None where there is none.

    Raises:
        RequestError: names the field, what is wrong, and what would be right.

    """
    check = _CHECKS.get(model["family"])
    if check:
        check(model, int((recipe or {}).get("group_size") or 0))


def most_tokens(models: list[Model]) -> int:
    """Return the longest cache that every model has positions for; 448 where none says."""
    return min((int(model["n_text_ctx"]) for model in models if "n_text_ctx" in model), default=448)


def _check_whisper(model: Model, group: int) -> None:
    for side in ("audio", "text"):
        state, heads = model[f"n_{side}_state"], model[f"n_{side}_head"]
        if state % heads:
            _refuse(f"n_{side}_head", heads, f"does not divide n_{side}_state ({state})")
    state = model["n_audio_state"]
    if state != model["n_text_state"]:
        why = f"must be n_audio_state ({state}): the decoder attends to what the encoder gives"
        _refuse("n_text_state", model["n_text_state"], why)
    if state % 2 or state < 4:
        _refuse("n_audio_state", state, "must be even, 4 or more: positions are sine and cosine")
    if group and state % group:
        _refuse("n_audio_state", state, f"must be a multiple of {group}, which share a scale")
    if model["n_mels"] not in _MEL_FILTERS:
        _refuse("n_mels", model["n_mels"], "has no mel filters: 80 or 128")
    positions = model["samples"]["max"] // _SAMPLES_PER_POSITION
    if model["n_audio_ctx"] != positions:
        _refuse("n_audio_ctx", model["n_audio_ctx"], f"must be {positions}: 30 s of audio")
    if model["n_text_ctx"] < 2:
        _refuse("n_text_ctx", model["n_text_ctx"], "must be 2 or more")


def _check_kquant(model: Model, _group: int) -> None:
    parts = {f"parts.{name}.": part for name, part in model.get("parts", {}).items()}
    for prefix, part in (parts or {"": model}).items():
        if part["width"] % _BLOCK:
            why = f"must be a multiple of {_BLOCK}, the weights of a block"
            _refuse(f"{prefix}width", part["width"], why)
    if model["adapter_rows"] == 1:
        _refuse("adapter_rows", 1, "must be 0 or, as it is a symbol, 2 or more")
    if model["equal_groups"] not in _EQUAL_GROUPS:
        _refuse("equal_groups", model["equal_groups"], "must be 1, 2, 4 or 8")


def _refuse(field: str, given: object, why: str) -> None:
    raise RequestError(f"model.{field}: {given} {why}")


_CHECKS: Mapping[str, Callable[[Model, int], None]] = {
    "whisper": _check_whisper,
    "kquant": _check_kquant,
}
