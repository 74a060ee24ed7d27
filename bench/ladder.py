"""Which rung is faithful, and cheapest, for what is asked of a revision. Pure.

From cheap to dear: ``wheel`` (a published release), ``overlay`` (a tree's Python over the
native libraries of a base), ``nightly`` (a nightly wheel), ``source`` (a full build).

What was asked for is had or refused, never silently another: ``wheel`` takes releases only, and
``nightly`` commits only, as a nightly is made of the main line. A release that only *runs* the
programs of commits is its wheel whatever the rung, which is the exporters' then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from packaging.version import Version

from bench.errors import BuildError, RequestError

Kind = Literal["release", "commit", "working_tree"]
Needs = Literal["export", "run"]
RUNGS = ("auto", "wheel", "overlay", "nightly", "source")
_MOST_BASES = 3
"""A commit that no more bases than these can import is itself at fault."""


@dataclass(frozen=True)
class Subject:
    """What the ladder has to know of a revision."""

    name: str
    kind: Kind
    release: str | None = None
    sha: str | None = None
    torch: str | None = None
    """The torch that a release was built with."""


@dataclass(frozen=True)
class Nightly:
    """A nightly of the revision's day, or of the day before."""

    version: str
    sha: str
    """The main-line commit it was made from, an ancestor of the revision or that itself."""


@dataclass(frozen=True)
class Means:
    """What was asked for, and what there is."""

    rung: str = "auto"
    base: str | None = None
    """The release asked for as base."""
    bases: tuple[str, ...] = ()
    """Releases to lay a commit over, the best first (see :func:`order_bases`)."""
    nearest: str = "by its branch point"
    """How the first of them was chosen."""
    nightly: Nightly | None = None
    no_nightly: str = "no nightly_index is configured"
    """Why there is none, where there is none."""
    hold: tuple[str, str] | None = None
    """A release with its torch, to be held constant over a crossing; see :func:`torch_to_hold`."""


@dataclass(frozen=True)
class Choice:
    """A rung, with what it stands on, and why."""

    rung: str
    why: str
    bases: tuple[str, ...] = ()
    """The release or nightly to install, or to lay over; after the first, what else to try."""
    over_nightly: bool = False
    fallback: Choice | None = None
    """What to do where no base can import it, but for giving up."""

    @property
    def base(self) -> str | None:
        """The release or nightly that this stands on; None for a source build."""
        return self.bases[0] if self.bases else None

    @property
    def reason(self) -> str:
        """Say why, with the base in it."""
        return self.why.replace("{base}", self.base or "")

    def on(self, base: str, because: str = "") -> Choice:
        """Give the choice with one base settled on."""
        return replace(self, bases=(base,), why=f"{self.why}{because}")


def choose(subject: Subject, needs: Needs, means: Means) -> Choice:
    """Choose the rung for one side of a measurement.

    Raises:
        RequestError: where the rung asked for can't be had for this revision.

    """
    if means.rung == "source":
        return _source(subject)
    if subject.kind == "release":
        return _release(subject, needs, means)
    if means.rung == "wheel":
        raise RequestError(
            f"rung: wheel is for releases, and {subject.name} is none: overlay, nightly or source"
        )
    if means.rung == "nightly" and means.nightly is None:
        raise RequestError(f"rung: there is no nightly for {subject.name}: {means.no_nightly}")
    asked = needs == "run" or means.rung == "nightly"
    if means.nightly and means.rung != "overlay" and asked:
        return _nightly(subject, means.nightly)
    bases = (means.base,) if means.base else means.bases[:_MOST_BASES]
    if not bases:
        raise RequestError(f"base: no release is known to lay {subject.name} over: give base=")
    how = "as asked" if means.base else means.nearest
    if needs == "run":
        reason = "rung=overlay" if means.rung == "overlay" else means.no_nightly
        return Choice(
            "wheel",
            f"stands in for {subject.name}, whose own native code was not built ({reason}; "
            f"rung=source builds it): runtime of {{base}}, chosen {how}",
            bases[:1],
        )
    return Choice("overlay", f"Python of {subject.name} over {{base}}, chosen {how}", bases)


def _release(subject: Subject, needs: Needs, means: Means) -> Choice:
    own = subject.release or ""
    wheel = Choice("wheel", "published release", (own,))
    if needs == "run" or means.rung == "wheel":
        return wheel
    if means.rung == "nightly":
        raise RequestError(
            f"rung: a nightly is made of a commit, and {subject.name} is a release: its published "
            "wheel is rung=wheel, or rung=auto beside commits"
        )
    if means.rung == "overlay" or means.base:
        if means.base not in (None, own):
            return Choice(
                "overlay",
                f"Python of {subject.name} over {{base}}, as asked",
                (means.base,),
            )
        if means.rung != "overlay" or (means.base and subject.sha is None):
            return replace(wheel, why="published release, the base itself")
        if subject.sha is None:
            raise RequestError(
                f"rung: an overlay of {subject.name} needs base=, another release whose native "
                "libraries to lay it over, or repo=, whose tag to lay over its own"
            )
        return Choice("overlay", f"tag {subject.name} over its own release, as asked", (own,))
    if means.hold and means.hold[0] != own and means.hold[1] != subject.torch:
        base, torch = means.hold
        why = f"Python of {subject.name} over {{base}}, to hold torch {torch} constant"
        return Choice("overlay", why, (base,), fallback=wheel)
    return wheel


