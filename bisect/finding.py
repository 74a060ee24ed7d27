"""What a bisection is told, and what it finds: plain data, and the two parties it talks to."""

from __future__ import annotations

from bisect.companion import Companion, Trial
from bisect.noise import Direction, Endpoint
from bisect.problem import State
from bisect.search import Verdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

Status = Literal[
    "found",
    "narrowed",
    "unconfirmed",
    "no_difference",
    "opposite",
    "undecided",
    "unmeasurable",
]


class Prober(Protocol):
    """Measures revisions by their index in the range."""

    @property
    def makes_programs(self) -> bool:
        """Whether a program can be made for less than measuring the metric takes."""

    def measure(self, indices: Sequence[int]) -> list[float | None]:
        """Take one more measurement of each revision named, side by side where there are several.

        The value is None where one can't be measured. A revision may be named several times.
        """

    def companion(self, low: int, high: int, difference: float) -> Companion | None:
        """Return an exact number of the program that changes between two measured revisions.

        Args:
            low: a revision.
            high: a later one.
            difference: how much the metric itself changes from one to the other.
        """

    def program(self, index: int, name: str) -> float | None:
        """Return an exact number of a revision's program; None where it is not known (yet)."""

    def make_programs(self, indices: Sequence[int]) -> None:
        """Make revisions' programs without measuring the metric, side by side."""


class Listener(Protocol):
    """Is told how the search goes."""

    def stage(self, text: str) -> None:
        """Tell which stage begins."""

    def probing(self, index: int, run: int, runs: int) -> None:
        """Tell what is about to be measured: run `run` of `runs`."""

    def measured(self, index: int, value: float | None) -> None:
        """Tell what a measurement gave."""

    def looked(self, index: int, name: str, value: float | None) -> None:
        """Tell the exact number that a revision's program was made for."""

    def believes(self, probabilities: Sequence[float]) -> None:
        """Tell the probability of each candidate after a measurement."""


@dataclass(frozen=True)
class Settings:
    """What the person may set.

    direction      the change asked about
    floor          differences below it are none, in the metric's unit
    repeats        interleaved runs at each endpoint, and of culprit and parent at the end
    confidence     how sure to be before a commit is named
    minor_share    steps below this share of the difference are not searched for
    budget         the most measurements beside the endpoint checks
    parallel       the most measurements side by side
    """

    direction: Direction = "increase"
    floor: float = 0.0
    repeats: int = 3
    confidence: float = 0.95
    minor_share: float = 0.1
    budget: int = 200
    parallel: int = 1


@dataclass(frozen=True)
class Culprit:
    """One change: candidate `index`, its evidence, and its share of the endpoint difference."""

    index: int
    parent: int
    """The nearest revision before it that can be measured: what it was compared with."""
    verdict: Verdict
    step: float
    """Size of the change, from the confirmation: culprit minus parent."""
    step_interval: tuple[float, float]
    """Its 95% interval (Welch)."""
    share: float
    confirmed: bool
    """Whether culprit and parent, run in turn, differ as the search said."""
    compared: bool
    """Whether they could be run in turn at all: the budget may end, or a revision fail."""
    after: int
    """The nearest revision from it on that can be measured: what its parent was compared with."""


@dataclass(frozen=True)
class Finding:
    """How a bisection ended."""

    status: Status
    endpoint: Endpoint | None
    culprits: tuple[Culprit, ...]
    """Only what the confirmation bore out."""
    state: State | None
    measurements: int
    """Runs taken beside those of the endpoint check."""
    relevance_undone: bool = False
    suspects: tuple[Culprit, ...] = ()
    """What the search named and the confirmation did not bear out."""
    trials: tuple[Trial, ...] = ()
    """Searches by an exact number of the program that changed along with the metric."""
    rounds: int = 0
    """How often those runs were waited for: one at a time, or several side by side."""
    withdrawn: bool = False
    """Whether the endpoints differed at first, and more runs did not bear that out."""
    out_of_budget: bool = False
    """Whether the search ended since no measurement was left."""
    whole: float | None = None
    """The difference that shares are of, where it is not the endpoints': of the releases, where
    the range is the commits between two of them."""

    @property
    def whole_difference(self) -> float | None:
        """The difference that shares are of; None where there is none."""
        if self.whole is not None or self.endpoint is None:
            return self.whole
        return self.endpoint.difference

    def of_whole(self, whole: float) -> Finding:
        """Return the finding with shares of another difference."""
        named, suspects = (
            tuple(replace(culprit, share=culprit.step / whole) for culprit in those)
            for those in (self.culprits, self.suspects)
        )
        return replace(self, culprits=named, suspects=suspects, whole=whole)

    @property
    def share_explained(self) -> float:
        """The share of the endpoint difference that the culprits explain together."""
        return sum(culprit.share for culprit in self.culprits)
