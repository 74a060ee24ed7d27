"""The loop of a bisection: endpoints, search, confirmation, what else changed in the range.

It asks a :class:`Prober` for values and a :class:`Listener` to tell of them; it does no I/O of its
own, so that the same loop runs on ExecuTorch and, in the tests, on histories made up.
"""

from __future__ import annotations

from bisect.companion import Trail, Trial, parted
from bisect.confirmation import Confirmation
from bisect.finding import Culprit, Finding, Listener, Prober, Settings, Status
from bisect.noise import Endpoint, agrees, endpoint_check
from bisect.posterior import posterior
from bisect.problem import Problem
from bisect.runs import OutOfBudgetError, Pair, Runs
from bisect.search import next_probes, verdict
from collections.abc import Callable
from dataclasses import replace
from typing import Literal


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
        self._narrow = narrow
        self._runs = Runs(prober, listener, exact=problem.exact, at_once=settings.parallel)
        self._trials: list[Trial] = []
        self._borne_out: Culprit | None = None
        """What the last companion named, and the metric confirmed."""

    def run(self) -> Finding:
        """Search to the end, whatever it is."""
        last = self._problem.last
        self._listener.stage("endpoints")
        ends = self._ends(0, last)
        if ends is None:
            return Finding("unmeasurable", None, (), None, 0)
        endpoint = self._compare(*ends)
        self._runs.limit(self._settings.budget)
        if endpoint.verdict != "differs":
            state = self._runs.state(self._problem, 0, last)
            return Finding(endpoint.verdict, endpoint, (), state, 0)
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
        except OutOfBudgetError:
            pass
        return Finding(
            first_status or "undecided",
            endpoint,
            tuple(sorted(culprits, key=lambda c: -abs(c.share))),
            self._runs.state(self._problem, 0, self._problem.last),
            self._runs.spent,
            undone,
            tuple(suspects),
            tuple(self._trials),
            self._runs.rounds,
        )

    def _search(self, low: int, high: int, endpoint: Endpoint) -> tuple[Culprit | None, Status]:
        confirmation = Confirmation(
            self._runs, self._settings, self._listener, endpoint, self._problem.exact
        )
        if by_companion := self._by_companion(low, high, confirmation):
            return by_companion, "found"
        self._listener.stage("search")
        while True:
            self._renew_prior()
            state = self._runs.state(self._problem, low, high)
            belief = posterior(state)
            padded = [0.0] * low + [float(p) for p in belief.probabilities]
            self._listener.believes(state, padded)
            probes = next_probes(state, self._settings.parallel)
            if not probes:
                break
            self._runs.take([(low + probe.index, probe.repeats) for probe in probes])
            if self._runs.lost(low) or self._runs.lost(high):
                return None, "unmeasurable"
        found = verdict(state)
        if found.status == "no_change":
            return None, "no_difference"
        if found.status == "undecided":
            return None, "undecided"
        earlier = self._borne_out
        if earlier and earlier.index == low + found.culprit:
            # Run against its parent before, for its companion's sake: more runs were wanted only
            # to be sure enough.
            return confirmation.seen_again(earlier, found, low), found.status
        return confirmation.confirm(self._problem, low, high, found), found.status

    def _by_companion(self, low: int, high: int, confirmation: Confirmation) -> Culprit | None:
        """Search by an exact number that changes as the metric does; the metric confirms.

        None where there is no such number, or the metric does not step where it does: what was
        measured on the way is kept, and the metric itself is to be searched.
        """
        levels = self._runs.levels()
        if self._problem.exact or not {low, high} <= levels.keys():
            return None
        difference = levels[high] - levels[low]
        companion = self._prober.companion(low, high, difference)
        tried = {trial.companion for trial in self._trials}
        if companion is None or companion in tried or high - low < 2:
            return None
        name = companion.name
        self._listener.stage(f"{name} changes too, and is exact: it is searched first")
        trail = Trail(self._problem, low, high, {low: companion.before, high: companion.after})
        while indices := trail.next(self._settings.parallel):
            looked = self._runs.programs(indices, name)
            trail = trail.saw(dict(zip(indices, looked, strict=True)))
            self._renew_prior()
            trail = replace(trail, problem=self._problem)
            self._listener.believes(
                trail.state, [0.0] * low + [float(p) for p in posterior(trail.state).probabilities]
            )
            if parted(trail, self._runs.state(self._problem, low, high)):
                self._trials.append(Trial(companion))
                return None
        named = trail.named()
        if named is None:
            self._trials.append(Trial(companion))
            return None
        expected = replace(named, step=difference, step_interval=(difference, difference))
        found = confirmation.confirm(self._problem, low, high, expected)
        sides = (self._prober.program(i, name) for i in (found.parent, found.index))
        trial = Trial(companion, found.index, *sides)
        self._trials.append(trial)
        self._borne_out = found if found.confirmed else None
        sure = found.confirmed and found.verdict.status == "found"
        return found if sure and trial.steps else None

    def _renew_prior(self) -> None:
        if self._narrow:
            self._problem = replace(self._problem, prior=self._narrow())

    def _others(
        self, low: int, high: int, culprit: Culprit, endpoint: Endpoint
    ) -> list[tuple[int, int]]:
        """Return the stretches beside a culprit whose own ends still differ notably."""
        floor = max(self._settings.minor_share * abs(endpoint.difference), 6 * endpoint.sigma)
        levels = self._runs.levels()
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

    def _ends(self, low: int, high: int) -> Pair | None:
        """Bring both ends to enough runs; None where one can't be measured."""
        values = self._runs.values
        have = min(len(values.get(index, [])) for index in (low, high))
        wanted = 1 if self._problem.exact else self._settings.repeats
        if have < wanted and self._runs.in_turn(low, high, wanted - have) is None:
            return None
        return values[low], values[high]

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