def _nightly(subject: Subject, nightly: Nightly) -> Choice:
    if subject.kind == "commit" and subject.sha == nightly.sha:
        return Choice("nightly", f"nightly {nightly.version} of this commit", (nightly.version,))
    why = f"Python of {subject.name} over {{base}}, made of {nightly.sha[:10]}"
    return Choice("overlay", why, (nightly.version,), over_nightly=True)


def _source(subject: Subject) -> Choice:
    if subject.kind == "working_tree":
        raise RequestError(
            f"rung: a source build takes a commit, and {subject.name} is a working tree: commit "
            "there, and give its branch with repo="
        )
    if subject.sha is None:
        raise RequestError(
            f"rung: a source build of {subject.name} needs repo=PATH, a clone of ExecuTorch"
        )
    return Choice("source", "built from source: asked for")


def order_bases(known: Sequence[str], nearest: str | None) -> tuple[str, ...]:
    """Order releases as bases of a commit: nearest below, then its neighbours outwards.

    Of each minor version the newest release stands for all: they branched off together.

    Args:
        known: those that can be installed.
        nearest: the release that branched off nearest below; '' where all did above, None where
            no branch point is known: then the newest comes first.

    """
    newest: dict[tuple[int, ...], str] = {}
    for release in sorted(known, key=Version):
        newest[_minor(release)] = release
    minors = list(newest)
    start = 0
    if nearest is None:
        start = len(minors) - 1
    elif nearest:
        start = minors.index(_minor(nearest))
    order = sorted(range(len(minors)), key=lambda at: (abs(at - start), -at))
    return tuple(newest[minors[at]] for at in order)


def _minor(release: str) -> tuple[int, ...]:
    return Version(release).release[:2]


def torch_to_hold(exporter: Subject, runtimes: Sequence[Subject]) -> tuple[str, str] | None:
    """Say which release's torch, of those that run its programs, an exporter is to be given.

    A crossing tells the exporter's part from the runtime's; torch changing with the exporter
    would be a third. None where nothing is crossed, or a runtime is no release.
    """
    found = [(r.release, r.torch) for r in runtimes if r.release and r.torch]
    if not exporter.release or len(found) < len(runtimes) or not found:
        return None
    if any(torch == exporter.torch for _, torch in found):
        return None
    version = Version(exporter.release)
    above = [pair for pair in found if Version(pair[0]) > version]
    return (
        min(above, key=lambda pair: Version(pair[0]))
        if above
        else max(found, key=lambda pair: Version(pair[0]))
    )


def chosen_by(points: Mapping[str, bool], nearest: str | None) -> str:
    """Say how the base of a commit was chosen, and what was not known then.

    Args:
        points: whether its branch point is known, of the releases that were looked at.
        nearest: as in :func:`order_bases`.

    """
    if nearest is None:
        return "as the newest, its repository knowing no release's branch point (git fetch --tags)"
    known = {_minor(release) for release, there in points.items() if there}
    upwards = reversed(order_bases(list(points), None))
    above = [release for release in upwards if not nearest or _minor(release) > _minor(nearest)]
    # Beyond one that is known, and is no ancestor, none can be one.
    unknown = list(takewhile(lambda release: _minor(release) not in known, above))
    if not unknown:
        return "by its branch point"
    return (
        f"by its branch point, that of {', '.join(unknown)} being unknown to its repository "
        "(git fetch --tags)"
    )


Probe = Callable[[str], Mapping[str, str]]
"""Tells, over a base, which of the modules that the cell needs fail to import, and how.

The empty name stands for all of it: no environment, or not even the first module.
"""


def settle(choice: Choice, subject: str, probe: Probe) -> Choice:
    """Settle on the first base that imports all that is needed, or else most of it.

    Raises:
        BuildError: where no base imports it at all.

    """
    best: tuple[int, str, str] | None = None
    refused: list[str] = []
    for base in choice.bases:
        failures = probe(base)
        if not failures:
            because = f" (not {'; '.join(refused)})" if refused else ""
            return choice.on(base, because)
        words = "; ".join(f"{name}: {how}" if name else how for name, how in failures.items())
        refused.append(f"over {base}: {words}")
        if "" not in failures and (best is None or len(failures) < best[0]):
            best = (len(failures), base, words)
    if best:
        return choice.on(best[1], f" (but {best[2]})")
    if choice.fallback:
        return replace(choice.fallback, why=f"{choice.fallback.why}, as {'; '.join(refused)}")
    raise BuildError(f"{subject} can't be imported {'; '.join(refused)}")
