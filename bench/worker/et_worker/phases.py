"""Phases of a measurement: each with its seconds, RSS and high-water mark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from et_worker import memory
from et_worker.events import EventWriter


@dataclass
class Step:
    """All calls of one step within a phase.

    Attributes:
        calls: how many returned or raised.
        seconds: in all of them, steps inside included.
        peak_bytes: highest RSS during any.
        raised_bytes: by how much they raised the peak since the baseline, in sum: only a step that
            raises it can lower the export's peak by getting cheaper.

    """

    calls: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0
    raised_bytes: int = 0


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
        self._open: list[int] = []  # the peak so far of the phase, and of each step within it
        self._steps: dict[str, Step] = {}
        self.current: str | None = None
        self.baseline_bytes = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Emit ``enter``, run the body, emit ``phase`` (which is left out if it raises).

        Then ``step`` for each :meth:`step` that was called within.
        """
        self._events.emit("enter", phase=name)
        self.current = name
        self._steps = {}
        self._open = [0]
        memory.reset_peak()
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        now = self._observe()
        (peak,) = self._open
        self._open = []
        self._peak_bytes = max(self._peak_bytes, peak)
        self._events.emit(
            "phase",
            name=name,
            seconds=round(seconds, 6),
            rss_bytes=now.rss_bytes,
            peak_bytes=peak,
        )
        for step, found in self._steps.items():
            values = {**asdict(found), "seconds": round(found.seconds, 6)}
            self._events.emit("step", phase=name, name=step, **values)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Attribute the body to a step of the running phase; steps may nest and recur.

        Outside any phase it does nothing. It resets the kernel's mark, and keeps what it was.
        """
        if not self._open:
            yield
            return
        before = self.peak_bytes_now()
        self._open.append(0)
        memory.reset_peak()
        began = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - began
            self._observe()
            peak = self._open.pop()
            step = self._steps.setdefault(name, Step())
            step.calls += 1
            step.seconds += seconds
            step.peak_bytes = max(step.peak_bytes, peak)
            step.raised_bytes += max(0, peak - before)

    def _observe(self) -> memory.Memory:
        """Read the mark into the peaks of the phase and of all steps that run."""
        now = memory.sample()
        self._open = [max(peak, now.peak_bytes) for peak in self._open]
        return now

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
        now = self._observe()
        return max(self._peak_bytes, now.peak_bytes, *self._open[:1])
