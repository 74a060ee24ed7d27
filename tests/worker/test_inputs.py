"""Shapes by request."""

import struct

import pytest
from et_worker.failures import UnsupportedError
from et_worker.inputs import InputSpec, input_specs, raw_bytes

MODEL = {"family": "whisper", "n_audio_ctx": 1500, "n_audio_state": 384, "n_vocab": 51865}


def request(method: str, **changes: object) -> dict:
    return {"model": MODEL, "method": method, "samples": 480000, "tokens": 1, **changes}


def test_encode_takes_a_waveform() -> None:
    (waveform,) = input_specs(request("encode", samples=160000))
    assert waveform == InputSpec("waveform", "float32", (160000,), "spread", scale=0.1)


def test_decode_takes_tokens_their_positions_and_what_encode_gave() -> None:
    tokens, positions, encoded = input_specs(request("decode", tokens=3))
    assert (tokens.dtype, tokens.shape, tokens.high) == ("int64", (1, 3), 51865)
    assert (positions.dtype, positions.shape, positions.fill) == ("int64", (3,), "range")
    assert (encoded.dtype, encoded.shape) == ("float32", (1, 1500, 384))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (request("encode", samples=400), "at least 401 samples"),
        (request("decode", tokens=0), "at least one token"),
        (request("forward"), "known: encode, decode"),
        (request("encode", model={"family": "llama"}), "unknown model family 'llama'"),
    ],
)
def test_what_cannot_be_made_is_refused(bad: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        input_specs(bad)


def test_a_program_from_elsewhere_says_its_inputs_itself() -> None:
    told = [
        {"name": "0", "dtype": "int64", "shape": [1, 8], "fill": "zeros"},
        {"name": "1", "dtype": "bool", "shape": [], "fill": "value", "value": True},
    ]
    assert input_specs({"inputs": told, "method": "forward"}) == [
        InputSpec("0", "int64", (1, 8), "zeros"),
        InputSpec("1", "bool", (), "value", value=True),
    ]


def test_an_unknown_fill_is_an_error_and_no_zeros() -> None:
    with pytest.raises(ValueError, match=r"unknown fill 'normal' of x; known: spread, integers"):
        InputSpec("x", "float32", (4,), "normal")


def test_plain_values_are_the_bytes_that_the_binary_reads() -> None:
    """extension/runner_util/inputs.cpp: int64_t, double and bool; nothing where it takes none."""
    assert raw_bytes(3) == struct.pack("<q", 3)
    assert raw_bytes(0.5) == struct.pack("<d", 0.5)
    assert raw_bytes(True) == b"\1"
    assert raw_bytes(None) == b""
    with pytest.raises(UnsupportedError, match="a text has no bytes"):
        raw_bytes("text")
