"""Wrapping from outside, on a module of our own and on what is not there."""

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from et_worker.events import EventWriter
from et_worker.phases import Phases
from et_worker.steps import HOOKS, Hook, attribute_steps


class Backend:
    """With every kind of function a hook may meet."""

    made = 1

    def build(self, size: int) -> int:
        """Build."""
        return size + self.made

    @staticmethod
    def preprocess(program: str) -> str:
        return program.upper()

    @classmethod
    def name(cls) -> str:
        return cls.__name__


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("delegate")
    made.Backend = type("Backend", (), dict(vars(Backend)))
    made.serialize = lambda graph: f"<{graph}>"
    monkeypatch.setitem(sys.modules, "delegate", made)
    return made


def calls(path: Path) -> dict[str, int]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["name"]: line["calls"] for line in lines if line["event"] == "step"}


def test_every_kind_of_function_works_as_before_and_is_counted(
    module: ModuleType, tmp_path: Path
) -> None:
    phases = Phases(EventWriter(tmp_path / "events"))
    paths = {
        "build": "Backend.build",
        "preprocess": "Backend.preprocess",
        "name": "Backend.name",
        "serialize": "serialize",
    }
    hooks = tuple(Hook(step, "delegate", path) for step, path in paths.items())
    assert attribute_steps(phases, hooks) == sorted(paths)
    with phases.phase("lower"):
        assert module.Backend().build(size=2) == 3
        assert module.Backend.preprocess("a") == module.Backend().preprocess("a") == "A"
        assert module.Backend.name() == "Backend"
        assert module.serialize("g") == "<g>"
    assert calls(tmp_path / "events") == {"build": 1, "preprocess": 2, "name": 1, "serialize": 1}
    assert list(inspect.signature(module.Backend.build).parameters) == ["self", "size"]
    assert module.Backend.build.__doc__ == "Build."


def test_what_a_revision_lacks_is_left_out(module: ModuleType, tmp_path: Path) -> None:
    phases = Phases(EventWriter(tmp_path / "events"))
    hooks = (
        Hook("a", "not.loaded", "f"),
        Hook("b", "delegate", "Frontend.build"),
        Hook("c", "delegate", "Backend.compile"),
        Hook("d", "delegate", "Backend.made"),
        Hook("e", "delegate", "serialize"),
    )
    assert attribute_steps(phases, hooks) == ["e"]
    assert module.Backend.made == 1


def test_nothing_is_imported_for_a_hook(tmp_path: Path) -> None:
    before = set(sys.modules)
    assert attribute_steps(Phases(EventWriter(tmp_path / "events")), HOOKS) == []
    assert set(sys.modules) == before
