"""What a person sees of a search."""

from __future__ import annotations

import io
from bisect.listener import ConsoleListener
from bisect.metrics import METRICS

from rich.console import Console

NAMES = ("good", "middle", "bad")


class Said:
    """A listener, and the lines that it printed."""

    def __init__(self, *, in_turn: bool = False) -> None:
        self._out = io.StringIO()
        console = Console(file=self._out, width=200)
        self.listener = ConsoleListener(console, NAMES, METRICS["export_peak"], in_turn=in_turn)

    @property
    def lines(self) -> list[str]:
        return self._out.getvalue().splitlines()


class Source:
    """A revision read back, and one that could not be measured."""

    def recorded(self, index: int) -> bool:
        return index == 0

    def failure(self, index: int) -> str:
        return "timed_out: ran for 60 s" if index == 1 else ""


def test_stages_stand_out_from_what_happens_in_them() -> None:
    said = Said()
    said.listener.stage("search")
    said.listener.probing(1, 1, 1)
    said.listener.say("exporting the program first")
    said.listener.measured(1, 2.5e6)
    assert said.lines == [
        "search:",
        "  measuring middle (1 of 2)",
        "  exporting the program first",
        "  middle: 2.5 MB",
    ]


def test_repeats_of_a_revision_are_counted() -> None:
    said = Said()
    said.listener.probing(2, 1, 3)
    said.listener.probing(2, 3, 3)
    assert said.lines == [
        "  measuring bad (2 of 2, run 1 of 3)",
        "  measuring bad (2 of 2, run 3 of 3)",
    ]


def test_what_runs_in_turn_is_counted_together() -> None:
    said = Said(in_turn=True)
    for run in (1, 2):
        for index in range(len(NAMES)):
            said.listener.probing(index, run, 2)
    assert [line.partition("(")[2] for line in said.lines] == [f"{n} of 6)" for n in range(1, 7)]


def test_what_is_read_back_is_not_shown_as_measured_and_a_failure_says_why() -> None:
    said = Said()
    said.listener.source = Source()
    said.listener.probing(0, 1, 1)
    said.listener.measured(1, None)
    assert said.lines == ["  middle: can't be measured: timed_out: ran for 60 s"]


def test_the_range_shrinks_to_what_holds_nearly_all_of_the_probability() -> None:
    said = Said()
    said.listener.believes([0.0, 0.997, 0.003])
    said.listener.believes([0.0, 0.25, 0.75])
    assert said.lines == [
        "  1 candidate; middle 100%",
        "  2 candidates in middle..bad; bad 75%, middle 25%",
    ]
