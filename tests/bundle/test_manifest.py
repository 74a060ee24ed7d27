"""A bundle is whole, or it is refused; `pte=` takes it with the inputs that it has."""

import json
import subprocess
from pathlib import Path

import pytest

from bench.bundle.manifest import NAME, SUMS, read_manifest, sums_text
from bench.config import load
from bench.errors import RequestError
from tests.bundle.bundles import make_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path / "bundle")
    return tmp_path / "bundle"


def changed(folder: Path, **fields: object) -> None:
    path = folder / NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_the_sums_are_what_sha256sum_checks(folder: Path) -> None:
    (folder / SUMS).write_text(sums_text(read_manifest(folder)))
    check = ["sha256sum", "-c", SUMS]
    assert subprocess.run(check, cwd=folder, check=False, capture_output=True).returncode == 0
    (folder / "look_up-0.bin").write_bytes(b"other")
    assert subprocess.run(check, cwd=folder, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / NAME).unlink(), "No such file"),
        (lambda f: (f / NAME).write_text("{"), "is no manifest of a bundle"),
        (lambda f: (f / NAME).write_text("[]"), "is no manifest of a bundle"),
        (lambda f: changed(f, methods=None), "is no manifest of a bundle"),
        (lambda f: changed(f, format=2), "a bundle of format 2, not 1"),
        (lambda f: changed(f, program={"file": "../x", "sha256": "0"}), "'../x' is no file of the"),
        (lambda f: (f / "small.pte").unlink(), "small.pte is missing"),
        (lambda f: (f / "small.pte").write_bytes(b"x"), "small.pte is another file than"),
        (lambda f: (f / "look_up-0.bin").write_bytes(b"x"), "look_up-0.bin is another file"),
    ],
)
def test_what_is_not_whole_is_one_line(folder: Path, damage, message: str) -> None:
    damage(folder)
    with pytest.raises(RequestError) as caught:
        read_manifest(folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pte_takes_a_bundle_with_its_own_inputs(folder: Path) -> None:
    (choice,) = load([f"pte={folder}", "method=look_up"]).choices
    assert choice.given
    assert choice.given.program.path == folder / "small.pte"
    (ids,) = choice.given.inputs["look_up"]
    assert (ids["shape"], ids["fill"], ids["high"]) == ([5], "integers", 10)
    assert "file" not in ids
    (choice,) = load([f"pte={folder}", "method=look_up", "inputs=look_up:0=3"]).choices
    assert choice.given
    smaller = choice.given.inputs["look_up"][0]
    assert isinstance(smaller, dict)
    assert smaller["shape"] == [3]


def test_pte_refuses_a_bundle_that_is_not_whole(folder: Path) -> None:
    (folder / "small.pte").write_bytes(b"x")
    with pytest.raises(RequestError, match="another file than"):
        load([f"pte={folder}"])
