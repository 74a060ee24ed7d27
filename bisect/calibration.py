"""How often is the claimed 95% right? Simulated bisections, as a Markdown table.

    python -m bisect.calibration [--quick] [--trials N]

Every row simulates whole bisections the way the driver runs them: three runs at
each endpoint, the endpoint check, then probes until the search stops or the budget
is spent. The settings of the model were chosen on simulations of these same kinds,
with other seeds. The columns are explained under the table.
"""

from __future__ import annotations

import math
import sys
from bisect.noise import endpoint_check
from bisect.search import Observation, Problem, State, next_probe, verdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from rich.console import Console

from bench.command import Parser, run_command

BUDGET = 60
ENDPOINT_RUNS = 3
LENGTHS = (10, 50, 426, 1000, 5000)
NOISES = ("normal", "t3", "outliers")
SIZES = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
LEGEND = f"""
`step` is the difference between the endpoints in sigma. Noise: normal; Student's t with
3 degrees of freedom in units of its scale (its standard deviation is 1.7); normal with 2% of
the runs too high by 5 to 30 sigma. Lengths: {", ".join(map(str, LENGTHS))} commits in turn.
Several changes share the difference at random, in one case of four with one of them
reversed. Untestable: three broken stretches and scattered commits, about a fifth of all,
discovered by probing. {ENDPOINT_RUNS} runs at each endpoint, at most {BUDGET} after that.

- *differ*: the endpoint check saw a difference; the other columns are about these cases.
- *named*: a commit was named with 95% confidence; *right*: it is a change (of several: any),
  with the 95% interval of that rate. *narrowed*: stopped at untestable commits.
- *set*: the 95% credible set held a change, at whatever point the search ended.
- *step in interval*: the true size of the named step is inside its stated 95% interval.
- *runs*: mean measurements after the endpoint checks, when it stopped by itself / overall.
- *binary x1, x3*: plain binary search with 1 or 3 runs (their median) per commit against the
  midpoint of the endpoints' medians: how often right, and its runs. It always names one.
- A row is marked **low** where *right* or *set* is below 95% by more than sampling error
  explains, and **high** where the endpoint check raises more than 5% false alarms. The
  interval of the step is not part of that.
"""


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
    plain: tuple[tuple[bool, int], ...] = ()


