"""The physical footprint of this process on macOS: what Activity Monitor and jetsam count.

RSS there leaves out what is compressed or swapped and the GPU's buffers; the footprint holds them
(a 16 GB export showed 65 GB of footprint and 37 GB of RSS). ``proc_pid_rusage`` of libproc gives
it, as a ``rusage_info_v4`` (<sys/resource.h>): 16 bytes of uuid and 35 integers of 64 bits.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from dataclasses import dataclass

_RUSAGE_INFO_V4 = 4
_LAYOUT = struct.Struct("=16s35Q")
# Numbers of the integers, in the order of the header.
_RESIDENT, _FOOTPRINT, _LIFETIME_MAX, _INTERVAL_MAX = 6, 7, 28, 33
_TRIAL = 8 << 20


@dataclass(frozen=True)
class Footprint:
    """One reading, in bytes.

    Attributes:
        footprint_bytes: physical footprint now.
        lifetime_peak_bytes: its highest value since the process began.
        interval_peak_bytes: its highest value since :func:`begin_interval`.
        resident_bytes: RSS now.

    """

    footprint_bytes: int
    lifetime_peak_bytes: int
    interval_peak_bytes: int
    resident_bytes: int


def parse(data: bytes) -> Footprint:
    """Read a ``rusage_info_v4``.

    Raises:
        ValueError: it is shorter than one, or its numbers contradict each other: then the layout
            is not what this was written for.

    """
    if len(data) < _LAYOUT.size:
        raise ValueError(f"rusage_info_v4 has {_LAYOUT.size} bytes, not {len(data)}")
    _uuid, *numbers = _LAYOUT.unpack_from(data)
    found = Footprint(
        numbers[_FOOTPRINT], numbers[_LIFETIME_MAX], numbers[_INTERVAL_MAX], numbers[_RESIDENT]
    )
    if not 0 < found.footprint_bytes <= found.lifetime_peak_bytes or not found.resident_bytes:
        raise ValueError(f"these are no memory sizes: {found}")
    return found


def read() -> Footprint:
    """Read this process's own.

    Raises:
        OSError: there is no ``proc_pid_rusage`` here, or it refuses.
        ValueError: see :func:`parse`.

    """
    buffer = ctypes.create_string_buffer(_LAYOUT.size)
    if _function("proc_pid_rusage")(os.getpid(), _RUSAGE_INFO_V4, buffer) != 0:
        raise OSError(ctypes.get_errno(), "proc_pid_rusage failed")
    return parse(buffer.raw)


def begin_interval() -> bool:
    """Let the interval's peak begin anew at what is taken now; False where that can't be done."""
    try:
        return bool(_function("proc_reset_footprint_interval")(os.getpid()) == 0)
    except OSError:
        return False


def check_layout() -> None:
    """Take some memory and see that the footprint grows by it.

    Raises:
        OSError: see :func:`read`.
        ValueError: it does not: another system's layout.

    """
    before = read().footprint_bytes
    with mmap.mmap(-1, _TRIAL) as block:
        block.write(b"\1" * _TRIAL)
        grown = read().footprint_bytes - before
    if not _TRIAL * 3 // 4 < grown < _TRIAL * 3:
        raise ValueError(f"{_TRIAL} bytes taken moved the footprint by {grown}")


def _function(name: str) -> ctypes._NamedFuncPointer:
    """Look a function of libproc up; on macOS it is in the library every process has."""
    try:
        found = ctypes.CDLL(None, use_errno=True)[name]
    except AttributeError as error:
        raise OSError(f"this system has no {name}") from error
    return found
