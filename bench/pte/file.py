"""A ``.pte`` on the disk: checked, hashed, and read as far as its header and methods go."""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import RequestError
from bench.place import expanded
from bench.pte.schema import Method, parse

_BUNDLED = b"BP08"  # devtools/bundled_program/schema/bundled_program_schema.fbs
_LFS = b"version https://git-lfs"
# schema/extended_header.h, after the identifier: magic, header length, program size, segment base
# offset and (in a header of 32 bytes) segment data size.
_MAGIC = b"eh00"
_HEADER = struct.Struct("<4sIQQQ")
_BACKENDS = {"XnnpackBackend": "xnnpack", "MLXBackend": "mlx", "CoreMLBackend": "coreml"}


@dataclass(frozen=True)
class ProgramFile:
    """A program from elsewhere, as it was when it was read."""

    path: Path
    """Absolute: a worker has another working directory."""
    sha256: str
    size: int
    methods: tuple[Method, ...]

    def method(self, name: str) -> Method | None:
        """Return a method by its name; None where there is none."""
        return next((method for method in self.methods if method.name == name), None)

    @property
    def backend(self) -> str:
        """Name the backends that it is delegated to; ``portable`` where there is none."""
        ids = dict.fromkeys(i for method in self.methods for i in method.backends)
        return "+".join(_BACKENDS.get(i, i) for i in ids) or "portable"

    @property
    def info(self) -> dict[str, Any]:
        """Say of it what an export says of its program, as far as the file tells."""
        return {
            "pte_bytes": self.size,
            "pte_sha256": self.sha256,
            "methods": {
                method.name: {
                    "delegates": method.delegates,
                    "undelegated_nodes": sum(method.kernels.values()),
                    "undelegated_ops": dict(method.kernels),
                    "planned_bytes": method.planned_bytes,
                }
                for method in self.methods
            },
        }


def read_program(text: str) -> ProgramFile:
    """Read the file that ``pte=`` names.

    Raises:
        RequestError: if there is none, or it is no whole program.

    """
    path = expanded(text, "pte").absolute()
    if path.is_dir():
        raise RequestError(f"pte: {text} is a folder, and no bundle; give a .pte file")
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if not size:
                raise RequestError(f"pte: {text} is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                methods = _read(data)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RequestError(f"pte: {text}: {error.strerror}") from None
    except ValueError as error:
        raise RequestError(f"pte: {text} is no ExecuTorch program: {error}") from None
    return ProgramFile(path, sha256, size, methods)


def changed(program: ProgramFile) -> str | None:
    """Say how the file is another than the one that was read; None while it is the same."""
    try:
        with program.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"{program.path}: {error.strerror}"
    if found == program.sha256:
        return None
    return f"{program.path} has changed: it was {program.sha256[:12]} and is {found[:12]}"


def _read(data: mmap.mmap) -> tuple[Method, ...]:
    if data[4:8] == _BUNDLED:
        raise ValueError("it is a bundled program; give the .pte that it was made from")
    if data[: len(_LFS)] == _LFS:
        raise ValueError("it is a pointer of git-lfs (git lfs pull gets the file)")
    if len(data) >= 8 + _HEADER.size:
        magic, length, program, base, segments = _HEADER.unpack_from(data, 8)
        whole = max(program, base + (segments if length >= _HEADER.size else 0))
        if magic == _MAGIC and len(data) < whole:
            raise ValueError(f"it is cut short, {len(data)} of {whole} bytes")
    return parse(data)
