"""Who held the memory at the high-water mark: the same task once more, under memray.

Only for explaining: a process under memray is slower and larger than the one it explains, so
nothing it reports of itself is a measurement. memray comes from a folder of its own, which goes to
the end of the path: what the environment has is never hidden, and no ordinary run sees it.

memray counts bytes asked of the allocator (``malloc``, ``mmap``), from the baseline on; that is
near the RSS above the baseline, not equal to it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from et_worker.events import EventWriter
from et_worker.phases import Phases

Frame = tuple[str, str, int]
"""Function, file, line, as memray gives it."""
Site = tuple[str, Frame | None, tuple[Frame, ...]]
"""What one allocation is told apart by: see :meth:`ExplainedPhases.report`."""

_MOST_STACKS = 4000
"""Distinct stacks looked at, the largest first; symbols are slow to look up."""
_COVERED = 0.995
"""Share of the mark after which the smaller stacks are only summed."""
_MOST_FRAMES = 4
"""Telling frames kept of a stack."""
_TELLING = ("executorch/", "et_worker/models/", "torchao/", "whisper/")
"""Whose frames say who held it; torch's own are on the way to nearly every allocation."""
_COMPREHENSION = re.compile(r"<(list|dict|set)comp>|<genexpr>")
"""Frames of their own before Python 3.12; what they are in follows them."""

# CPython's frames between two Python frames: by source file where it has debug information.
_CPYTHON_FILE = re.compile(r"(\./)?(Objects|Python|Modules|Include|Parser)/")
_CPYTHON = re.compile(
    r"_?Py(Object|Eval|Vectorcall|Mem|CFunction|Function|Run|Type|Method|Bytes|List|Dict|Tuple|"
    r"Unicode|Long|Set|_)|pymalloc|cfunction_|method_|methoddescr|slot_|type_call|vectorcall|"
    r"trace_call_function|builtin_|bytes_|object_|property_|partial_|default_malloc$"
)
# The start of a thread, or of the process.
_START = re.compile(
    r"(gomp_thread_start|start_thread|(__)?clone3?|execute_native_thread_function|_start|main|"
    r"__libc_start\w*)$"
)
# torch's Python binding of an operator such as `*`, wrapped once more.
_WRAPPED = re.compile(r"TypeError_to_NotImplemented_<[&(]*([\w:]+)")
_STRIPPED = "<unknown>"  # a function of a library without symbols, such as ExecuTorch's runtime
ARENA = "_PyObject_ArenaMmap"  # Objects/obmalloc.c
_ALLOCATOR = re.compile(r"_?Py(Object|Mem)_\w*(Malloc|Calloc|Realloc)|default_malloc|\w*malloc$")


