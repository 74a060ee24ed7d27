"""Made-up bisections, to see how often the search is right: histories, noise, and whole searches.

They run the way the driver runs them: three runs at each endpoint, the endpoint check, then probes
until the search stops or the budget is spent.
"""

from __future__ import annotations

import math
from bisect.noise import endpoint_check
from bisect.search import Observation, Problem, State, next_probes, verdict
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


def simulate(world: World, random: np.random.Generator, parallel: int = 1) -> Outcome:
    """One bisection of one made-up history, and plain binary search beside it.

    Args:
        world: the history.
        random: of its noise.
        parallel: revisions chosen at a time, and runs side by side.
    """
    ends = [(i, world.measure(i, random)) for _ in range(ENDPOINT_RUNS) for i in (0, world.last)]
    good, bad = ([v for i, v in ends if i == end] for end in (0, world.last))
    if endpoint_check(good, bad).verdict != "differs":
        return Outcome(differs=False)
    state = State(Problem(world.last), tuple(Observation(i, v) for i, v in ends))
    runs = rounds = 0
    while runs < BUDGET and (probes := next_probes(state, parallel)):
        broken = [probe.index for probe in probes if probe.index in world.broken]
        wanted = sum(probe.repeats for probe in probes if probe.index not in broken)
        # A broken revision is soon known for one: only what gives values counts.
        rounds += math.ceil(wanted / parallel)
        runs += wanted
        for probe in probes:
            if probe.index in broken:
                state = state.without(probe.index)
                continue
            values = [world.measure(probe.index, random) for _ in range(probe.repeats)]
            state = state.observe(probe.index, *values)
    found = verdict(state)
    true = dict(zip(world.changes, world.sizes, strict=True))
    size = true.get(found.culprit, math.nan)
    return Outcome(
        True,
        found.status,
        right=found.culprit in true,
        covered=bool(true.keys() & set(found.credible_set)),
        sized=found.step_interval[0] <= size <= found.step_interval[1],
        runs=runs,
        rounds=rounds,
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
