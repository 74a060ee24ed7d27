"""Made-up bisections, to see how often the search is right: histories, noise, and whole searches.

They are the driver's own: three runs at each endpoint, the endpoint check, then probes and the
confirmation until a commit is named or the budget is spent.
"""

from __future__ import annotations

import math
from bisect.driver import Bisection
from bisect.finding import Settings
from bisect.problem import Problem
from bisect.search import verdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BUDGET = 60
ENDPOINT_RUNS = 3


@dataclass(frozen=True)
class World:
    """A history with known changes of level, and the noise of its measurements."""

    last: int
    changes: tuple[int, ...]
    sizes: tuple[float, ...]
    broken: frozenset[int]
    noise: str

    def level(self, index: int) -> float:
        """Return the true value of a revision."""
        pairs = zip(self.changes, self.sizes, strict=True)
        return 100.0 + sum(size for change, size in pairs if change <= index)

    def measure(self, index: int, random: np.random.Generator) -> float:
        """Draw one noisy run of a revision."""
        if self.noise == "t3":
            return self.level(index) + float(random.standard_t(3))
        wild = self.noise == "outliers" and random.random() < 0.02
        lift = float(random.uniform(5, 30)) if wild else 0.0
        return self.level(index) + float(random.normal()) + lift


@dataclass(frozen=True)
class Scenario:
    """A kind of history, of which one row of the table simulates many."""

    noise: str
    size: float
    changes: int = 1
    broken: bool = False

    @property
    def name(self) -> str:
        """Say what the history is like."""
        if self.broken:
            return "untestable"
        return {0: "no change", 1: "1 change"}.get(self.changes, f"{self.changes} changes")

    def world(self, last: int, random: np.random.Generator) -> World:
        """Make up one history of this kind."""
        count = min(self.changes, last)
        changes = tuple(sorted(int(i) for i in 1 + random.choice(last, count, replace=False)))
        shares = random.dirichlet([2.0] * count) if count else np.zeros(0)
        if count > 1 and random.random() < 0.25:
            shares[random.integers(count)] *= -1
            shares /= shares.sum()
        return World(
            last,
            changes,
            tuple(float(s) for s in self.size * shares),
            _broken(last, random) if self.broken else frozenset(),
            self.noise,
        )


@dataclass(frozen=True)
class Outcome:
    """How one simulated bisection ended."""

    differs: bool
    status: str = "stopped"
    right: bool = False
    covered: bool = False
    sized: bool = False
    runs: int = 0
    rounds: int = 0
    plain: tuple[tuple[bool, int], ...] = ()


def _broken(last: int, random: np.random.Generator) -> frozenset[int]:
    found = set(np.flatnonzero(random.random(last) < 0.05).tolist())
    for start in random.integers(1, last, 3).tolist():
        found |= set(range(start, start + max(1, last // 20)))
    return frozenset(i for i in found if 0 < i < last)


class Bench:
    """Measures the revisions of a made-up history, and listens to nothing."""

    makes_programs = False

    def __init__(self, world: World, random: np.random.Generator) -> None:
        self._world = world
        self._random = random
        self.seen: dict[int, list[float]] = {}

    def measure(self, indices: Sequence[int]) -> list[float | None]:
        """Draw a run of each revision; none of one that is broken."""
        values: list[float | None] = []
        for index in indices:
            value = None
            if index not in self._world.broken:
                value = self._world.measure(index, self._random)
                self.seen.setdefault(index, []).append(value)
            values.append(value)
        return values

    def companion(self, low: int, high: int, difference: float) -> None:
        """Have no exact number."""

    def program(self, index: int, name: str) -> None:
        """Have no program."""

    def make_programs(self, indices: Sequence[int]) -> None:
        """Make none."""

    def stage(self, text: str) -> None:
        """Say nothing of it."""

    def probing(self, index: int, run: int, runs: int) -> None:
        """Say nothing of it."""

    def measured(self, index: int, value: float | None) -> None:
        """Say nothing of it."""

    def looked(self, index: int, name: str, value: float | None) -> None:
        """Say nothing of it."""

    def believes(self, probabilities: Sequence[float]) -> None:
        """Say nothing of it."""


def simulate(world: World, random: np.random.Generator, parallel: int = 1) -> Outcome:
    """One bisection of one made-up history, and plain binary search beside it.

    It is the driver's own: endpoint check, search, confirmation, and the search for what else
    changed. It is right where every commit that it names is a change.

    Args:
        world: the history.
        random: of its noise.
        parallel: revisions chosen at a time, and runs side by side.
    """
    bench = Bench(world, random)
    settings = Settings(direction="any", repeats=ENDPOINT_RUNS, budget=BUDGET, parallel=parallel)
    finding = Bisection(Problem(world.last), bench, settings, bench).run()
    if finding.endpoint is None or finding.endpoint.verdict != "differs" or finding.state is None:
        return Outcome(differs=finding.withdrawn, status=finding.status)
    true = dict(zip(world.changes, world.sizes, strict=True))
    named = finding.culprits[0] if finding.culprits else None
    found = named.verdict if named else verdict(finding.state)
    low, high = named.step_interval if named else found.step_interval
    size = true.get(found.culprit, math.nan)
    good, bad = (bench.seen[end][:ENDPOINT_RUNS] for end in (0, world.last))
    return Outcome(
        True,
        finding.status,
        right=bool(named) and all(culprit.index in true for culprit in finding.culprits),
        covered=bool(true.keys() & set(found.credible_set)),
        sized=low <= size <= high,
        runs=finding.measurements,
        rounds=finding.rounds,
        plain=tuple(plain_search(world, repeats, good, bad, random) for repeats in (1, 3)),
    )


def plain_search(
    world: World,
    repeats: int,
    good: Sequence[float],
    bad: Sequence[float],
    random: np.random.Generator,
) -> tuple[bool, int]:
    """Binary search against the midpoint; right when the commits it ends at hold a change."""
    before, after = float(np.median(good)), float(np.median(bad))
    low, high, runs = 0, world.last, 0
    while inside := [i for i in range(low + 1, high) if i not in world.broken]:
        middle = min(inside, key=lambda i: abs(2 * i - low - high))
        value = float(np.median([world.measure(middle, random) for _ in range(repeats)]))
        runs += repeats
        if abs(value - after) < abs(value - before):
            high = middle
        else:
            low = middle
    return any(low < change <= high for change in world.changes), runs
