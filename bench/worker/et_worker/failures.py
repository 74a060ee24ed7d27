"""What can go wrong in a worker, as a kind and one line a person can act on."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

_LIMIT = 400

# torch's CPU allocator; ExecuTorch's MemoryAllocationFailed (runtime/core/error.h).
_ALLOCATOR = re.compile(r"can't allocate memory|error:?( code)?:? 0x21\b")

# What ExecuTorch says, and what it means. MLX (backends/mlx/preprocess.py) sets 4 digits of a hash
# of the method's graph before the names of its constants, which exir keeps in one store.
_MEANING = {
    "Duplicate key": "methods of equal graphs and other weights: MLX names their constants alike",
}


class WorkerError(Exception):
    """A failure whose message was written for the person who reads the table."""

    kind = "exception"


class UnsupportedError(WorkerError):
    """What was asked is beyond this host, backend or release, now and later."""

    kind = "unsupported"


class OutputError(WorkerError):
    """The program ran and computed something that can't be right."""

    kind = "output"


def describe(error: BaseException, phase: str | None, source: str | None = None) -> tuple[str, str]:
    """Return the kind (``exception unsupported memory output``) and the one-line reason.

    Args:
        error: what the task raised.
        phase: the phase it happened in; named in the reason, unless that says all by itself.
        source: the user's script, if the model is one: its line is named, where it was at work.

    """
    if isinstance(error, WorkerError):
        return error.kind, _one_line(str(error))
    where = "".join(f"{part}: " for part in (phase, _line_of(source, error)) if part)
    text = next((line for line in str(error).splitlines() if line.strip()), "")
    for said, meant in _MEANING.items():
        text = f"{meant} ({text})" if said in text else text
    reason = _one_line(f"{where}{type(error).__name__}: {text}" if text else f"{where}{error!r}")
    return ("memory" if _out_of_memory(error) else "exception"), reason


def _line_of(source: str | None, error: BaseException) -> str | None:
    """Return ``mine.py, line 8``, the innermost of the file's lines that led to the error."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == source]
    return f"{Path(str(source)).name}, line {lines[-1]}" if lines else None


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _ALLOCATOR.search(str(error)) is not None
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LIMIT else line[: _LIMIT - 1] + "…"
