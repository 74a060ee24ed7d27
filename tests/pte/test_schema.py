import random
from pathlib import Path

import pytest

from bench.pte.schema import Input, parse

SMALL = (Path(__file__).parent / "small.pte").read_bytes()


def test_a_real_program_says_its_methods() -> None:
    encode, look_up = parse(SMALL)
    assert (encode.name, look_up.name) == ("encode", "look_up")
    assert encode.inputs == (Input("float32", (1, 3, 32, 32)),)
    assert look_up.inputs == (
        Input("int64", (9,), dynamic=True),  # given 5, exported for up to 9
        Input("bool", value=True),
        Input("int", value=3),
    )


def test_outputs_are_told_at_their_largest() -> None:
    encode, look_up = parse(SMALL)
    assert encode.outputs == (Input("float32", (1, 8, 30, 30)),)
    assert look_up.outputs[0] == Input("float32", (9, 4), dynamic=True)


def test_it_says_what_is_delegated_and_what_is_not() -> None:
    encode, look_up = parse(SMALL)
    assert encode.backends == look_up.backends == ("XnnpackBackend",)
    assert (encode.delegates, encode.kernels) == (1, {})
    assert look_up.kernels["aten.embedding.out"] == 1
    assert not any(name.startswith(("aten.sym_", "executorch_prim")) for name in look_up.kernels)
    assert encode.planned_bytes > 4 * 3 * 32 * 32  # its input is in a planned buffer


@pytest.mark.parametrize("content", [b"", b"ET12", b"\0\0\0\0ET12", b"\0" * 100, b"PK\3\4" * 99])
def test_what_is_no_program(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"ET12|read|no method"):
        parse(content)


def test_a_damaged_program_is_an_error_and_no_crash() -> None:
    numbers = random.Random(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(SMALL)
        for _ in range(20):
            damaged[numbers.randrange(8, 2000)] = numbers.randrange(256)
        try:
            parse(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused > 100
