"""What this machine is, for machine.json and the `machine` column."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

_OWN_CGROUPS = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


def describe() -> dict[str, Any]:
    """Describe the machine: nothing of it names a person or a host."""
    return {
        "label": label(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "usable_memory_bytes": memory_bytes(),
        "python": platform.python_version(),
        "transparent_hugepage": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": list(os.getloadavg()),
    }


def label() -> str:
    """Return one line for the `machine` column, the same for equal machines."""
    memory = round(psutil.virtual_memory().total / 2**30)
    processor = " ".join(_processor().replace("(R)", "").replace("(TM)", "").split())
    return (
        f"{platform.system()} {platform.machine()}, {processor}, "
        f"{usable_cores()} cores, {memory} GiB"
    )


def memory_bytes() -> int:
    """Return the memory that processes here may have; a container may allow less than there is."""
    return min([psutil.virtual_memory().total, *(limit for limit, _ in _memory_limits())])


def available_bytes() -> int:
    """Return the memory that processes could have now without any being pushed out."""
    return min([psutil.virtual_memory().available, *(left for _, left in _memory_limits())])


def _memory_limits() -> Iterator[tuple[int, int]]:
    """Give each memory limit of the control groups this is in, and what is left below it, in bytes.

    Each group up to the root may have its own; where a container does not see the groups above,
    its own is the root. Left is the limit without the kubelet's working set: file cache that is
    long unused is given up before anything is killed.
    Kernel documentation: admin-guide/cgroup-v2.rst, admin-guide/cgroup-v1/memory.rst.
    """
    for line in (_read(_OWN_CGROUPS) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # v2
            root, limit, used = _CGROUPS, "memory.max", "memory.current"
            cache = "inactive_file"
        elif "memory" in controllers.split(","):  # v1
            root = _CGROUPS / "memory"
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            most = _read(folder / limit) or ""
            if most.isdigit():  # else "max", or there is none
                taken = int(_read(folder / used) or 0)
                lines = (_read(folder / "memory.stat") or "").splitlines()
                unused = dict(entry.split(" ", 1) for entry in lines).get(cache, 0)
                yield int(most), max(0, int(most) - taken + int(unused))
            if folder == root:
                break


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


def _read(path: str | Path) -> str | None:
    with contextlib.suppress(OSError):
        return Path(path).read_text().strip()
    return None
