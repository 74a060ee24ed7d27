"""All that a verdict says besides the finding itself. Pure."""

from __future__ import annotations

from bisect.explanation import Explanation
from bisect.metrics import Metric
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NO_NARROWING = "no narrowing"
"""Why candidates are relevant where none was ruled out beforehand."""


@dataclass(frozen=True)
class Named:
    """A revision of the range, as a verdict names it."""

    name: str
    sha: str | None = None
    subject: str = ""
    author: str = ""
    date: str = ""
    files: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return `4753d75e2b subject`, or the release's name."""
        return f"{self.sha[:10]} {self.subject}".strip() if self.sha else self.name


@dataclass(frozen=True)
class Context:
    """All that a verdict says besides the finding itself."""

    metric: Metric
    revisions: Sequence[Named]
    """The range, good first, bad last."""
    relevant: int
    """Candidates that can matter at all; all of them where relevance is off."""
    why_relevant: str
    varied: str
    """What the revisions were used as: ``exporter`` or ``runtime``."""
    held: str
    """The revision that was the other side throughout; empty where there is no other side."""
    moved: str | None
    """The side that the crossings of old and new said moved it; None where they did not say."""
    against: str
    """A clause on what the crossings saw move the other way than was asked; empty for nothing."""
    cell: Mapping[str, Any]
    records: Mapping[int, Sequence[Mapping[str, Any]]]
    """The measurements of each revision by its index."""
    command: str
    wall_s: float
    worker_s: float
    environment: str
    confidence: float = 0.95
    """How sure the person asked to be."""
    floor: float = 0.0
    """Below it a difference is none."""
    notes: tuple[str, ...] = field(default=())
    explained: Mapping[int, Explanation] = field(default_factory=dict)
    """What was found out of the commits named, by their index."""

    @property
    def measured(self) -> list[int]:
        """The revisions that gave a value."""
        return [index for index in sorted(self.records) if self.level(index) is not None]

    def level(self, index: int) -> float | None:
        """Return the median of a revision's values; None where there are none."""
        values = [self.metric.value(record) for record in self.records.get(index, ())]
        known = sorted(v for v in values if v is not None)
        return known[len(known) // 2] if known else None

    def failure(self, index: int) -> str:
        """Say how a revision's last measurement failed; empty where it did not."""
        records = self.records.get(index, ())
        if not records or self.metric.value(records[-1]) is not None:
            return ""
        return f"{records[-1]['status']}: {records[-1]['reason']}"
