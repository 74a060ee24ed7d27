"""The words of a command line: names, and ``key=value``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.errors import RequestError, choices


@dataclass(frozen=True)
class Words:
    """What a person typed: plain names in their order, and values by key."""

    names: tuple[str, ...]
    values: Mapping[str, str]

    def get(self, key: str, default: str) -> str:
        """Return a value, or what it is where it was not given."""
        return self.values.get(key, default)


def split(words: Sequence[str], keys: Sequence[str]) -> Words:
    """Split the words of a command line.

    A word is ``key=value`` if what stands before the first ``=`` is a plain word; a path with a
    ``=`` in it is given as ``./path``.

    Raises:
        RequestError: for a key that is none of ``keys``, one given twice, or an empty value.

    """
    names: list[str] = []
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.isidentifier():
            if word.startswith("-"):
                raise RequestError(f"unknown flag {word} (keys: {', '.join(keys)})")
            names.append(word)
            continue
        if key not in keys:
            raise choices("key", key, list(keys))
        if key in values:
            raise RequestError(f"{key}: given twice")
        if not value:
            raise RequestError(f"{key}: the value is empty")
        values[key] = value
    return Words(tuple(names), values)


def parse_ratio(name: str, text: str) -> float:
    """Parse a relative difference such as ``2%`` or ``0.02``, from 0 to below 100%.

    Raises:
        RequestError: if it is none.

    """
    number = text.removesuffix("%")
    try:
        ratio = float(number) / (100 if text.endswith("%") else 1)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio < 1:
        raise RequestError(f"{name}: {text!r} is not a relative difference (2%, or 0.02)")
    return ratio
