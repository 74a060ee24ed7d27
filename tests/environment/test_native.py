"""What the bare runner needs of an environment, and what is said where it is not there."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.environment import native
from bench.environment.native import NoRunnerError, compile_command, native_runner
from tests.environment.fakes import FakeRecipe, fake_environment


@pytest.fixture
def linkable(tmp_path: Path):
    """An environment whose package has what the wheels have since 1.5, all of it empty."""
    package = tmp_path / "package" / "executorch"
    (package / "lib").mkdir(parents=True)
    for name in native._LIBRARIES:
        (package / "lib" / f"lib{name}.so").touch()
    header = package / "include/executorch/extension/module/module.h"
    header.parent.mkdir(parents=True)
    header.touch()
    return replace(fake_environment(FakeRecipe(), tmp_path), pythonpath=(tmp_path / "package",))


def test_every_component_is_linked_although_nothing_refers_to_it(linkable) -> None:
    words = compile_command(linkable)
    assert words.index("-Wl,--no-as-needed") < words.index("-lexecutorch_backend_xnnpack")
    assert str(native.SOURCE / "runner.cpp") in words


def test_a_release_without_a_runtime_to_link_says_since_when_there_is_one(linkable) -> None:
    next(native.package_of(linkable).glob("lib/libexecutorch.so")).unlink()
    with pytest.raises(
        NoRunnerError, match=r"since 1\.5\): use runner=python, or a later runtime="
    ):
        compile_command(linkable)


def test_without_a_compiler_it_says_what_is_needed(linkable, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoRunnerError, match=r"needs a C\+\+ compiler"):
        compile_command(linkable)


def test_what_does_not_compile_names_the_first_error_and_leaves_nothing(linkable) -> None:
    with pytest.raises(NoRunnerError, match=r"does not compile: .*error"):
        native_runner(linkable)
    left = [path.name for path in (linkable.root / "runners").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


def test_it_is_for_linux_so_far(linkable, monkeypatch) -> None:
    monkeypatch.setattr(native.sys, "platform", "darwin")
    with pytest.raises(NoRunnerError, match="this is darwin"):
        compile_command(linkable)
