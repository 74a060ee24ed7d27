"""The loop of a bisection: endpoints, search, confirmation, what else changed in the range.

It asks a :class:`Prober` for values and a :class:`Listener` to tell of them; it does no I/O of its
own, so that the same loop runs on ExecuTorch and, in the tests, on histories made up.
"""

from __future__ import annotations

from bisect.finding import Culprit, Finding, Listener, Prober, Settings, Status
from bisect.noise import Endpoint, agrees, endpoint_check, welch_interval
from bisect.posterior import posterior
from bisect.problem import Observation, Problem, State
from bisect.search import Verdict, next_probe, verdict
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

_PATIENCE = 2
"""So many failures in a row, and a revision that did give values is not asked again."""
_CLEAR = 10.0
"""Steps of so many sigma need no more than two runs of each side to be confirmed."""


class _OutOfBudgetError(Exception):
    """No measurement is left."""


class Bisection:
    """One search over a range of revisions, numbered 0 (good) to `last` (bad).

    Args:
        problem: the range and what is known of it.
        prober: takes the measurements.
        settings: what the person set.
        listener: is told how it goes.
        narrow: gives the prior of the candidates, asked again after each measurement: what the
            measured processes read is known only then. Takes the place of the problem's.
    """

    def __init__(
        self,
        problem: Problem,
        prober: Prober,
        settings: Settings,
        listener: Listener,
        narrow: Callable[[], tuple[float, ...]] | None = None,
    ) -> None:
        self._problem = replace(
            problem,
            direction=settings.direction,
            confidence=settings.confidence,
            minor_share=settings.minor_share,
        )
        self._prober = prober
        self._settings = settings
        self._listener = listener
        self._spent = 0
        self._budget: int | None = None
        """None during the endpoint check, which is not counted."""
        self._narrow = narrow
        self._values: dict[int, list[float]] = {}
        self._broken: set[int] = set()
        """Never gave a value."""
        self._failures: Counter[int] = Counter()
        """In a row, by index."""

    def run(self) -> Finding:
        """Search to the end, whatever it is."""
        last = self._problem.last
        self._listener.stage("endpoints")
        ends = self._ends(0, last)
        if ends is None:
            return Finding("unmeasurable", None, (), None, 0)
        endpoint = self._compare(*ends)
        self._spent, self._budget = 0, self._settings.budget
        if endpoint.verdict != "differs":
            return Finding(endpoint.verdict, endpoint, (), self._state(0, last), 0)
        return self._search_all(endpoint)

    def _search_all(self, endpoint: Endpoint) -> Finding:
        """Find the culprit, then those of whatever else stepped in the range."""
        culprits: list[Culprit] = []
        suspects: list[Culprit] = []
        undone = False
        first_status: Status | None = None
        stretches = [(0, self._problem.last)]
        try:
            while stretches:
                low, high = stretches.pop(0)
                culprit, status = self._search(low, high, endpoint)
                contradicted = culprit and culprit.compared and not culprit.confirmed
                if contradicted and self._problem.prior and not undone:
                    # Narrowing by relevance was wrong, or is not needed to be right: start over
                    # with every candidate alike; nothing measured is lost.
                    self._listener.stage("the confirmation contradicts: relevance is undone")
                    self._problem = replace(self._problem, prior=())
                    self._narrow = None
                    undone = True
                    stretches.insert(0, (low, high))
                    continue
                if culprit and not culprit.confirmed:
                    suspects.append(culprit)
                    status = "unconfirmed"
                elif culprit:
                    culprits.append(culprit)
                    stretches += self._others(low, high, culprit, endpoint)
                first_status = first_status or status
        except _OutOfBudgetError:
            pass
        return Finding(
            first_status or "undecided",
            endpoint,
            tuple(sorted(culprits, key=lambda c: -abs(c.share))),
            self._state(0, self._problem.last),
            self._spent,
            undone,
            tuple(suspects),
        )

    def _search(self, low: int, high: int, endpoint: Endpoint) -> tuple[Culprit | None, Status]:
        self._listener.stage("search")
        while True:
            if self._narrow:
                self._problem = replace(self._problem, prior=self._narrow())
            state = self._state(low, high)
            belief = posterior(state)
            padded = [0.0] * low + [float(p) for p in belief.probabilities]
            self._listener.believes(state, padded)
            probe = next_probe(state)
            if probe is None:
                break
            index = low + probe.index
            for run in range(probe.repeats):
                self._listener.probing(index, run + 1, probe.repeats)
                if self._measure(index) is None:
                    break
            if index in (low, high) and self._lost(index):
                return None, "unmeasurable"
        found = verdict(state)
        if found.status == "no_change":
            return None, "no_difference"
        if found.status == "undecided":
            return None, "undecided"
        culprit = self._confirm(low, high, found, endpoint)
        return culprit, found.status

    def _confirm(self, low: int, high: int, found: Verdict, endpoint: Endpoint) -> Culprit:
        """Run culprit and parent in turn, anew, and take the size of the step from just these.

        The runs of the search were chosen for what they gave; these were not.
        """
        members = [low + i for i in found.credible_set]
        testable = [i for i in range(low, high + 1) if i in (low, high) or not self._lost(i)]
        index = low + found.culprit
        parent = max(i for i in testable if i < min(members))
        after = min(i for i in testable if i >= index)
        self._listener.stage("confirmation")
        step, interval, agreed = found.step, found.step_interval, False
        pair = self._compare_in_turn(parent, after, found.step, endpoint.sigma)
        if pair is not None:
            step, interval = self._gap(pair)
            agreed = self._as_large(step, found.step) and not interval[0] <= 0 <= interval[1]
        share = step / endpoint.difference if endpoint.difference else 0.0
        again = verdict(self._state(low, high))
        shifted = replace(
            again,
            culprit=low + again.culprit,
            credible_set=tuple(low + i for i in again.credible_set),
        )
        same = again.culprit == found.culprit
        confirmed = agreed and same
        return Culprit(index, parent, shifted, step, interval, share, confirmed, pair is not None)

    def _compare_in_turn(
        self, parent: int, after: int, step: float, sigma: float
    ) -> tuple[list[float], list[float]] | None:
        """Run two revisions in turn; None where the budget or one of them does not allow it.

        The few runs of one side can lie apart by chance, and not show a step that is there: then
        more are taken, once.
        """
        runs = self._confirmations(step, sigma)
        try:
            pair = self._in_turn(parent, after, runs)
        except _OutOfBudgetError:
            return None
        if pair is None or self._problem.exact:
            return pair
        size, (least, most) = self._gap(pair)
        if self._as_large(size, step) and least <= 0 <= most:
            try:
                more = self._in_turn(parent, after, max(runs, self._settings.repeats))
            except _OutOfBudgetError:
                return pair
            if more is not None:
                pair = pair[0] + more[0], pair[1] + more[1]
        return pair

    def _gap(self, pair: tuple[list[float], list[float]]) -> tuple[float, tuple[float, float]]:
        if self._problem.exact:
            step = pair[1][0] - pair[0][0]
            return step, (step, step)
        gap = welch_interval(*pair)
        return gap.difference, (gap.low, gap.high)

    def _as_large(self, step: float, searched: float) -> bool:
        """Say whether a step has the sign asked about, and half the size the search saw."""
        return agrees(step, self._settings.direction) and abs(step) >= abs(searched) / 2

    def _confirmations(self, step: float, sigma: float) -> int:
        """Return how many runs of each side: two where the step is far above the noise."""
        if self._problem.exact:
            return 1
        return 2 if abs(step) >= _CLEAR * sigma else max(2, self._settings.repeats)

    def _others(
        self, low: int, high: int, culprit: Culprit, endpoint: Endpoint
    ) -> list[tuple[int, int]]:
        """Return the stretches beside a culprit whose own ends still differ notably."""
        floor = max(self._settings.minor_share * abs(endpoint.difference), 6 * endpoint.sigma)
        enough = 1 if self._problem.exact else 2
        levels = {
            i: sum(v) / len(v)
            for i, v in self._values.items()
            if len(v) >= enough and not self._lost(i)
        }
        after = min((i for i in levels if i >= culprit.index), default=high)
        stretches = [(low, culprit.parent), (after, high)]
        return [
            (a, b)
            for a, b in stretches
            if a < b
            and {a, b} <= levels.keys()
            and abs(levels[b] - levels[a]) >= floor
            and agrees(levels[b] - levels[a], self._settings.direction)
        ]

    def _ends(self, low: int, high: int) -> tuple[list[float], list[float]] | None:
        """Bring both ends to enough runs; None where one can't be measured."""
        have = min(len(self._values.get(index, [])) for index in (low, high))
        wanted = 1 if self._problem.exact else self._settings.repeats
        if have < wanted and self._in_turn(low, high, wanted - have) is None:
            return None
        return self._values[low], self._values[high]

    def _in_turn(self, low: int, high: int, runs: int) -> tuple[list[float], list[float]] | None:
        """Take new runs of two revisions, one after the other; None where one can't be measured."""
        if self._problem.exact and {low, high} <= self._values.keys():
            return self._values[low], self._values[high]
        taken: tuple[list[float], list[float]] = ([], [])
        for run in range(runs):
            for side, index in zip(taken, (low, high), strict=True):
                self._listener.probing(index, run + 1, runs)
                while (value := self._measure(index)) is None:
                    if self._lost(index):
                        return None
                side.append(value)
        return taken

    def _compare(self, good: list[float], bad: list[float]) -> Endpoint:
        if not self._problem.exact:
            return endpoint_check(good, bad, self._settings.direction, self._settings.floor)
        difference = bad[0] - good[0]
        shown = difference != 0 and abs(difference) >= self._settings.floor
        agreed = agrees(difference, self._settings.direction)
        kind: Literal["differs", "no_difference", "opposite"] = "no_difference"
        if shown:
            kind = "differs" if agreed else "opposite"
        return Endpoint(difference, (difference, difference), 0.0, kind)

    def _measure(self, index: int) -> float | None:
        if self._budget is not None and self._spent >= self._budget:
            raise _OutOfBudgetError
        self._spent += 1
        value = self._prober.measure(index)
        if value is not None:
            self._values.setdefault(index, []).append(value)
            self._failures[index] = 0
            return value
        self._failures[index] += 1
        if index not in self._values:
            self._broken.add(index)
        return None

    def _lost(self, index: int) -> bool:
        """Say whether a revision is not to be asked again: broken, or failing repeatedly."""
        return index in self._broken or self._failures[index] >= _PATIENCE

    def _state(self, low: int, high: int) -> State:
        """Return what is known of a stretch, as a problem of its own, numbered from 0."""
        whole = self._problem
        lost = {i for i in range(low + 1, high) if self._lost(i)}
        problem = replace(
            whole,
            last=high - low,
            prior=whole.prior[low:high],
            costs=whole.costs[low : high + 1],
            untestable=frozenset(i - low for i in lost),
        )
        seen = [
            Observation(index - low, value)
            for index, values in self._values.items()
            for value in values
            if low <= index <= high and index not in lost
        ]
        return State(problem, tuple(seen))
