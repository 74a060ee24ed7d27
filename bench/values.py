"""Values a person types: sizes, counts, lists. Pure; every refusal is one line."""

from __future__ import annotations

import re
from collections.abc import Callable

from bench.errors import RequestError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_list(name: str, text: str) -> list[str]:
    """Split a comma list such as ``tiny,small``; repeated values are kept once.

    Raises:
        RequestError: if a value is empty.

    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1]
    values = [value.strip().strip("'\"") for value in inner.split(",")]
    if not all(values):
        raise RequestError(f"{name}: there is an empty value in {text!r}")
    return list(dict.fromkeys(values))


def parse_int(name: str, text: str, low: int, high: int | None = None) -> int:
    """Parse a whole number between ``low`` and ``high``, both allowed.

    Raises:
        RequestError: if it is no number, or out of range.

    """
    valid = f"{low} to {high}" if high is not None else f"{low} or more"
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()):
        raise RequestError(f"{name}: {text!r} is not a whole number ({valid})")
    number = int(text)
    if number < low or (high is not None and number > high):
        raise RequestError(f"{name}: {number} is out of range ({valid})")
    return number


def parse_seconds(name: str, text: str) -> float:
    """Parse a positive time in seconds.

    Raises:
        RequestError: if it is not a positive, finite number.

    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise RequestError(f"{name}: {text!r} is not a positive number of seconds")
    return seconds


def parse_size(name: str, text: str) -> int:
    """Parse a size such as ``8GB``, ``512MB`` or ``1.5GiB`` into bytes.

    Raises:
        RequestError: if it is no size, or below one byte.

    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)", text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size < 1:
        raise RequestError(f"{name}: {text!r} is not a size (for example 8GB, 512MB, 1.5GiB)")
    return size


def format_mb(size: float | None) -> str:
    """Print bytes as MB (10^6 bytes), the unit of all our tables; '' for None."""
    if size is None:
        return ""
    return f"{size / 1e6:.1f}" if abs(size) < 1e10 else f"{size / 1e6:.0f}"


def format_bytes(size: float, *, exact: bool = False) -> str:
    """Print bytes with their unit: MB; what is exact, to the byte where MB would hide it.

    >>> format_bytes(-640), format_bytes(-640, exact=True), format_bytes(6_001_024, exact=True)
    ('-0.0 MB', '-640 bytes', '6.0 MB')
    """
    return f"{size:,.0f} bytes" if exact and abs(size) < 1e6 else f"{format_mb(size)} MB"


def format_seconds(seconds: float | None) -> str:
    """Print seconds as people say them: ``0.41 ms``, ``0.52 s``, ``47 s``, ``2.8 min``, ``2 h``."""
    if seconds is None:
        return ""
    if 0 < seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def format_size(size: float | None) -> str:
    """Print bytes with their unit, MB (10^6) below ten thousand of them, else GB; '' for None."""
    if size is None:
        return ""
    if abs(size) < 1e10:
        return f"{size / 1e6:.{2 if abs(size) < 1e6 else 1}f} MB"
    return f"{size / 1e9:.1f} GB"


def format_percent(ratio: float) -> str:
    """Print a relative difference with its sign: ``-32%``, ``+3.0%``, ``+0.12%``."""
    percent = ratio * 100
    digits = 0 if abs(percent) >= 9.95 else 1 if abs(percent) >= 0.95 or percent == 0 else 2
    return f"{percent:+.{digits}f}%"


def format_change(before: float, after: float, show: Callable[[float], str]) -> str:
    """Print a figure before and after: ``4.2 min -> 2.8 min (-32%)``."""
    change = f" ({format_percent(after / before - 1)})" if before > 0 else ""
    return f"{show(before)} -> {show(after)}{change}"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def neutral(text: str) -> str:
    """Put a quote before what a spreadsheet would run as a formula; numbers stay numbers.

    What is quoted already gets one more, so that :func:`as_written` can tell them apart.
    Source: OWASP, "CSV Injection".
    """
    bare = text.lstrip("'")
    if not bare.startswith(_FORMULA):
        return text
    try:
        float(bare)
    except ValueError:
        return f"'{text}"
    return text


def as_written(text: str) -> str:
    """Take back what :func:`neutral` did."""
    return text[1:] if text[:1] == "'" and neutral(text[1:]) == text else text


def format_probability(probability: float) -> str:
    """Print a probability; none is certain.

    >>> format_probability(0.9531), format_probability(0.99996)
    ('95.3%', 'over 99.9%')
    """
    return "over 99.9%" if probability > 0.999 else f"{probability:.1%}"
