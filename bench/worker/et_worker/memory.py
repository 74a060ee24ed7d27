"""Memory of the process itself, from the kernel. Everything in bytes.

On Linux it is the RSS. Its high-water mark is ``VmHWM`` of ``/proc/self/status`` and can be reset
by writing ``5`` to ``/proc/self/clear_refs`` (proc(5)). It misses nothing, where a sampling thread
misses short spikes. On macOS it is the physical footprint (:mod:`et_worker.footprint`), with the
peak of an interval that can be reset too. Elsewhere ``getrusage`` is what the standard library
has: ``ru_maxrss`` can't be reset, so there the peak of a phase is the peak of the process so far.
"""

from __future__ import annotations

import ctypes
import re
import resource
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from et_worker import footprint

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_FIELD = re.compile(r"^(Vm\w+):\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Memory:
    """One reading.

    Attributes:
        rss_bytes: resident now; on macOS the physical footprint; elsewhere the peak, for want of
            better.
        peak_bytes: its highest value since the last reset that worked.
        locked_bytes: locked in memory now (``VmLck``; 0 off Linux).

    """

    rss_bytes: int
    peak_bytes: int
    locked_bytes: int


def parse_status(text: str) -> dict[str, int]:
    """Return the ``Vm*`` fields of a ``/proc/PID/status`` text, in bytes.

    The file says kB and means KiB (proc(5)).
    """
    return {name: int(kib) * 1024 for name, kib in _FIELD.findall(text)}


def sample() -> Memory:
    """Read this process's memory."""
    if _has_footprint():
        now = footprint.read()
        peak = now.interval_peak_bytes if _resets() else now.lifetime_peak_bytes
        return Memory(now.footprint_bytes, max(peak, now.footprint_bytes), 0)
    fields = _status()
    if "VmHWM" in fields:
        # VmRSS is counted per CPU and may lag behind VmHWM or run ahead of it by some pages.
        rss = fields["VmRSS"]
        return Memory(rss, max(fields["VmHWM"], rss), fields.get("VmLck", 0))
    peak = _rusage_peak_bytes()
    return Memory(fields.get("VmRSS", peak), peak, fields.get("VmLck", 0))


def high_water_of(pid: int) -> int | None:
    """Return the highest RSS of another process so far; None where that can't be read."""
    try:
        return parse_status(Path(f"/proc/{pid}/status").read_text()).get("VmHWM")
    except OSError:
        return None


def reset_peak() -> bool:
    """Set the high-water mark to what is taken now; False where that is impossible."""
    if _has_footprint():
        return _resets() and footprint.begin_interval()
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return False
    return "VmHWM" in _status()


def trim_heap() -> None:
    """Give what was freed back to the kernel, where the C library can (malloc_trim(3), glibc).

    Imports free megabytes that stay resident. What the model takes of them would be in no peak
    above the baseline, and how much that is depends on the heap's layout.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))


def peak_source() -> str:
    """Say what a phase's ``peak_bytes`` is.

    Returns:
        ``VmHWM`` or ``phys_footprint`` (of that phase alone), the same with ``-cumulative``, or
        ``ru_maxrss`` (these: of the process so far, as nothing resets them). Resets the mark to
        find out.

    """
    if _has_footprint():
        return "phys_footprint" if _resets() else "phys_footprint-cumulative"
    if reset_peak():
        return "VmHWM"
    return "VmHWM-cumulative" if "VmHWM" in _status() else "ru_maxrss"


@cache
def _has_footprint() -> bool:
    """Tell whether this is macOS, with the layout that we know; checked once, by taking memory."""
    if sys.platform != "darwin":
        return False
    try:
        footprint.check_layout()
    except (OSError, ValueError):
        return False
    return True


@cache
def _resets() -> bool:
    """Tell whether an interval can be begun, and has a peak of its own then."""
    return footprint.begin_interval() and footprint.read().interval_peak_bytes > 0


def _status() -> dict[str, int]:
    try:
        return parse_status(_STATUS.read_text())
    except OSError:
        return {}


def _rusage_peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # getrusage(2) on each
