"""The loop of a bisection: endpoints, search, confirmation, what else changed in the range.

It asks a :class:`Prober` for values and a :class:`Listener` to tell of them; it does no I/O of its
own, so that the same loop runs on ExecuTorch and, in the tests, on histories made up.
"""

from __future__ import annotations

from bisect.companion import Outcome, Trail, Trial, parted
from bisect.confirmation import Confirmation
from bisect.decision import step_of
from bisect.finding import Culprit, Finding, Listener, Prober, Settings, Status
from bisect.noise import Endpoint, agrees, endpoint_check, exact_check, one_run_hides_it
from bisect.posterior import posterior
from bisect.problem import Problem, State
from bisect.runs import OutOfBudgetError, Runs
from bisect.search import next_probes, verdict
from collections.abc import Callable, Sequence
from dataclasses import replace


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
        self._undone = False
        """Whether narrowing by relevance was contradicted."""
        self._out = False
        """Whether the budget is spent."""

    def run(self) -> Finding:
        """Search to the end, whatever it is."""
        self._listener.stage("endpoints")
        endpoint = self._ends()
        if endpoint is None:
            return Finding("unmeasurable", None, (), None, 0)
        self._runs.limit(self._settings.budget)
        if endpoint.verdict == "differs":
            return self._search_all(endpoint)
        state = self._runs.state(self._problem, 0, self._problem.last)
        status: Status = "opposite" if endpoint.verdict == "opposite" else "no_difference"
        return Finding(status, endpoint, (), state, 0)

    def _search_all(self, endpoint: Endpoint) -> Finding:
        """Find the culprit, then those of whatever else stepped in the range."""
        culprits: list[Culprit] = []
        suspects: list[Culprit] = []
        first_status: Status | None = None
        stretches = [(0, self._problem.last)]
        while stretches:
            low, high = stretches.pop(0)
            culprit, status = self._search(low, high, endpoint)
            if culprit and culprit.confirmed:
                culprits.append(culprit)
                stretches += self._others(low, high, culprit, endpoint)
            elif culprit:
                suspects.append(culprit)
            first_status = first_status or status
        last = self._problem.last
        withdrawn = first_status == "no_difference"
        if withdrawn:
            endpoint = self._compare(self._runs.values[0], self._runs.values[last])
        return Finding(
            first_status or "undecided",
            endpoint,
            tuple(sorted(culprits, key=lambda c: -abs(c.share))),
            self._runs.state(self._problem, 0, last),
            self._runs.spent,
            self._undone,
            tuple(suspects),
            tuple(self._trials),
            self._runs.rounds,
            withdrawn,
            self._out,
        )

    def _search(self, low: int, high: int, endpoint: Endpoint) -> tuple[Culprit | None, Status]:
        """Search a stretch until a commit is borne out, or nothing more can be learned.

        What follows from a comparison is said in :mod:`bisect.judgement`.
        """
        confirmation = Confirmation(
            self._runs, self._settings, self._listener, endpoint, self._problem.exact, low
        )
        around: int | None = None
        try:
            around = self._by_companion(low, high, confirmation)
            self._listener.stage("search")
            while True:
                self._renew_prior()
                state = self._runs.state(self._problem, low, high).looking_at(around)
                self._tell(low, state)
                if probes := next_probes(state, self._settings.parallel):
                    self._runs.take([(low + probe.index, probe.repeats) for probe in probes])
                    if self._runs.lost(low) or self._runs.lost(high):
                        return None, "unmeasurable"
                    continue
                found = verdict(state)
                if found.status not in ("found", "narrowed"):
                    return None, "no_difference" if found.status == "no_change" else "undecided"
                named = confirmation.culprit(state, found)
                if named.confirmed:
                    return named, found.status
                if confirmation.spent(named):
                    return named, "unconfirmed"
                if confirmation.compare(named):
                    borne_out = confirmation.culprit(state, found).confirmed
                    around = found.culprit if borne_out else None
                    if not borne_out:
                        self._undo_relevance()
                elif self._runs.lost(low) or self._runs.lost(high):
                    return named, "unconfirmed"
        except OutOfBudgetError:
            return self._out_of_budget(low, high, around, confirmation)

    def _out_of_budget(
        self, low: int, high: int, around: int | None, confirmation: Confirmation
    ) -> tuple[Culprit | None, Status]:
        """Return what the runs so far say, borne out or not."""
        state = self._runs.state(self._problem, low, high).looking_at(around)
        found = verdict(state)
        self._out = True
        if found.status not in ("found", "narrowed"):
            return None, "undecided"
        named = confirmation.culprit(state, found)
        return named, found.status if named.confirmed else "unconfirmed"

    def _undo_relevance(self) -> None:
        """Weigh all candidates alike: narrowing them was wrong, or is not needed to be right.

        Nothing that was measured is lost.
        """
        if self._problem.prior and not self._undone:
            self._listener.stage("the confirmation contradicts: relevance is undone")
            self._problem = replace(self._problem, prior=())
            self._narrow = None
            self._undone = True

    def _by_companion(self, low: int, high: int, confirmation: Confirmation) -> int | None:
        """Search by an exact number that changes as the metric does; run what it names.

        Return the candidate of the stretch that it names, unless the metric was seen not to step
        there. What was measured on the way is kept: with it, the metric itself is searched.
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
            self._tell(low, trail.state)
            if parted(trail, self._runs.state(self._problem, low, high)):
                self._trials.append(Trial(companion, "parted"))
                return None
        named = trail.named()
        if named is None:
            self._trials.append(Trial(companion, "narrowed"))
            return None
        expected = replace(named, step=difference, step_interval=(difference, difference))
        outcome: Outcome = "not_compared"
        suspect = confirmation.culprit(self._runs.state(self._problem, low, high), expected)
        try:
            if confirmation.compare(suspect):
                state = self._runs.state(self._problem, low, high)
                step, _ = step_of(state, named.culprit)
                judged = confirmation.judged((suspect.parent, suspect.after), step)
                shown = judged is not None and judged.borne_out
                outcome = "confirmed" if shown else "not_confirmed"
        finally:
            sides = (self._prober.program(i, name) for i in (suspect.parent, suspect.index))
            self._trials.append(Trial(companion, outcome, suspect.index, *sides))
        return None if outcome == "not_confirmed" else named.culprit

    def _tell(self, low: int, state: State) -> None:
        belief = posterior(state).probabilities
        self._listener.believes([0.0] * low + [float(p) for p in belief])

    def _renew_prior(self) -> None:
        if self._narrow:
            self._problem = replace(self._problem, prior=self._narrow())

    def _others(
        self, low: int, high: int, culprit: Culprit, endpoint: Endpoint
    ) -> list[tuple[int, int]]:
        """Return the stretches beside a culprit whose own ends still differ notably."""
        notable = self._settings.minor_share * abs(endpoint.difference)
        floor = max(notable, 6 * endpoint.sigma, self._settings.floor)
        levels = self._runs.levels()
        return [
            (a, b)
            for a, b in ((low, culprit.parent), (culprit.after, high))
            if a < b
            and {a, b} <= levels.keys()
            and abs(levels[b] - levels[a]) >= floor
            and agrees(levels[b] - levels[a], self._settings.direction)
        ]

    def _ends(self) -> Endpoint | None:
        """Bring both ends to enough runs, and compare them; None where one can't be measured."""
        last, wanted = self._problem.last, self._settings.repeats
        if self._problem.exact:
            found = self._runs.in_turn(0, last, 1)
            return found and self._compare(*found)
        pair = self._runs.in_turn(0, last, wanted)
        if pair is not None and one_run_hides_it(*pair):
            more = self._runs.in_turn(0, last, wanted)
            pair = more and (pair[0] + more[0], pair[1] + more[1])
        return pair and self._compare(*pair)

    def _compare(self, good: Sequence[float], bad: Sequence[float]) -> Endpoint:
        direction, floor = self._settings.direction, self._settings.floor
        if self._problem.exact:
            return exact_check(good[0], bad[0], direction, floor)
        return endpoint_check(good, bad, direction, floor)
