"""Phases of a measurement: each with its seconds, RSS and high-water mark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from et_worker import memory
from et_worker.events import EventWriter


class Phases:
    """Reports phases as events and keeps the peak of all of them since the baseline.

    What runs between two phases (hashing a file, checking outputs) is the instrument, not the
    measured thing: the mark is reset when a phase begins, so it is in no peak.

    Attributes:
        current: name of the phase that runs, or that an exception ended; None before the first.
        baseline_bytes: RSS at :meth:`baseline`; 0 before.

    """

    def __init__(self, events: EventWriter) -> None:
        self._events = events
        self._peak_bytes = 0
        self.current: str | None = None
        self.baseline_bytes = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Emit ``enter``, run the body, emit ``phase`` (which is left out if it raises)."""
        self._events.emit("enter", phase=name)
        self.current = name
        memory.reset_peak()
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        now = memory.sample()
        self._peak_bytes = max(self._peak_bytes, now.peak_bytes)
        self._events.emit(
            "phase",
            name=name,
            seconds=round(seconds, 6),
            rss_bytes=now.rss_bytes,
            peak_bytes=now.peak_bytes,
        )

    def baseline(self, *, threads: int) -> None:
        """Emit ``baseline``: after the imports, before anything of the model exists.

        Args:
            threads: torch's intra-op thread count, which nobody set.

        """
        memory.trim_heap()
        memory.reset_peak()
        now = memory.sample()
        self.baseline_bytes = self._peak_bytes = now.rss_bytes
        self._events.emit(
            "baseline", rss_bytes=now.rss_bytes, peak_bytes=now.peak_bytes, threads=threads
        )

    def peak_bytes(self) -> int:
        """Highest RSS of any phase since the baseline, the finished ones."""
        return self._peak_bytes

    def peak_bytes_now(self) -> int:
        """As :meth:`peak_bytes`, with the running phase so far."""
        return max(self._peak_bytes, memory.sample().peak_bytes)
