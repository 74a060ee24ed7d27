"""What this machine is, for machine.json and the `machine` column."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path
from typing import Any

import psutil


def describe() -> dict[str, Any]:
    """Describe the machine: nothing of it names a person or a host."""
    return {
        "label": label(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_bytes": memory_bytes(),
        "python": platform.python_version(),
        "transparent_hugepage": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": list(os.getloadavg()),
    }


def label() -> str:
    """Return one line for the `machine` column, the same for equal machines."""
    memory = round(memory_bytes() / 2**30)
    processor = " ".join(_processor().replace("(R)", "").replace("(TM)", "").split())
    return (
        f"{platform.system()} {platform.machine()}, {processor}, "
        f"{usable_cores()} cores, {memory} GiB"
    )


def memory_bytes() -> int:
    """Return the size of the memory."""
    return int(psutil.virtual_memory().total)


def available_bytes() -> int:
    """Return the memory that processes could have now without any being pushed out."""
    return int(psutil.virtual_memory().available)


def usable_cores() -> int:
    """Return the cores this process may use, which a container may have fewer of."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _read(path: str) -> str | None:
    with contextlib.suppress(OSError):
        return Path(path).read_text().strip()
    return None
