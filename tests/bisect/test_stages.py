"""Which commits can matter, given what was read and how it was built."""

from __future__ import annotations

from bisect.ranges import SearchRange
from bisect.stages import Stage, candidates

import pytest

from bench.config import load
from tests.results.test_rows import record


@pytest.mark.parametrize(("rung", "wanted"), [("overlay", [2]), ("source", [1, 2, 3])])
def test_what_python_read_says_nothing_of_native_code(rung: str, wanted: list[int]) -> None:
    changes = {"b": ("README.md",), "c": ("exir/a.py",), "d": ("runtime/x.cpp",)}
    stage = SearchRange(("a", "b", "c", "d"), ("a", "b", "c", "d"), changes)
    read = {"event": "trace", "files": ["exir/a.py"], "native": []}
    assert candidates(stage, [record(events=[read], rung=rung)]) == wanted


def test_one_side_is_varied_and_the_other_held() -> None:
    releases = SearchRange(("v1.4.1", "v1.5.1"), (), {})
    bench = load([])
    assert Stage("commits", releases, bench).sides("x") == ("x", None)
    assert Stage("releases", releases, bench, held="v1.4.1").sides("x") == ("x", "v1.4.1")
    assert Stage("runtimes", releases, bench, "runtime", "v1.5.1").sides("x") == ("v1.5.1", "x")
