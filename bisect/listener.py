"""What a person sees of a search: stages, the range as it shrinks, what is measured now."""

from __future__ import annotations

import time
from bisect.metrics import METRICS, Metric
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from bench.values import format_seconds

_SHOWN = 3
"""Candidates named beside the range."""
_NOTABLE = 0.005
"""The least probability that is not shown as 0%."""


class Source(Protocol):
    """Where values come from."""

    def recorded(self, index: int) -> bool:
        """Say whether a revision's next value is read back, not measured."""

    def failure(self, index: int) -> str:
        """Say how a revision's last measurement failed."""


class ConsoleListener:
    """Prints one line per measurement, with the range that is left and its likeliest candidates.

    Args:
        console: where to.
        names: the revisions of the range.
        metric: says how to print a value.
        in_turn: the names are no range, but run in turn, each as often: their runs are counted
            together.
    """

    def __init__(
        self, console: Console, names: Sequence[str], metric: Metric, *, in_turn: bool = False
    ) -> None:
        self._console = console
        self._names = names
        self._metric = metric
        self._in_turn = in_turn
        self._began = time.monotonic()
        self._runs = 0
        self._label = ""
        self.source: Source | None = None
        """Knows what was recorded before, and why a measurement failed."""
        self._live = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._live.add_task("")

    def __enter__(self) -> ConsoleListener:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def stage(self, text: str) -> None:
        """Tell which stage begins."""
        self._line(f"{text}:")

    def probing(self, index: int, run: int, runs: int) -> None:
        """Tell what is about to be measured."""
        if self.source is not None and self.source.recorded(index):
            return  # read back, not measured: neither shown nor timed
        self._runs += 1
        self._label = f"  measuring {self._names[index]} ({self._place(index, run, runs)})"
        self._live.update(self._task, description=self._label)
        if not self._console.is_terminal:
            self._line(self._label)

    def measured(self, index: int, value: float | None) -> None:
        """Tell what a measurement gave."""
        why = self.source.failure(index) if self.source else ""
        failed = "can't be measured" + (f": {why}" if why else "")
        shown = failed if value is None else self._metric.show(value)
        self.say(f"{self._names[index]}: {shown}")

    def looked(self, index: int, name: str, value: float | None) -> None:
        """Tell the exact number that a revision's program was made for."""
        shown = "no program" if value is None else METRICS[name].show(value)
        self.say(f"{self._names[index]}: {name} {shown}")

    def believes(self, probabilities: Sequence[float]) -> None:
        """Tell the range that still holds 99% of the probability, and the likeliest candidates."""
        total = sum(probabilities)
        if total <= 0:
            return
        order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
        kept, mass = [], 0.0
        for index in order:
            kept.append(index)
            mass += probabilities[index] / total
            if mass >= 0.99:
                break
        first, last = min(kept), max(kept)
        known = [i for i in order[:_SHOWN] if probabilities[i] >= _NOTABLE]
        likely = ", ".join(f"{self._names[i]} {probabilities[i]:.0%}" for i in known)
        elapsed = time.monotonic() - self._began
        each = elapsed / max(self._runs, 1)
        steps = max(len(kept), 1).bit_length() + 4
        left = f"about {format_seconds(each * steps)} left" if self._runs else ""
        span = "1 candidate"
        if len(kept) > 1:
            span = f"{len(kept)} candidates in {self._names[first]}..{self._names[last]}"
        self.say("; ".join(filter(None, (span, likely, left))))

    def phase(self, name: str) -> None:
        """Tell the phase of the worker; in a terminal only."""
        self._live.update(self._task, description=f"{self._label} · {name}")

    def say(self, line: str) -> None:
        """Print a line beside the search, such as a step of an environment's build."""
        self._line(f"  {line}")

    def _place(self, index: int, run: int, runs: int) -> str:
        if self._in_turn:
            count = len(self._names)
            return f"{(run - 1) * count + index + 1} of {runs * count}"
        again = f", run {run} of {runs}" if runs > 1 else ""
        return f"{index} of {len(self._names) - 1}{again}"

    def _line(self, line: str) -> None:
        self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
