"""What nox installs holds all that pyproject.toml asks for, at versions that it allows."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def locked(name: str) -> dict[str, list[Version]]:
    """Every version that a lock has of each package: one, or one per marker."""
    found: dict[str, list[Version]] = {}
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    for package, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==([^ ;\n]+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(Version(version))
    return found


@pytest.mark.parametrize("lock", ["controller", "test", "lint", "ray", "submitit"])
def test_a_lock_holds_what_is_asked_for(lock: str) -> None:
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get(lock, [])]
    versions = locked(lock)
    for requirement in map(Requirement, asked):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement.name}: run nox -s lock"
        assert all(version in requirement.specifier for version in found), requirement
