"""The measurements of one range: taken in order, counted against a budget, remembered."""

from __future__ import annotations

from bisect.finding import Listener, Prober
from bisect.problem import Observation, Problem, State
from collections import Counter

_PATIENCE = 2
"""So many failures in a row, and a revision that did give values is not asked again."""

Pair = tuple[list[float], list[float]]
"""The values of two revisions, in the order they were taken."""


class OutOfBudgetError(Exception):
    """No measurement is left."""


class Runs:
    """What was measured of revisions 0 to `last`, and what can't be.

    Attributes:
        values: of each revision, in the order they were taken.
        spent: measurements that count.
        budget: the most that may count; None while none is counted.
    """

    def __init__(self, prober: Prober, listener: Listener, *, exact: bool) -> None:
        self._prober = prober
        self._listener = listener
        self._exact = exact
        self._broken: set[int] = set()
        """Never gave a value."""
        self._failures: Counter[int] = Counter()
        """In a row, by index."""
        self._without_program: set[int] = set()
        self.values: dict[int, list[float]] = {}
        self.spent = 0
        self.budget: int | None = None

    def limit(self, budget: int) -> None:
        """Count from here."""
        self.spent, self.budget = 0, budget

    def take(self, index: int, run: int = 1, runs: int = 1) -> float | None:
        """Measure a revision once more; None where that gave no value.

        Args:
            index: the revision.
            run: which one in a row this is, for whoever watches.
            runs: of how many.

        Raises:
            OutOfBudgetError: if none is left.
        """
        self._count()
        self._listener.probing(index, run, runs)
        value = self._prober.measure(index)
        self._listener.measured(index, value)
        if value is not None:
            self.values.setdefault(index, []).append(value)
            self._failures[index] = 0
            return value
        self._failures[index] += 1
        if index not in self.values:
            self._broken.add(index)
        return None

    def in_turn(self, first: int, second: int, runs: int) -> Pair | None:
        """Take new runs of two revisions, one after the other; None where one can't be measured.

        An exact metric is not measured twice: what is known of it is returned.
        """
        if self._exact and {first, second} <= self.values.keys():
            return self.values[first], self.values[second]
        taken: Pair = ([], [])
        for run in range(runs):
            for side, index in zip(taken, (first, second), strict=True):
                while (value := self.take(index, run + 1, runs)) is None:
                    if self.lost(index):
                        return None
                side.append(value)
        return taken

    def program(self, index: int, name: str) -> float | None:
        """Return an exact number of a revision's program, such as its size.

        Nothing is taken where it is known already; else the cheapest process that shows it. None
        where there is no program.
        """
        known = self._prober.program(index, name)
        if known is not None or index in self._without_program or self.lost(index):
            return known
        self._count()
        self._listener.probing(index, 1, 1)
        if not self._prober.make_program(index):
            self.spent -= 1  # only measuring shows it, which counts by itself
            self.take(index)
        known = self._prober.program(index, name)
        if known is None:
            self._without_program.add(index)
        self._listener.looked(index, name, known)
        return known

    def lost(self, index: int) -> bool:
        """Say whether a revision is not to be asked again: broken, or failing repeatedly."""
        return index in self._broken or self._failures[index] >= _PATIENCE

    def levels(self) -> dict[int, float]:
        """Return the mean of each revision that was run often enough to tell its level."""
        enough = 1 if self._exact else 2
        return {
            index: sum(values) / len(values)
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

    def _count(self) -> None:
        if self.budget is not None and self.spent >= self.budget:
            raise OutOfBudgetError
        self.spent += 1
