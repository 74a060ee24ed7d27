"""Runs what the search settled on against its parent, and keeps what these runs say.

The runs of the search were chosen for what they gave; these were not: the size of a step is theirs.
What follows from them is said in :mod:`bisect.judgement`.
"""

from __future__ import annotations

from bisect.finding import Culprit, Listener, Settings
from bisect.judgement import TRIES, Bracket, Judged, bracket, judge
from bisect.noise import Endpoint, noise_of
from bisect.problem import State
from bisect.runs import Runs
from bisect.search import Verdict
from collections import Counter
from dataclasses import dataclass, field, replace

_CLEAR = 10.0
"""Steps of so many sigma need no more than two runs of each side to be confirmed."""


@dataclass(frozen=True)
class Confirmation:
    """The comparisons of one stretch; revisions are numbered as in the whole range.

    Attributes:
        low: where the stretch begins.
        taken: the runs taken in turn, by the two revisions.
        tries: how often they were asked for.
    """

    runs: Runs
    settings: Settings
    listener: Listener
    endpoint: Endpoint
    exact: bool
    low: int
    taken: dict[Bracket, tuple[list[float], list[float]]] = field(default_factory=dict)
    tries: Counter[Bracket] = field(default_factory=Counter)

    def culprit(self, state: State, found: Verdict) -> Culprit:
        """Return what the search settled on, and whether its comparison bears it out so far.

        Args:
            state: of the stretch.
            found: the search's verdict on it.
        """
        before, after = (self.low + i for i in bracket(state, found))
        judged = self.judged((before, after), found.step)
        step, interval = found.step, found.step_interval
        if judged is not None:
            step, interval = judged.step, judged.interval
        whole = self.endpoint.difference
        members = tuple(self.low + i for i in found.credible_set)
        return Culprit(
            self.low + found.culprit,
            before,
            replace(found, culprit=self.low + found.culprit, credible_set=members),
            step,
            interval,
            share=step / whole if whole else 0.0,
            confirmed=judged is not None and judged.borne_out,
            compared=judged is not None,
            after=after,
        )

    def judged(self, pair: Bracket, searched: float) -> Judged | None:
        """Say what two revisions' runs in turn say of a step; None where there are none."""
        if pair not in self.taken:
            return None
        noise = noise_of(self.runs.values.values())
        return judge(self.taken[pair], searched, self.settings.direction, noise, self.exact)

    def spent(self, culprit: Culprit) -> bool:
        """Say whether a commit and its parent were run in turn as often as they may be."""
        return self.tries[culprit.parent, culprit.after] >= TRIES

    def compare(self, culprit: Culprit) -> bool:
        """Run a commit and its parent in turn; say whether both could be run.

        The few runs of one side can lie apart by chance, and not show a step that is there: then
        more are taken, once.

        Raises:
            OutOfBudgetError: if no measurement is left.
        """
        pair, step = (culprit.parent, culprit.after), culprit.verdict.step
        self.listener.stage("confirmation")
        self.tries[pair] += 1
        clear = abs(step) >= _CLEAR * self.endpoint.sigma
        count = 2 if clear and pair not in self.taken else max(2, self.settings.repeats)
        if not self._take(pair, count):
            return False
        now = self.judged(pair, step)
        if now is not None and now.borne_out and now.clear:
            return True
        return self.exact or self._take(pair, max(count, self.settings.repeats))

    def _take(self, pair: Bracket, count: int) -> bool:
        new = self.runs.in_turn(*pair, 1 if self.exact else count)
        if new is None:
            return False
        if self.exact:
            self.taken[pair] = new
        else:
            first, second = self.taken.get(pair, ([], []))
            self.taken[pair] = [*first, *new[0]], [*second, *new[1]]
        return True
