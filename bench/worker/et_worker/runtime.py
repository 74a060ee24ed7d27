"""ExecuTorch's Python runtime, as little of it as is needed, at every release."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from et_worker.failures import UnsupportedError, WorkerError

# The extension module itself: `executorch.runtime` and `portable_lib` import executorch.exir on
# the way, which doubles the baseline. Named `_C` since pull request 21816 (1.5).
_EXTENSIONS = ("_C", "_portable_lib")
_PACKAGE = "executorch.extension.pybindings"

# Ids that a program names its delegates by (each backend's `BackendDetails` class).
_BACKEND_IDS = ("MLXBackend", "XnnpackBackend", "CoreMLBackend", "MPSBackend", "VulkanBackend")


def load_extension() -> Any:
    """Import the pybindings extension; torch must have been imported.

    Raises:
        UnsupportedError: this ExecuTorch comes without one.

    """
    for name in _EXTENSIONS:
        try:
            return import_module(f"{_PACKAGE}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{_PACKAGE}.{name}":
                raise
    raise UnsupportedError(f"this ExecuTorch has no runtime for Python ({_PACKAGE})")


def load_program(extension: Any, path: Path, mode: str) -> tuple[Any, bytes | None]:
    """Load a program in a pinned mode (see :func:`et_worker.process.pin_load_mode`).

    Returns:
        the program, and the bytes that must outlive it (None unless ``mode`` is ``buffer``).

    Raises:
        WorkerError: the file can't be read or is no program.

    """
    if not path.is_file():
        raise WorkerError(f"there is no program at {path}")
    if mode == "buffer":
        data = path.read_bytes()
        return extension._load_program_from_buffer(data), data
    return extension._load_program(str(path)), None


def load_method(
    extension: Any, program: Any, name: str, path: Path, backends: Sequence[str] | None = None
) -> Any:
    """Load a method.

    Args:
        extension: see :func:`load_extension`.
        program: see :func:`load_program`.
        name: of the method.
        path: of the program.
        backends: ids that the program names; None to look for those we know of in the file.

    Raises:
        UnsupportedError: the program needs a backend that this runtime lacks.
        WorkerError: there is no such method.

    """
    known = [program.get_method_name(index) for index in range(program.num_methods())]
    if name not in known:
        raise WorkerError(f"the program has no method {name!r}; it has {', '.join(known)}")
    try:
        return program.load_method(name)
    except RuntimeError as error:
        registered = set(extension._get_registered_backend_names())
        named = backends if backends is not None else named_backends(path)
        missing = [each for each in named if each not in registered]
        if missing:
            raise UnsupportedError(
                f"the program needs {', '.join(missing)}, which this host's runtime lacks "
                "(MLX needs macOS on Apple silicon)"
                if "MLXBackend" in missing
                else f"the program needs {', '.join(missing)}, which this host's runtime lacks"
            ) from error
        raise


def named_backends(path: Path) -> list[str]:
    """Return the known backend ids that the file names."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return [name for name in _BACKEND_IDS if data.find(name.encode()) >= 0]