def _broken(last: int, random: np.random.Generator) -> frozenset[int]:
    found = set(np.flatnonzero(random.random(last) < 0.05).tolist())
    for start in random.integers(1, last, 3).tolist():
        found |= set(range(start, start + max(1, last // 20)))
    return frozenset(i for i in found if 0 < i < last)


def simulate(world: World, random: np.random.Generator) -> Outcome:
    """One bisection of one made-up history, and plain binary search beside it."""
    ends = [(i, world.measure(i, random)) for _ in range(ENDPOINT_RUNS) for i in (0, world.last)]
    good, bad = ([v for i, v in ends if i == end] for end in (0, world.last))
    if endpoint_check(good, bad).verdict != "differs":
        return Outcome(differs=False)
    state = State(Problem(world.last), tuple(Observation(i, v) for i, v in ends))
    runs = 0
    while runs < BUDGET and (probe := next_probe(state)) is not None:
        if probe.index in world.broken:
            state = state.without(probe.index)
            continue
        values = [world.measure(probe.index, random) for _ in range(probe.repeats)]
        state = state.observe(probe.index, *values)
        runs += probe.repeats
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


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return the 95% interval of a rate (Wilson 1927)."""
    if total == 0:
        return 0.0, 1.0
    z, rate = 1.96, right / total
    center = (rate + z * z / (2 * total)) / (1 + z * z / total)
    reach = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total**2)) / (1 + z * z / total)
    return center - reach, center + reach


def scenarios(quick: bool) -> Iterator[Scenario]:
    """List the rows of the table."""
    sizes = (1.0, 3.0, 10.0) if quick else SIZES
    for noise in NOISES:
        yield Scenario(noise, 0.0, changes=0)
    for noise, size in product(NOISES, sizes):
        yield Scenario(noise, size)
    hard = (3.0, 10.0) if quick else (3.0, 6.0, 20.0)
    for changes, noise, size in product((2, 3), NOISES, hard):
        yield Scenario(noise, size, changes=changes)
    for noise, size in product(NOISES, hard):
        yield Scenario(noise, size, broken=True)


HEADER = (
    "case",
    "noise",
    "step",
    "differ",
    "named",
    "right",
    "narrowed",
    "set",
    "step in interval",
    "runs",
    "binary x1",
    "binary x3",
    "",
)


def row(scenario: Scenario, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Summarize the bisections of one scenario."""
    seen = [o for o in outcomes if o.differs]
    named = [o for o in seen if o.status == "found"]
    done = [o for o in seen if o.status in ("found", "narrowed")]
    right = sum(o.right for o in named)
    covered = sum(o.covered for o in seen)

    def percent(count: int, total: int) -> str:
        return f"{100 * count / total:.0f}%" if total else "-"

    def mean(values: Sequence[int]) -> str:
        return f"{sum(values) / len(values):.1f}" if values else "-"

    plain = [
        f"{percent(sum(o.plain[k][0] for o in seen), len(seen))}"
        f" in {mean([o.plain[k][1] for o in seen])}"
        for k in (0, 1)
    ]
    low, high = wilson(right, len(named))
    if scenario.changes == 0:
        alarm = wilson(len(seen), len(outcomes))[0] > 0.05
        return (
            scenario.name,
            scenario.noise,
            "0",
            f"{100 * len(seen) / len(outcomes):.1f}% of {len(outcomes)}",
            percent(len(named), len(seen)),
            "-",
            "-",
            "-",
            "-",
            mean([o.runs for o in seen]),
            "0%",
            "0%",
            "**high**" if alarm else "",
        )
    doubtful = high < 0.95 or wilson(covered, len(seen))[1] < 0.95
    return (
        scenario.name,
        scenario.noise,
        f"{scenario.size:g}",
        percent(len(seen), len(outcomes)),
        percent(len(named), len(seen)),
        f"{100 * right / len(named):.1f}% ({100 * low:.0f}-{100 * high:.0f})" if named else "-",
        percent(len(done) - len(named), len(seen)),
        f"{100 * covered / len(seen):.1f}%" if seen else "-",
        percent(sum(o.sized for o in named if o.right), right),
        f"{mean([o.runs for o in done])} / {mean([o.runs for o in seen])}",
        *plain,
        "**low**" if doubtful else "",
    )


def study(quick: bool, trials: int, report: Callable[[str], None]) -> None:
    """Run every scenario; one line of the table to `report` as each ends."""
    report("| " + " | ".join(HEADER) + " |")
    report("|" + " --- |" * len(HEADER))
    for scenario in scenarios(quick):
        # Nearly all of these end at the endpoint check: many are cheap, and needed.
        count = trials * 10 if scenario.changes == 0 else trials
        key = [ord(letter) for letter in scenario.name + scenario.noise]
        outcomes = []
        for trial in range(count):
            random = np.random.default_rng([*key, int(10 * scenario.size), trial])
            world = scenario.world(LENGTHS[trial % len(LENGTHS)], random)
            outcomes.append(simulate(world, random))
        report("| " + " | ".join(row(scenario, outcomes)) + " |")


def main(arguments: Sequence[str], _console: Console | None = None) -> int:
    """Print the study; return the exit code."""
    parser = Parser("see --help", prog="python -m bisect.calibration", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, less than a minute")
    parser.add_argument("--trials", type=int, help="bisections per row (default 100, quick 20)")
    options = parser.parse_args(arguments)
    trials = options.trials or (20 if options.quick else 100)
    study(options.quick, trials, lambda line: print(line, flush=True))
    print(LEGEND)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main, None))
