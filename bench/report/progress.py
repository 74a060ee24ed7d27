"""Progress of a run: one live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from bench.values import format_seconds


class RunProgress:
    """Says what runs now, n of N, elapsed and left.

    Args:
        console: where to; a live line where it is a terminal.
        total: number of jobs of the plan.
        done: jobs that an earlier start of this run has finished.

    """

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self._console = console
        self._total = total
        self._number = done
        self._began = time.monotonic()
        self._left_s = 0.0
        self._live = Progress(
            SpinnerColumn(),
            MofNCompleteColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
            TextColumn("[dim]{task.fields[clock]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._live.add_task("", total=total, completed=done, clock="")

    @contextmanager
    def shown(self) -> Iterator[RunProgress]:
        """Show the live line for the duration of the block."""
        with self._live:
            yield self

    def begin(self, label: str, left_s: float) -> None:
        """Begin a job; ``left_s`` is the estimate for it and all that follow it, in seconds."""
        self._number += 1
        self._left_s = left_s
        self._label = label
        if self._console.is_terminal:
            self._update(label)
        else:
            self._print(f"[{self._number}/{self._total}] {label}  ({self._clock()})")

    def phase(self, name: str) -> None:
        """Say which phase the running job is in; in a terminal only."""
        if self._console.is_terminal:
            self._update(f"{self._label} · {name}")

    def say(self, line: str) -> None:
        """Print a line beside the progress, such as a step of an environment's build."""
        self._print(f"  {line}")

    def end(self, line: str) -> None:
        """End a job with one line of result."""
        self._live.update(self._task, completed=self._number)
        self._print(
            f"[{self._number}/{self._total}] {line}" if self._console.is_terminal else f"  {line}"
        )

    def arrived(self, line: str) -> None:
        """Count and print a job that was done elsewhere."""
        self._number += 1
        self._live.update(self._task, completed=self._number)
        self._print(f"[{self._number}/{self._total}] {line}")

    def _update(self, text: str) -> None:
        self._live.update(self._task, description=text, clock=self._clock())

    def _clock(self) -> str:
        elapsed = format_seconds(time.monotonic() - self._began)
        return f"{elapsed} elapsed, about {format_seconds(self._left_s)} left"

    def _print(self, line: str) -> None:
        self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
