"""What can be told of a program and a runtime without running either."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from et_worker.failures import UnsupportedError, WorkerError
from et_worker.runtime import load_method, load_program, named_backends


@pytest.fixture
def mlx_program(tmp_path: Path) -> Path:
    path = tmp_path / "a.pte"
    path.write_bytes(b"\x00ET12" + b"\x00" * 5000 + b"MLXBackend\x00" + b"XnnpackBackend\x00")
    return path


def extension(*backends: str) -> SimpleNamespace:
    return SimpleNamespace(_get_registered_backend_names=lambda: list(backends))


class Program:
    def num_methods(self) -> int:
        return 1

    def get_method_name(self, index: int) -> str:
        return ["encode"][index]

    def load_method(self, name: str) -> None:
        raise RuntimeError("Failed to load method encode, error: 0x20")


def test_backends_that_a_program_needs(mlx_program: Path) -> None:
    assert named_backends(mlx_program) == ["MLXBackend", "XnnpackBackend"]


def test_a_missing_backend_is_unsupported_and_named(mlx_program: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"needs MLXBackend, which .* macOS"):
        load_method(extension("XnnpackBackend"), Program(), "encode", mlx_program)


def test_the_backends_that_a_program_is_known_to_need_are_not_guessed(mlx_program: Path) -> None:
    with pytest.raises(UnsupportedError, match="needs QnnBackend, which"):
        load_method(extension(), Program(), "encode", mlx_program, ["QnnBackend"])
    with pytest.raises(RuntimeError, match="0x20"):
        load_method(extension(), Program(), "encode", mlx_program, [])


def test_a_failure_with_every_backend_there_is_the_runtimes_own(mlx_program: Path) -> None:
    with pytest.raises(RuntimeError, match="0x20"):
        load_method(extension("XnnpackBackend", "MLXBackend"), Program(), "encode", mlx_program)


def test_a_missing_method_names_those_there_are(mlx_program: Path) -> None:
    with pytest.raises(WorkerError, match="no method 'decode'; it has encode"):
        load_method(extension(), Program(), "decode", mlx_program)


def test_a_missing_program_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="there is no program"):
        load_program(extension(), tmp_path / "none.pte", "mmap")
