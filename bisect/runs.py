"""The measurements of one range: taken in order, counted against a budget, remembered."""

from __future__ import annotations

from bisect.finding import Listener, Prober
from bisect.problem import Observation, Problem, State
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from statistics import median
from typing import TypeVar

_PATIENCE = 2
"""So many failures in a row, and a revision that did give values is not asked again."""

Wanted = TypeVar("Wanted")
Pair = tuple[list[float], list[float]]
"""The values of two revisions, in the order they were taken."""


class OutOfBudgetError(Exception):
    """No measurement is left."""


class Runs:
    """What was measured of revisions 0 to `last`, and what can't be.

    Attributes:
        values: of each revision, in the order they were taken.
        spent: measurements that count.
        rounds: how often something was waited for, of what counts: one measurement, or several
            side by side.
        budget: the most that may count; None while none is counted.
        at_once: the most measurements side by side.
    """

    def __init__(
        self, prober: Prober, listener: Listener, *, exact: bool, at_once: int = 1
    ) -> None:
        self._prober = prober
        self.at_once = at_once
        self._listener = listener
        self._exact = exact
        self._broken: set[int] = set()
        """Never gave a value."""
        self._failures: Counter[int] = Counter()
        """In a row, by index."""
        self._without_program: set[int] = set()
        self.values: dict[int, list[float]] = {}
        self.spent = 0
        self.rounds = 0
        self.budget: int | None = None

    def limit(self, budget: int) -> None:
        """Count from here."""
        self.spent, self.rounds, self.budget = 0, 0, budget

    def take(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Take runs of revisions, as many side by side as may be.

        A revision that fails gets no more of its runs.

        Args:
            wanted: revisions, and how often to run each.

        Raises:
            OutOfBudgetError: if there is no measurement left for the next.
        """
        again = [[(index, run + 1, runs) for run in range(runs)] for index, runs in wanted]
        # The first run of each, then the second of each.
        queue = [one for turn in zip_longest(*again) for one in turn if one is not None]
        failed: set[int] = set()
        while queue := [one for one in queue if one[0] not in failed]:
            taken = self._round(queue[: self.at_once])
            failed |= {index for (index, _, _), v in zip(queue, taken, strict=False) if v is None}
            queue = queue[len(taken) :]

    def in_turn(self, first: int, second: int, runs: int) -> Pair | None:
        """Take new runs of two revisions in turn, or side by side; None where one can't be run.

        An exact metric is not measured twice: what is known of it is returned.
        """
        if self._exact and {first, second} <= self.values.keys():
            return self.values[first], self.values[second]
        taken: dict[int, list[float]] = {first: [], second: []}
        while queue := [
            (index, turn + 1, runs)
            for turn in range(runs)
            for index in (first, second)
            if turn >= len(taken[index])
        ]:
            now = queue[: self.at_once]
            for (index, _, _), value in zip(now, self._round(now), strict=False):
                if value is not None:
                    taken[index].append(value)
            if self.lost(first) or self.lost(second):
                return None
        return taken[first], taken[second]

    def _round(self, wanted: Sequence[tuple[int, int, int]]) -> list[float | None]:
        """Measure revisions side by side, as many of them as the budget allows.

        Args:
            wanted: index, and which run of how many it is, for whoever watches.

        Raises:
            OutOfBudgetError: if it allows none.
        """
        wanted = self._allowed(wanted)
        for index, run, runs in wanted:
            self._listener.probing(index, run, runs)
        values = self._prober.measure([index for index, _, _ in wanted])
        for (index, _, _), value in zip(wanted, values, strict=True):
            self._listener.measured(index, value)
            self._note(index, value)
        return values

    def _note(self, index: int, value: float | None) -> None:
        if value is not None:
            self.values.setdefault(index, []).append(value)
            self._failures[index] = 0
            return
        self._failures[index] += 1
        if index not in self.values:
            self._broken.add(index)

    def programs(self, indices: Sequence[int], name: str) -> list[float | None]:
        """Return an exact number of each revision's program, such as its size.

        Nothing is taken where it is known already; else the cheapest process that shows it, side
        by side. None where there is no program.

        Raises:
            OutOfBudgetError: if there is no measurement left for the next.
        """
        known = {index: self._prober.program(index, name) for index in indices}
        unknown = [
            index
            for index in indices
            if known[index] is None and index not in self._without_program and not self.lost(index)
        ]
        while unknown:
            unknown = unknown[self._look(unknown[: self.at_once], name) :]
        return [self._prober.program(index, name) for index in indices]

    def _look(self, wanted: Sequence[int], name: str) -> int:
        """Have programs made side by side, as many as the budget allows; return how many."""
        if self._prober.makes_programs:
            wanted = self._allowed(wanted)
            for index in wanted:
                self._listener.probing(index, 1, 1)
            self._prober.make_programs(wanted)
        else:  # only measuring shows it
            wanted = wanted[: len(self._round([(index, 1, 1) for index in wanted]))]
        for index in wanted:
            known = self._prober.program(index, name)
            if known is None:
                self._without_program.add(index)
            self._listener.looked(index, name, known)
        return len(wanted)

    def _allowed(self, wanted: Sequence[Wanted]) -> Sequence[Wanted]:
        """Count one round; return those of its measurements that the budget allows.

        Raises:
            OutOfBudgetError: if it allows none.
        """
        left = len(wanted) if self.budget is None else self.budget - self.spent
        if left <= 0:
            raise OutOfBudgetError
        self.rounds += 1
        self.spent += min(left, len(wanted))
        return wanted[:left]

    def lost(self, index: int) -> bool:
        """Say whether a revision is not to be asked again: broken, or failing repeatedly."""
        return index in self._broken or self._failures[index] >= _PATIENCE

    def levels(self) -> dict[int, float]:
        """Return the median of each revision that was run often enough to tell its level."""
        enough = 1 if self._exact else 2
        return {
            index: median(values)
            for index, values in self.values.items()
            if len(values) >= enough and not self.lost(index)
        }

    def state(self, problem: Problem, low: int, high: int) -> State:
        """Return what is known of a stretch, as a problem of its own, numbered from 0."""
        lost = {i for i in range(low + 1, high) if self.lost(i)}
        seen = [
            Observation(index - low, value)
            for index, values in self.values.items()
            for value in values
            if low <= index <= high and index not in lost
        ]
        return State(problem.stretch(low, high, lost), tuple(seen))
