"""What the bare runner needs of an environment, and what is said where it is not there."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.disk import DiskError
from bench.environment import native
from bench.environment.native import NoRunnerError, compile_command, native_runner
from tests.disks import files_of_at_most
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
    with pytest.raises(NoRunnerError, match=r"compiling the bare runner failed: .*error") as caught:
        native_runner(linkable)
    assert "\n" not in str(caught.value)
    left = {path.name for path in (linkable.root / "runners").iterdir() if path.suffix != ".lock"}
    assert left == {"build.log"}


@pytest.mark.parametrize(
    "said",
    [
        "fatal error: error writing to /tmp/cc.s: No space left on device",
        "/usr/bin/ld: final link failed: Disk quota exceeded",
    ],
)
def test_a_full_disk_is_no_finding_about_the_runner(linkable, monkeypatch, tmp_path, said) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiskError, match=said.rpartition(": ")[2]) as caught:
        native_runner(linkable)
    assert str(linkable.root / "runners") in str(caught.value)


def test_a_log_that_cannot_be_written_is_no_finding_either(linkable) -> None:
    with files_of_at_most(10), pytest.raises(DiskError, match=str(linkable.root / "runners")):
        native_runner(linkable)


def test_it_is_for_linux_so_far(linkable, monkeypatch) -> None:
    monkeypatch.setattr(native.sys, "platform", "darwin")
    with pytest.raises(NoRunnerError, match="this is darwin"):
        compile_command(linkable)
