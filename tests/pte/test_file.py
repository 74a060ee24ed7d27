import hashlib
import shutil
from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.pte.file import changed, read_program

SMALL = Path(__file__).parent / "small.pte"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return Path(shutil.copy(SMALL, tmp_path / "mine.pte"))


def test_a_file_is_known_by_its_content(program: Path) -> None:
    found = read_program(str(program))
    assert found.sha256 == hashlib.sha256(program.read_bytes()).hexdigest()
    assert found.size == program.stat().st_size
    assert found.backend == "xnnpack"
    assert found.info["methods"]["look_up"]["undelegated_ops"]["aten.embedding.out"] == 1


def test_a_path_is_meant_from_where_one_stands(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    assert read_program("mine.pte").path == program


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a text", "is no ExecuTorch program: no ET12"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
        (b"\0\0\0\0BP08" + b"\0" * 100, "a bundled program; give the .pte"),
        (SMALL.read_bytes()[:-100], "cut short, 6332 of 6432 bytes"),
    ],
)
def test_what_is_no_program_is_said_in_one_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.pte"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=message) as caught:
        read_program(str(path))
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        read_program(str(tmp_path / "none.pte"))
    with pytest.raises(RequestError, match="is a folder"):
        read_program(str(tmp_path))


def test_a_file_that_changes_is_another(program: Path) -> None:
    found = read_program(str(program))
    program.touch()
    assert changed(found) is None
    program.write_bytes(program.read_bytes() + b"\0")
    assert "has changed" in str(changed(found))
    program.unlink()
    assert "No such file" in str(changed(found))
