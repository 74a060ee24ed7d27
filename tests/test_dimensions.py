"""Dimensions that a worker would choke on are refused before anything is built."""

import pytest

from bench import own
from bench.compose import group_choices
from bench.config import load
from bench.errors import RequestError

OURS = [name for name in group_choices("model") if name not in own.NAMES]  # not of a user's file


@pytest.mark.parametrize("model", OURS)
def test_every_model_of_ours_goes_together(model: str) -> None:
    load([f"model={model}"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("model.n_audio_head=7", "model.n_audio_head: 7 does not divide n_audio_state (384)"),
        ("model.n_text_head=5", "model.n_text_head: 5 does not divide n_text_state (384)"),
        ("model.n_text_state=768", "model.n_text_state: 768 must be n_audio_state (384)"),
        ("model.n_audio_state=390", "model.n_text_state: 384 must be n_audio_state (390)"),
        (
            "model.n_audio_state=33 model.n_text_state=33 model.n_audio_head=3 model.n_text_head=3",
            "model.n_audio_state: 33 must be even",
        ),
        ("model.n_mels=81", "model.n_mels: 81 has no mel filters: 80 or 128"),
        ("model.n_audio_ctx=1000", "model.n_audio_ctx: 1000 must be 1500"),
        ("model.n_text_ctx=1", "model.n_text_ctx: 1 must be 2 or more"),
        ("model.n_text_ctx=64", "max_tokens: 128 is out of range (2 to 64)"),
        ("max_tokens=449", "max_tokens: 449 is out of range (2 to 448)"),
        ("model=kquant model.width=1000", "model.width: 1000 must be a multiple of 256"),
        (
            "model=kquant-parts model.parts.draft.width=1000",
            "model.parts.draft.width: 1000 must be a multiple of 256",
        ),
        ("model=kquant model.adapter_rows=1", "model.adapter_rows: 1 must be 0 or"),
        ("model=kquant model.equal_groups=3", "model.equal_groups: 3 must be 1, 2, 4 or 8"),
    ],
)
def test_what_does_not_go_together_is_one_line(words: str, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        load(words.split())
    assert str(caught.value).startswith(message)


def test_no_adapter_is_the_default_that_can_be_given() -> None:
    (choice,) = load(["model=kquant", "model.adapter_rows=0"]).choices
    assert choice.model["adapter_rows"] == 0


NARROW = ("model.n_audio_state=192", "model.n_text_state=192")


@pytest.mark.parametrize(
    ("backend", "precision", "group"), [("mlx", "int8", 128), ("mlx", "int4", 128)]
)
def test_what_is_quantized_in_groups_has_whole_ones(
    backend: str, precision: str, group: int
) -> None:
    words = [f"backend={backend}", f"precision={precision}", *NARROW]
    with pytest.raises(RequestError, match=f"192 must be a multiple of {group}"):
        load(words)


def test_no_group_no_such_relation() -> None:
    for words in (["backend=mlx", "precision=bf16"], ["backend=xnnpack", "precision=int8"]):
        load([*words, *NARROW])
    load(["backend=xnnpack", "precision=int4", *NARROW])  # 192 is six groups of 32
