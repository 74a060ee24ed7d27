"""A sentence about a matrix, with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rules_out", "finding", "open"]


@dataclass(frozen=True)
class Conclusion:
    """One sentence that a person would write under a table.

    Attributes:
        kind: ``rules_out``: this axis does not explain the memory, within the stated interval;
            ``finding``: it does, or one cell stands out; ``open``: the design of the run does not
            decide it.
        axis: what it is about: a column such as ``precision``, two joined by ``*`` for an
            interaction, or ``metric_kind`` for what may be compared at all.
        text: the sentence, its figures computed from the evidence.
        evidence: keys of the cells that the figures come from.
        command: what would settle it, where it is open; None otherwise.

    """

    kind: Kind
    axis: str
    text: str
    evidence: tuple[str, ...] = ()
    command: str | None = None