class ExplainedPhases(Phases):
    """Phases of a process that memray watches from the baseline on.

    Args:
        events: where to report.
        explain: ``tools`` (the folder that holds memray), ``capture`` (a file to write) and
            ``until`` (the phase after which nothing counts any more; None for the whole process).

    """

    def __init__(self, events: EventWriter, explain: Mapping[str, Any]) -> None:
        super().__init__(events)
        sys.path.append(explain["tools"])
        import memray

        self._capture = Path(explain["capture"])
        self._until = explain["until"]
        self._tracker = memray.Tracker(
            self._capture,
            native_traces=True,
            follow_fork=False,
            # A few MB whatever the process does, where every single allocation takes gigabytes.
            file_format=memray.FileFormat.AGGREGATED_ALLOCATIONS,
        )
        self._watching = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """As :meth:`Phases.phase`; the last one that counts ends the watch."""
        with super().phase(name):
            yield
        if name == self._until:
            self.stop()

    def baseline(self, *, threads: int) -> None:
        """As :meth:`Phases.baseline`; the watch begins."""
        super().baseline(threads=threads)
        self._tracker.__enter__()
        self._watching = True

    def stop(self) -> None:
        """End the watch, if it is not ended yet."""
        if self._watching:
            self._tracker.__exit__(None, None, None)
            self._watching = False

    def report(self) -> None:
        """End the watch and emit ``held``: who held what at the mark, the largest first.

        Fields: ``total_bytes``; ``sites``, each with ``bytes``, ``native`` (the native function
        that Python called, or ''), ``leaf`` (the innermost Python frame, or null) and ``frames``
        (the nearest ones that say who held it, innermost first; may be empty). A frame is
        function, file, line.
        """
        self.stop()
        import memray

        with memray.FileReader(self._capture) as reader:
            found = sorted(
                reader.get_high_watermark_allocation_records(merge_threads=True),
                key=lambda one: -one.size,
            )
            total = sum(one.size for one in found)
            sites: dict[Site, int] = {}
            seen = 0
            for one in found[:_MOST_STACKS]:
                if seen >= _COVERED * total:
                    break
                seen += one.size
                python = one.stack_trace()
                native = native_symbol(one.hybrid_stack_trace(), python[:1])
                site = native, *trim(python, sys.path)
                sites[site] = sites.get(site, 0) + one.size
        self._events.emit(
            "held",
            total_bytes=total,
            sites=[
                {"bytes": size, "native": native, "leaf": leaf, "frames": frames}
                for (native, leaf, frames), size in sorted(sites.items(), key=lambda one: -one[1])
            ],
        )


def native_symbol(hybrid: Sequence[Frame], python: Sequence[Frame]) -> str:
    """Return the native function that the innermost Python frame called; '' for none.

    The interpreter's own functions are passed over, unless there is nothing else: then it is the
    innermost one that is no allocator, such as ``bytes_repeat``. A new arena of the interpreter's
    own small objects is always called ``_PyObject_ArenaMmap``: who needed it holds little of it.

    Args:
        hybrid: frames of both kinds, innermost first.
        python: the innermost Python frame; empty for a thread that never ran Python.

    """
    inner = list(hybrid)
    if python and python[0] in inner:
        inner = inner[: inner.index(python[0])]
    inner = [frame for frame in inner if not _START.match(frame[0])]
    if any(frame[0] == ARENA for frame in inner):
        return ARENA
    own = [frame for frame in inner if not _of_cpython(frame)]
    if own:
        return next((bare(name) for name, _, _ in reversed(own) if name != _STRIPPED), "")
    return next((bare(name) for name, _, _ in inner if not _ALLOCATOR.match(name)), "")


def _of_cpython(frame: Frame) -> bool:
    return bool(_CPYTHON_FILE.match(frame[1]) or _CPYTHON.match(frame[0]))


def bare(symbol: str) -> str:
    """Return a C++ name without its arguments: ``at::native::clone`` of ``…clone(at::Tensor…)``."""
    name = symbol.replace("(anonymous namespace)::", "")
    if wrapped := _WRAPPED.search(name):
        name = wrapped[1]
    return re.split(r"[(<]", name, maxsplit=1)[0][:120] or name[:120]


def trim(python: Sequence[Frame], path: Sequence[str]) -> tuple[Frame | None, tuple[Frame, ...]]:
    """Return the innermost frame, and the nearest ones that say who held the memory.

    Args:
        python: Python frames, innermost first.
        path: folders that packages are in; files are named relative to the longest that fits.

    """
    roots = sorted((f"{folder.rstrip('/')}/" for folder in path if folder), key=len, reverse=True)
    named = [
        (function, _relative(file, roots), line)
        for function, file, line in python
        if not _COMPREHENSION.fullmatch(function)
    ]
    telling = [frame for frame in named if frame[1].startswith(_TELLING)]
    return (named[0] if named else None), tuple(telling[:_MOST_FRAMES])


def _relative(file: str, roots: Sequence[str]) -> str:
    return next((file[len(root) :] for root in roots if file.startswith(root)), file)
