import pytest

from bench.errors import RequestError
from bench.pte.inputs import parse_sizes, specs
from bench.pte.schema import Input, Method

DECODE = Method(
    "decode",
    (
        Input("int64", (1, 128), dynamic=True),
        Input("bfloat16", (1, 1500, 384)),
        Input("bool", value=True),
        Input("float32", (), dynamic=False),
    ),
    (),
    0,
    0,
)


def test_the_largest_size_and_values_that_are_in_every_range() -> None:
    found = specs(DECODE, ())
    assert not isinstance(found, str)
    assert [each["shape"] for each in found] == [[1, 128], [1, 1500, 384], [], []]
    assert [each["fill"] for each in found] == ["zeros", "spread", "value", "spread"]
    assert found[2]["value"] is True


def test_a_size_that_is_asked_for() -> None:
    found = specs(DECODE, parse_sizes("decode:0=1x8,encode:0=400"))
    assert not isinstance(found, str)
    assert found[0]["shape"] == [1, 8]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decode:0=1x129", "at most 1x128"),
        ("decode:0=8", "at most 1x128"),
        ("decode:1=1x100x384", "always 1x1500x384"),
        ("decode:2=1", "plain value"),
        ("decode:9=1", "'9' is not one of 0, 1, 2, 3"),
        ("decode=1", "is not METHOD:INDEX=SIZE"),
        ("decode:0=1x", "is not METHOD:INDEX=SIZE"),
        ("decode:0=1x8,decode:0=1x9", "given twice"),
    ],
)
def test_a_size_that_does_not_go_with_the_method(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        specs(DECODE, parse_sizes(text))


def test_a_type_that_cannot_be_made_is_said() -> None:
    method = Method("m", (Input("?scalar type 13", (2,)),), (), 0, 0)
    assert specs(method, ()) == "input 0 of m is a scalar type 13, which can't be made"
