"""The worker as a process: its start, its death with its parent, how it may map files."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_CAP_IPC_LOCK = 14  # linux/capability.h
_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h: two 32-bit words of each set
_WATCH_S = 0.5

LOAD_MODES = ("mmap", "mlock", "buffer")


def age() -> float:
    """Return the seconds since this process started.

    From ``/proc/self/stat`` (field 22, ticks since boot, proc(5); fine to 10 ms). Where there is
    none: 0, the age when the first line of ours ran, near enough.
    """
    try:
        stat = Path("/proc/self/stat").read_text()
        ticks = int(stat.rpartition(")")[2].split()[19])
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return max(seconds, 0.0)  # a container may have a boot clock of its own


def usable_cpus() -> int:
    """Return how many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def die_with_parent(parent_pid: int | None = None) -> None:
    """Arrange that no worker outlives the process that started it, even one killed by ``-9``.

    On Linux the kernel does it (``PR_SET_PDEATHSIG``, prctl(2)); note that it goes by the
    *thread* that started us: a controller must start workers from a thread that waits for them.
    Elsewhere, or if the kernel refuses, a thread watches for a change of parent.

    Args:
        parent_pid: the controller. If given and not our parent by now, it died before we asked:
            exit at once.

    """
    parent = os.getppid()
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        watched = libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
    else:
        watched = False
    if os.getppid() != (parent_pid or parent):
        os._exit(1)
    if not watched:
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def pin_load_mode(mode: str) -> None:
    """Make loading a program by path behave the same for every user.

    ExecuTorch's Python runtime maps the file and locks what it may, ignoring refusal: its RSS
    then depends on the user's memlock limit and on being root. ``mmap`` makes every lock fail;
    ``mlock`` asks for as much as the hard limit allows; ``buffer`` maps nothing.

    Raises:
        ValueError: an unknown mode.

    """
    if mode not in LOAD_MODES:
        raise ValueError(f"unknown load mode {mode!r}; known: {', '.join(LOAD_MODES)}")
    if mode == "mmap":
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        if sys.platform.startswith("linux"):
            _drop_capability(_CAP_IPC_LOCK)  # root's right to pass over the limit
    elif mode == "mlock":
        _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses infinity: keep the soft one
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(1)


def _drop_capability(number: int) -> None:
    """Clear one capability of the calling thread, effective and permitted (capset(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # (effective, permitted, inheritable) of bits 0-31, of 32-63
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget failed")
    keep = 0xFFFFFFFF & ~(1 << number)
    for index in (0, 1, 2):
        sets[index] &= keep
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")
