"""A release's wheel alone, to take its Python from."""

import sys

import pytest

from bench.environment.release_package import build_package, package_recipe
from bench.environment.wheel import site_packages
from bench.errors import BuildError, RequestError


class FakeInstaller:
    """Installs a package without anything it depends on."""

    name = "fake"

    def __init__(self, metadata=True):
        self.metadata = metadata
        self.installed = []

    def create(self, commands, venv):
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").symlink_to(sys.executable)

    def install(self, commands, python, requirements, *, what, dependencies=True):
        self.installed.append((requirements, dependencies))
        site = site_packages(python.parent.parent)
        (site / "executorch").mkdir(parents=True)
        (site / "executorch" / "version.py").write_text("git_version = 'abcdef1234'\n")
        if self.metadata:
            info = site / "executorch-1.3.1.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Name: executorch\nVersion: 1.3.1\n")

    def freeze(self, commands, python):
        return "executorch==1.3.1\n"


def test_only_the_wheel_is_installed(tmp_path):
    installer = FakeInstaller()
    recipe = package_recipe("v1.3.1")
    environment = build_package(recipe, tmp_path, print, installer)
    assert installer.installed == [(["executorch==1.3.1"], False)]
    assert environment.rung == "package"
    assert (environment.label, environment.executorch, environment.torch) == ("1.3.1", "1.3.1", "")
    assert environment.git_sha == "abcdef1234"


def test_a_wheel_that_is_not_executorch_is_a_failed_build(tmp_path):
    with pytest.raises(BuildError, match="has no executorch"):
        build_package(package_recipe("1.3.1"), tmp_path, print, FakeInstaller(metadata=False))


def test_only_known_releases_have_one():
    assert package_recipe("1.3.1").build_key == package_recipe("v1.3.1").build_key
    assert package_recipe("1.3.1").folder_name.startswith("package-1.3.1-")
    with pytest.raises(RequestError, match="release"):
        package_recipe("9.9.9")
