"""A list of everything that an environment had installed, as a run keeps it: ``packages=FILE``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bench.errors import RequestError
from bench.place import expanded

FOLDER = "packages"
"""Beside published tables: the lists of their environments, ``<packages_hash>.txt``."""
_LINE = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*)")


@dataclass(frozen=True)
class PackageList:
    """The packages of one environment, each of an exact version.

    Attributes:
        release: of ExecuTorch: which environments it is the list of.
        lines: ``name==version``, in order.
        hash: as ``packages_hash`` in the tables.
    """

    release: str
    lines: tuple[str, ...]
    hash: str


def packages_hash(text: str) -> str:
    """Return the short hash of a list, as rows have it."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_packages(text: str) -> PackageList:
    """Read the file that ``packages=`` names.

    Raises:
        RequestError: if there is none, or it can't be installed from.

    """
    try:
        content = expanded(text, "packages").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise RequestError(f"packages: {text}: {why}") from None
    for number, line in enumerate(content.splitlines(), 1):
        if not _LINE.fullmatch(line):
            raise RequestError(
                f"packages: {text}: line {number}: {line[:60]!r} is no name==version"
            )
    release = versions(content).get("executorch")
    if release is None:
        raise RequestError(f"packages: {text} has no executorch in it")
    return PackageList(release, tuple(content.splitlines()), packages_hash(content))


def versions(text: str) -> Mapping[str, str]:
    """Return the versions of a list by name; lines of another form are left out. Pure."""
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {match["name"]: match["version"] for match in found if match}


def differences(before: str, after: str) -> list[str]:
    """Say which packages two lists have otherwise, such as ``numpy 2.4.6 -> 2.4.7``. Pure."""
    old, new = versions(before), versions(after)
    return [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
