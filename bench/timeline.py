"""RSS against time, sampled from outside the worker while it runs.

``memory_info`` of psutil reads one line of the kernel's (``/proc/pid/statm``), in some ten
microseconds. ``smaps_rollup`` would tell more, but walks all of the process's pages under a lock
that its own page faults need: milliseconds for each gigabyte, so it is left alone.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import NamedTuple

import psutil

PERIOD_S = 0.005
LIMIT = 20_000
"""Points kept of one process; of more, every second is merged into the higher of the two."""


class Point(NamedTuple):
    """What was seen at one moment.

    Attributes:
        t_s: seconds since the process was started.
        rss_bytes: its RSS.
        file_bytes: how much of that are pages of files (and shared memory), such as a program
            that is mapped; None where the system doesn't say (macOS).

    """

    t_s: float
    rss_bytes: int
    file_bytes: int | None


class Timeline:
    """Follows one process from another thread, from entering a ``with`` to leaving it.

    Only changes are kept, so a process that stands still costs nothing.
    """

    def __init__(self, pid: int, began: float, period_s: float = PERIOD_S) -> None:
        """Get ready to follow a process.

        Args:
            pid: of the process.
            began: when it was started, by ``time.monotonic()``.
            period_s: seconds between two looks.

        """
        self.points: list[Point] = []
        self._pid, self._began, self._period_s = pid, began, period_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="timeline", daemon=True)

    def __enter__(self) -> Timeline:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _follow(self) -> None:
        try:
            process = psutil.Process(self._pid)
            while not self._done.wait(self._period_s):
                info = process.memory_info()
                if info.rss == 0:  # it has ended, and was not yet waited for
                    return
                t_s = round(time.monotonic() - self._began, 4)
                keep(self.points, Point(t_s, info.rss, getattr(info, "shared", None)))
        except psutil.Error:  # it has ended
            return


def keep(points: list[Point], point: Point, limit: int = LIMIT) -> None:
    """Append a point that differs from the last; keep at most ``limit``, and every high."""
    if points and points[-1][1:] == point[1:]:
        return
    points.append(point)
    if len(points) > limit:
        points[:] = thinned(points, limit // 2)


def thinned(points: list[Point], most: int) -> list[Point]:
    """Keep the highest of each stretch of neighbours, so that at most ``most`` are left."""
    size = -(-len(points) // most)
    stretches = (points[n : n + size] for n in range(0, len(points), size))
    return [max(stretch, key=lambda point: point.rss_bytes) for stretch in stretches]
