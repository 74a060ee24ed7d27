import pytest

from bench.errors import RequestError
from bench.values import (
    format_mb,
    format_probability,
    format_seconds,
    parse_int,
    parse_list,
    parse_seconds,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * 10**9),
        ("512MB", 512 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("100", 100),
        ("2 kb", 2000),
    ],
)
def test_size(text: str, size: int) -> None:
    assert parse_size("memory_cap", text) == size


@pytest.mark.parametrize(
    "text", ["lots", "", "-1GB", "0", "0.1B", "1TBs", "nan", "1e9", "GB", "9" * 400 + "GB"]
)
def test_size_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"^memory_cap: .* is not a size \(for example 8GB"):
        parse_size("memory_cap", text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("[1, 5]", ["1", "5"]),
        ("b,a,b", ["b", "a"]),
        ("'x'", ["x"]),
    ],
)
def test_list(text: str, values: list[str]) -> None:
    assert parse_list("x", text) == values


@pytest.mark.parametrize("text", ["", ",", "a,", ",a", "tiny,,small", "[]", "''"])
def test_list_refused(text: str) -> None:
    with pytest.raises(RequestError, match="empty value"):
        parse_list("model", text)


def test_int_bounds() -> None:
    assert parse_int("n", "401", 401, 480_000) == 401
    assert parse_int("n", "480000", 401, 480_000) == 480_000
    for text in ("400", "480001"):
        with pytest.raises(RequestError, match="401 to 480000"):
            parse_int("n", text, 401, 480_000)


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", "0x10", "١", "9" * 40])
def test_int_refused(text: str) -> None:
    with pytest.raises(RequestError, match="not a whole number"):
        parse_int("n", text, 0)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", ""])
def test_seconds_refused(text: str) -> None:
    with pytest.raises(RequestError, match="positive number of seconds"):
        parse_seconds("timeout_s", text)


def test_formats() -> None:
    assert format_mb(76_123_456) == "76.1"
    assert format_mb(66_600_000_000) == "66600"
    assert format_mb(None) == ""
    assert [format_seconds(s) for s in (0, 0.0000041, 0.000412, 0.0099, 0.01)] == [
        "0.00 s",
        "0.0041 ms",
        "0.41 ms",
        "9.9 ms",
        "0.01 s",
    ]
    assert [format_seconds(s) for s in (0.5, 9.999, 47, 252, 6000)] == [
        "0.50 s",
        "10.00 s",
        "47 s",
        "4.2 min",
        "1.7 h",
    ]
    assert [format_probability(p) for p in (0.5, 0.9531, 0.9994, 1.0)] == [
        "50.0%",
        "95.3%",
        "over 99.9%",
        "over 99.9%",
    ]
