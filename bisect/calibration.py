"""How often is the claimed 95% right? Simulated bisections, as Markdown tables.

    python -m bisect.calibration [--quick] [--trials N] [--parallel]

Every row simulates whole bisections (:mod:`bisect.simulation`). The settings of the model
were chosen on simulations of these same kinds, with other seeds. The columns are explained
under the tables; the second one is of what is measured side by side.
"""

from __future__ import annotations

import math
import sys
from bisect.simulation import BUDGET, ENDPOINT_RUNS, Outcome, Scenario, simulate
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from rich.console import Console

from bench.command import Parser, run_command

LENGTHS = (10, 50, 426, 1000, 5000)
NOISES = ("normal", "t3", "outliers")
SIZES = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
LEGEND = f"""
`step` is the difference between the endpoints in sigma. Noise: normal; Student's t with
3 degrees of freedom in units of its scale (its standard deviation is 1.7); normal with 2% of
the runs too high by 5 to 30 sigma. Lengths: {", ".join(map(str, LENGTHS))} commits in turn.
Several changes share the difference at random, in one case of four with one of them
reversed. Untestable: three broken stretches and scattered commits, about a fifth of all,
discovered by probing. {ENDPOINT_RUNS} runs at each endpoint (as many again where one run
clearly decides), at most {BUDGET} after that, those of the confirmation and those on broken commits
among them. No prior, no companion, direction=any.

- *differ*: the endpoint check saw a difference; the other columns are about these cases.
- *named*: a commit was named with 95% confidence and confirmed; *right*: it, and all named after
  it, are changes, with the 95% interval of that rate. *narrowed*: stopped at untestable commits.
- *set*: the 95% credible set held a change, at whatever point the search ended.
- *step in interval*: the true size of the named step is inside its stated 95% interval, which
  is that of the confirmation.
- *runs*: mean measurements after the endpoint checks, when it named something / overall.
- *binary x1, x3*: plain binary search with 1 or 3 runs (their median) per commit against the
  midpoint of the endpoints' medians: how often right, and its runs. It always names one.
- A row is marked **low** where *right* or *set* is below 95% by more than sampling error
  explains, and **high** where the endpoint check raises more than 5% false alarms. The
  interval of the step is not part of that.
"""


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


def outcomes_of(scenario: Scenario, trials: int, parallel: int = 1) -> list[Outcome]:
    """Simulate a scenario so many times: the same histories whatever runs side by side."""
    key = [ord(letter) for letter in scenario.name + scenario.noise]
    outcomes = []
    for trial in range(trials):
        random = np.random.default_rng([*key, int(10 * scenario.size), trial])
        world = scenario.world(LENGTHS[trial % len(LENGTHS)], random)
        outcomes.append(simulate(world, random, parallel))
    return outcomes


def study(quick: bool, trials: int, report: Callable[[str], None]) -> None:
    """Run every scenario; one line of the table to `report` as each ends."""
    report(line(HEADER))
    report("|" + " --- |" * len(HEADER))
    for scenario in scenarios(quick):
        # Nearly all of these end at the endpoint check: many are cheap, and needed.
        count = trials * 10 if scenario.changes == 0 else trials
        report(line(row(scenario, outcomes_of(scenario, count))))


def line(cells: Sequence[str]) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


SIDE_BY_SIDE = (1, 2, 4)
PARALLEL_HEADER = (
    *("case", "noise", "step"),
    *(f"{what} {k}" for k in SIDE_BY_SIDE for what in ("right", "set", "runs", "rounds")),
    "",
)
PARALLEL_LEGEND = f"""
The same histories with 1, 2 and 4 revisions chosen at a time (`parallel=`), and as many runs side
by side. *right*, *set*: as above. *runs*, *rounds*: means after the endpoint checks, when it
stopped by itself; a round is what is waited for, one run or several side by side. A row is
marked **low** as above. Commits: {", ".join(map(str, LENGTHS))} in turn.
"""


def parallel_scenarios(quick: bool) -> Iterator[Scenario]:
    """List the rows of the table of what runs side by side."""
    sizes = (3.0, 10.0) if quick else (2.0, 3.0, 6.0, 20.0)
    for noise, size in product(NOISES, sizes):
        yield Scenario(noise, size)
    for changes, noise in product((2, 3), NOISES):
        yield Scenario(noise, 6.0, changes=changes)
    for noise in NOISES:
        yield Scenario(noise, 6.0, broken=True)


def parallel_row(about: Sequence[str], by_count: Sequence[Sequence[Outcome]]) -> tuple[str, ...]:
    """Summarize bisections by how many revisions were measured at a time."""
    cells, doubtful = [*about], False
    for outcomes in by_count:
        seen = [o for o in outcomes if o.differs]
        named = [o for o in seen if o.status == "found"]
        done = [o for o in seen if o.status in ("found", "narrowed")]
        right, covered = sum(o.right for o in named), sum(o.covered for o in seen)
        rates = (right, len(named)), (covered, len(seen))
        doubtful = doubtful or any(wilson(*rate)[1] < 0.95 for rate in rates)
        cells += [f"{100 * part / of:.1f}% of {of}" if of else "-" for part, of in rates]
        for counts in ([o.runs for o in done], [o.rounds for o in done]):
            cells.append(f"{sum(counts) / len(counts):.1f}" if counts else "-")
    return (*cells, "**low**" if doubtful else "")


def parallel_study(quick: bool, trials: int, report: Callable[[str], None]) -> None:
    """Run the scenarios with several revisions at a time; one line to `report` as each ends."""
    report(line(PARALLEL_HEADER))
    report("|" + " --- |" * len(PARALLEL_HEADER))
    whole: list[list[Outcome]] = [[] for _ in SIDE_BY_SIDE]
    for scenario in parallel_scenarios(quick):
        by_count = [outcomes_of(scenario, trials, k) for k in SIDE_BY_SIDE]
        report(line(parallel_row((scenario.name, scenario.noise, f"{scenario.size:g}"), by_count)))
        for every, outcomes in zip(whole, by_count, strict=True):
            every += outcomes
    report(line(parallel_row(("all", "", ""), whole)))


def main(arguments: Sequence[str], _console: Console | None = None) -> int:
    """Print the study; return the exit code."""
    parser = Parser("see --help", prog="python -m bisect.calibration", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, less than a minute")
    parser.add_argument("--parallel", action="store_true", help="only the table of parallel=")
    parser.add_argument("--trials", type=int, help="bisections per row (default 100, quick 20)")
    options = parser.parse_args(arguments)
    trials = options.trials or (20 if options.quick else 100)
    if not options.parallel:
        study(options.quick, trials, lambda line: print(line, flush=True))
        print(LEGEND)
    # Three bisections of each history: a part of them is enough.
    parallel_study(options.quick, trials * 3 // 10, lambda line: print(line, flush=True))
    print(PARALLEL_LEGEND)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main, None))
