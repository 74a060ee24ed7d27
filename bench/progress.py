"""Who is told what goes on while a measurement is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Progress(Protocol):
    """Is told what goes on during one measurement."""

    def phase(self, name: str) -> None:
        """Take note of the phase the worker entered."""

    def say(self, line: str) -> None:
        """Take note of a step beside the worker, such as an environment being built."""


@dataclass(frozen=True)
class Unwatched:
    """Progress where nobody watches: lines go where they are told to, phases nowhere."""

    line: Callable[[str], None]

    def phase(self, name: str) -> None:
        """Take no note of it."""

    def say(self, line: str) -> None:
        """Pass it on."""
        self.line(line)
