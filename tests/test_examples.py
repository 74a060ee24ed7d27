"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "bench" / "worker"
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("bench", "bisect")
    for path in sorted((ROOT / package).rglob("*.py"))
    if WORKER not in path.parents and ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
