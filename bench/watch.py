"""One worker process from outside: its end, its limits, its RSS and that of its group."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psutil

from bench.request import Limits

EndedBy = Literal["timeout", "memory", "group", "oom", None]
"""Which limit ended a worker: ``memory`` is its own RSS, ``group`` that of its processes' sum."""


class Watch:
    """Follows one process, the leader of a process group of its own.

    ``ru_maxrss`` outlives an exec (the kernel keeps the highest of all programs that a process
    was): it holds what this process held when it started the leader, by vfork, and what the leader
    held before it became another program. Where that may be all, it is left out.

    Attributes:
        ended_by: the limit that it went over.
        returncode: as of ``subprocess``; None while it runs.
        rusage_peak_bytes: ``ru_maxrss`` of the finished leader; None where it tells nothing.
        sampled_peak_bytes: highest RSS of the leader that was seen since its baseline.

    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        began: float,
        becomes: Path | None = None,
    ) -> None:
        """Begin to follow.

        Args:
            process: the leader, just started.
            limits: after which the group is killed.
            began: ``time.monotonic()`` when it was started.
            becomes: the program that the leader execs; what it holds until then does not count.

        """
        self._process = process
        self._limits = limits
        self._began = began
        self._becomes = becomes
        self._inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._others: dict[int, int] = {}
        self.ended_by: EndedBy = None
        self.returncode: int | None = None
        self.rusage_peak_bytes: int | None = None
        self.sampled_peak_bytes: int | None = None
        try:
            self._sampled: psutil.Process | None = psutil.Process(process.pid)
        except psutil.NoSuchProcess:
            self._sampled = None

    def finished(self) -> bool:
        """Collect the leader if it ended; kill its group if it went over a limit."""
        if self._collect(os.WNOHANG):
            return True
        self.ended_by = self._over()
        if self.ended_by is None:
            return False
        self.kill_group()
        self.reap()
        return True

    def baseline(self) -> None:
        """Start the sampled peak anew: what was seen until now is none of the measured."""
        self.sampled_peak_bytes = None

    def kill_group(self) -> None:
        """Kill whatever of the worker's process group is still there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def reap(self) -> None:
        """Wait for the leader, so that no zombie and no rusage is lost."""
        if self.returncode is None:
            self._collect(0)

    def _over(self) -> EndedBy:
        rss, cap = self._rss(), self._limits.memory_cap
        if cap is not None:
            if rss > cap:
                return "memory"
            before, self._others = self._others, dict(others_rss(self._process.pid))
            # What a child has it has at two samples; see also `_borrowed`.
            if rss + sum(min(now, before.get(pid, 0)) for pid, now in self._others.items()) > cap:
                return "group"
        late = time.monotonic() - self._began > self._limits.timeout_s
        return "timeout" if late else None

    def _collect(self, flags: int) -> bool:
        try:
            pid, code, usage = os.wait4(self._process.pid, flags)
        except ChildProcessError:  # collected already
            return True
        if pid == 0:
            return False
        self.returncode = self._process.returncode = os.waitstatus_to_exitcode(code)
        scale = 1 if sys.platform == "darwin" else 1024  # getrusage(2): KiB on Linux
        if self._becomes is None and usage.ru_maxrss > self._inherited:
            self.rusage_peak_bytes = usage.ru_maxrss * scale
        return True

    def _rss(self) -> int:
        if self._sampled is None or not self._became():
            return 0
        try:
            rss: int = self._sampled.memory_info().rss
        except psutil.Error:
            return 0
        self.sampled_peak_bytes = max(rss, self.sampled_peak_bytes or 0)
        return rss

    def _became(self) -> bool:
        if self._becomes is None:
            return True
        try:
            return Path(f"/proc/{self._process.pid}/exe").samefile(self._becomes)
        except OSError:  # it ended
            return False


def others_rss(leader: int) -> Iterator[tuple[int, int]]:
    """Give the pid and the RSS, in bytes, of each process of a group but its leader.

    Those that would be killed with it, orphans too; a child that began a session of its own is
    none of them. What several share counts for each.
    """
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.Error):
            if pid != leader and os.getpgid(pid) == leader and not _borrowed(pid):
                yield pid, psutil.Process(pid).memory_info().rss


def _borrowed(pid: int) -> bool:
    """Tell whether a process has no memory of its own yet: between vfork and exec.

    It runs in its parent's then, and shows the same sizes to the page, which is how it is told
    apart (proc(5), statm). A parent of several threads may grow between two looks: hence two.
    """
    with contextlib.suppress(OSError):
        parent = psutil.Process(pid).ppid()
        for _look in range(2):
            sizes = [Path(f"/proc/{who}/statm").read_bytes() for who in (pid, parent)]
            if sizes[0] == sizes[1]:
                return True
    return False


def oom_kills() -> int:
    """Return how many processes the kernel's out-of-memory killer has ended; 0 off Linux."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
