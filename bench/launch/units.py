"""Which measurements stay together on a node, and which may run side by side on one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from bench.jobs import Job


@dataclass(frozen=True)
class Unit:
    """Measurements that one process of a node takes one after the other.

    Attributes:
        key: names it, and the folder of what it measured; the same after a resume.
        jobs: in the order they are taken.
    """

    key: str
    jobs: tuple[Job, ...]

    @property
    def label(self) -> str:
        """Words for a person: its first measurement, and how many more."""
        more = f" and {len(self.jobs) - 1} more" if len(self.jobs) > 1 else ""
        return f"{self.jobs[0].label}{more}"

    def without(self, done: Collection[str]) -> Unit:
        """Return what is left of it; `done` holds the keys of finished jobs."""
        return replace(self, jobs=tuple(job for job in self.jobs if job.key not in done))


def by_program(jobs: Sequence[Job]) -> list[Unit]:
    """Keep an export and the runs of its program together, so that the node has what it runs.

    Repeats too, in the order of the plan: what is compared within a unit is measured in turn.
    """
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.export_key, []).append(job)
    return [Unit(key, tuple(group)) for key, group in groups.items()]


def one_by_one(jobs: Sequence[Job]) -> list[Unit]:
    """Let each measurement go where there is room: those of a bisection's round."""
    return [Unit(job.key, (job,)) for job in jobs]


def waves(
    units: Sequence[Unit],
    need: Callable[[Job], int | None],
    *,
    width: int,
    budget: int,
    timed: bool,
) -> Iterator[list[Unit]]:
    """Part units into those that run side by side on one machine, one group after the other.

    First fit, in order (Johnson 1973): what does not fit beside the ones before it opens a new
    group. Nothing that is timed runs beside anything else, and neither does what is not known to
    fit, or is known not to.

    Args:
        units: in the order they should run.
        need: bytes that a measurement takes at its peak; None where that is not known.
        width: the most processes side by side.
        budget: bytes that they may take together.
        timed: whether seconds are wanted of them, and not memory alone.
    """
    groups: list[tuple[list[Unit], int]] = []
    for unit in units:
        needs = [need(job) for job in unit.jobs]
        known = [size for size in needs if size is not None]
        alone = timed or len(known) < len(needs)
        size = budget if alone else max(known, default=0)
        for number, (group, taken) in enumerate(groups):
            if len(group) < width and taken + size <= budget and not timed:
                groups[number] = ([*group, unit], taken + size)
                break
        else:
            groups.append(([unit], size))
    for group, _ in groups:
        yield group
