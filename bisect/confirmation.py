"""Whether a commit that the search names does what it is named for: run against its parent."""

from __future__ import annotations

from bisect.finding import Culprit, Listener, Settings
from bisect.noise import Endpoint, agrees, welch_interval
from bisect.problem import Problem
from bisect.runs import OutOfBudgetError, Pair, Runs
from bisect.search import Verdict, verdict
from dataclasses import dataclass, replace

_CLEAR = 10.0
"""Steps of so many sigma need no more than two runs of each side to be confirmed."""


@dataclass(frozen=True)
class Confirmation:
    """Runs culprit and parent in turn, anew, and takes the size of the step from just these.

    The runs of the search were chosen for what they gave; these were not.
    """

    runs: Runs
    settings: Settings
    listener: Listener
    endpoint: Endpoint
    exact: bool

    def confirm(self, problem: Problem, low: int, high: int, found: Verdict) -> Culprit:
        """Confirm, or not, what was found between two revisions.

        Args:
            problem: the whole range.
            low: the stretch's first revision.
            high: its last.
            found: the search's verdict, numbered from `low`; its `step` is what is expected.
        """
        members = [low + i for i in found.credible_set]
        testable = [i for i in range(low, high + 1) if i in (low, high) or not self.runs.lost(i)]
        index = low + found.culprit
        parent = max(i for i in testable if i < min(members))
        after = min(i for i in testable if i >= index)
        self.listener.stage("confirmation")
        step, interval, agreed = found.step, found.step_interval, False
        pair = self._compare_in_turn(parent, after, found.step)
        if pair is not None:
            step, interval = self._gap(pair)
            agreed = self._as_large(step, found.step) and not interval[0] <= 0 <= interval[1]
        whole = self.endpoint.difference
        again = verdict(self.runs.state(problem, low, high))
        return Culprit(
            index,
            parent,
            _shifted(again, low),
            step,
            interval,
            share=step / whole if whole else 0.0,
            confirmed=agreed and again.culprit == found.culprit,
            compared=pair is not None,
        )

    def seen_again(self, culprit: Culprit, found: Verdict, low: int) -> Culprit:
        """Return a culprit that was confirmed before with what is found of it now."""
        return replace(culprit, verdict=_shifted(found, low))

    def _compare_in_turn(self, parent: int, after: int, step: float) -> Pair | None:
        """Run two revisions in turn; None where the budget or one of them does not allow it.

        The few runs of one side can lie apart by chance, and not show a step that is there: then
        more are taken, once.
        """
        runs = self._count(step)
        try:
            pair = self.runs.in_turn(parent, after, runs)
        except OutOfBudgetError:
            return None
        if pair is None or self.exact:
            return pair
        size, (least, most) = self._gap(pair)
        if self._as_large(size, step) and least <= 0 <= most:
            try:
                more = self.runs.in_turn(parent, after, max(runs, self.settings.repeats))
            except OutOfBudgetError:
                return pair
            if more is not None:
                pair = pair[0] + more[0], pair[1] + more[1]
        return pair

    def _gap(self, pair: Pair) -> tuple[float, tuple[float, float]]:
        if self.exact:
            step = pair[1][0] - pair[0][0]
            return step, (step, step)
        gap = welch_interval(*pair)
        return gap.difference, (gap.low, gap.high)

    def _as_large(self, step: float, searched: float) -> bool:
        """Say whether a step has the sign asked about, and half the size the search saw."""
        return agrees(step, self.settings.direction) and abs(step) >= abs(searched) / 2

    def _count(self, step: float) -> int:
        """Return how many runs of each side: two where the step is far above the noise."""
        if self.exact:
            return 1
        clear = abs(step) >= _CLEAR * self.endpoint.sigma
        return 2 if clear else max(2, self.settings.repeats)


def _shifted(found: Verdict, low: int) -> Verdict:
    """Return a verdict on a stretch in the numbers of the whole range."""
    members = tuple(low + i for i in found.credible_set)
    return replace(found, culprit=low + found.culprit, credible_set=members)
