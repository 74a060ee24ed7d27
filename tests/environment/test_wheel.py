"""How a release is built: which torch, and what is said about the result."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.environment.commands import Commands
from bench.environment.recipe import recipe_for
from bench.environment.wheel import begin, build_wheel, choose_torch, git_sha, site_packages
from bench.errors import BuildError

PYTHON = Path("venv/bin/python")


class FakeInstaller:
    """Finds what it was told that it would, and installs metadata."""

    name = "fake"

    def __init__(self, *findable, knows_cpu_index=True, package=True):
        self.findable = findable
        self.knows_cpu_index = knows_cpu_index
        self.package = package
        self.installed = []

    def create(self, commands, venv):
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").symlink_to(sys.executable)

    def resolves(self, commands, python, requirement, *, cpu_index=False):
        return (requirement, cpu_index) in self.findable

    def install(self, commands, python, requirements, *, what, dependencies=True, cpu_index=False):
        self.installed.append((tuple(requirements), dependencies, cpu_index))
        site = site_packages(python.parent.parent)
        site.mkdir(parents=True, exist_ok=True)
        for requirement in requirements:
            name, _, version = requirement.partition("==")
            if version:
                info = site / f"{name.replace('-', '_')}-{version}.dist-info"
                info.mkdir()
                (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        if self.package and not (site / "executorch").exists():
            (site / "executorch").mkdir()
            (site / "executorch" / "version.py").write_text("git_version: str = 'abcdef1234'\n")

    def freeze(self, commands, python):
        return "a==1\n"


def choose(tmp_path, installer, torch="2.13.0", platform="linux"):
    return choose_torch(torch, installer, Commands(tmp_path), PYTHON, platform)


def test_the_cpu_build_that_pip_would_find_comes_first(tmp_path):
    choice = choose(tmp_path, FakeInstaller(("torch==2.13.0+cpu", False), ("torch==2.13.0", True)))
    assert (choice.requirement, choice.cpu_index) == ("torch==2.13.0+cpu", False)
    assert not choice.warning


def test_then_pytorchs_own_cpu_index(tmp_path):
    choice = choose(tmp_path, FakeInstaller(("torch==2.13.0", True)))
    assert (choice.requirement, choice.cpu_index) == ("torch==2.13.0", True)
    assert not choice.warning


def test_then_what_there_is_with_a_warning(tmp_path):
    choice = choose(tmp_path, FakeInstaller())
    assert (choice.requirement, choice.cpu_index) == ("torch==2.13.0", False)
    assert choice.warning
    assert "CUDA" in choice.note
    assert "install uv" not in choice.note
    without_uv = choose(tmp_path, FakeInstaller(knows_cpu_index=False))
    assert "install uv" in without_uv.note


@pytest.mark.parametrize(("torch", "platform"), [("2.13.0", "darwin"), ("2.13.0+cu130", "linux")])
def test_elsewhere_and_for_a_named_build_nothing_is_asked(tmp_path, torch, platform):
    choice = choose(tmp_path, FakeInstaller((f"torch=={torch}", True)), torch, platform)
    assert (choice.requirement, choice.cpu_index) == (f"torch=={torch}", False)
    assert not choice.warning


def test_a_torch_left_to_the_resolver_is_not_pinned(tmp_path):
    assert choose(tmp_path, FakeInstaller(("torch", True)), None).requirement == "torch"


def test_a_release_is_installed_and_described(tmp_path):
    recipe = recipe_for("1.4.1", torch="2.13.0+cpu")
    installer = FakeInstaller()
    said = []
    environment = build_wheel(recipe, tmp_path, said.append, installer)
    (together, alone) = installer.installed
    assert together[0][:2] == ("executorch==1.4.1", "torch==2.13.0+cpu")
    assert together[1]
    assert alone[0] == recipe.without_dependencies
    assert not alone[1]
    assert environment.executorch == "1.4.1"
    assert environment.torch == "2.13.0+cpu"
    assert environment.git_sha == "abcdef1234"
    assert environment.packages.read_text() == "a==1\n"
    assert environment.build_key == recipe.build_key
    assert environment.python.exists()
    assert environment.size_bytes > 0
    assert said


@pytest.mark.parametrize("findable", [True, False])
def test_recorded_packages_are_installed_as_they_were_and_nothing_else(tmp_path, findable):
    lines = ("executorch==1.4.1", "numpy==2.4.6", "torch==2.13.0+cpu")
    recipe = replace(recipe_for("1.4.1"), packages=lines)
    installer = FakeInstaller(*([("torch==2.13.0+cpu", False)] if findable else []))
    environment = build_wheel(recipe, tmp_path, lambda _: None, installer)
    assert installer.installed == [(lines, False, not findable)]
    assert environment.build_key == recipe.build_key


def test_a_wheel_without_the_package_is_a_failed_build(tmp_path):
    with pytest.raises(BuildError, match="no package executorch"):
        build_wheel(
            recipe_for("1.4.1", torch="2.13.0+cpu"),
            tmp_path,
            lambda _: None,
            FakeInstaller(package=False),
        )


@pytest.mark.parametrize(
    ("text", "sha"),
    [
        ("from typing import Optional\ngit_version: Optional[str] = 'e4d02f41f7'\n", "e4d02f41f7"),
        ("git_version = 'e4d02f41f7'\n", "e4d02f41f7"),
        ("git_version = None\n", None),
        ("git_version = 'Unknown'\n", None),
        ("version = '1'\n", None),
        ("not python (\n", None),
    ],
)
def test_the_commit_is_read_without_importing(tmp_path, text, sha):
    file = tmp_path / "version.py"
    file.write_text(text)
    assert git_sha(file) == sha
    assert git_sha(tmp_path / "missing.py") is None


def test_whatever_is_built_says_that_its_torch_may_be_for_cuda(tmp_path, monkeypatch):
    """Of a release, a nightly and a commit alike: all begin so."""

    class NoCpuBuild:
        knows_cpu_index = False

        def create(self, commands, venv):
            venv.mkdir()

        def resolves(self, *_, **__):
            return False

    monkeypatch.setattr("sys.platform", "linux")
    said = []
    _, torch = begin(recipe_for("1.4.1"), Commands(tmp_path), NoCpuBuild(), said.append)
    assert torch.warning
    assert said == [f"warning: {torch.note}"]
    assert torch.note in (tmp_path / "build.log").read_text()
