"""Who held more at the high-water mark: two captures of memray compared. Pure; bytes.

Sites are grouped by the function that held the memory, not by its lines: these shift from one
commit to the next. A function is the innermost one on the stack that belongs to ExecuTorch, to
torchao or to the model; where there is none, simply the innermost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN = 10
_SMALL = 0.02
"""Differences below this share of the largest one are not worth a line."""
_CALLERS = 2

Function = tuple[str, str]
"""Its name, and the file it is in."""
SMALLER: Function = ("", "")
"""Stands for all stacks too small to be looked up."""
ARENAS: Function = ("(small objects of Python)", "")
"""The interpreter's arenas, of 256 KiB to 1 MiB: who asked for one holds little of it."""
_ARENA = "_PyObject_ArenaMmap"
NATIVE: Function = ("(threads that run no Python)", "")


@dataclass(frozen=True)
class Site:
    """One way to an allocation, and the bytes it held at the mark."""

    bytes: int
    holder: Function
    through: str
    """What the holder called, down to the native function; '' where nothing is known."""
    callers: tuple[Function, ...]
    """Who called the holder, the nearest first."""


@dataclass(frozen=True)
class Held:
    """What one process held at its high-water mark."""

    total: int
    """More than the sites together: the smallest stacks are not looked up."""
    sites: tuple[Site, ...]

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Held:
        """Read the worker's ``held`` event."""
        return cls(event["total_bytes"], tuple(_site(each) for each in event["sites"]))


@dataclass(frozen=True)
class Difference:
    """One function before and after.

    Attributes:
        holder: the function.
        before: bytes it held at the mark of the parent.
        after: bytes it held at the mark of the culprit.
        through: what it called, where most of the difference is.
        callers: who called it, where most of what it held is.
    """

    holder: Function
    before: int
    after: int
    through: str
    callers: tuple[Function, ...]

    @property
    def change(self) -> int:
        """Return the bytes that it held more."""
        return self.after - self.before


@dataclass(frozen=True)
class Comparison:
    """Every function's difference, the largest first; together they are the whole one."""

    before: int
    after: int
    differences: tuple[Difference, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files of who held the memory, those of the largest differences first.

        A caller's file stands for what it let its callees hold.
        """
        sizes: dict[str, int] = defaultdict(int)
        for one in self.differences:
            for _, file in {one.holder, *one.callers}:
                sizes[file] += max(one.before, one.after)
        named = [one.holder[1] for one in self.largest()]
        return tuple(dict.fromkeys([*named, *sorted(sizes, key=lambda file: -sizes[file])]))

    @property
    def change(self) -> int:
        """Return the bytes by which the mark is higher."""
        return self.after - self.before

    def largest(self, most: int = _SHOWN) -> tuple[Difference, ...]:
        """Return the differences worth a line each."""
        named = [one for one in self.differences if one.holder != SMALLER and one.change]
        floor = _SMALL * max((abs(one.change) for one in named), default=0)
        return tuple(one for one in named[:most] if abs(one.change) >= floor)

    def share(self, some: Iterable[Difference]) -> float | None:
        """Return the share of the whole difference that some explain; None if there is none."""
        return sum(one.change for one in some) / self.change if self.change else None


def compare(before: Held, after: Held) -> Comparison:
    """Compare who held what at the two marks."""
    sides = (_by_holder(before), _by_holder(after))
    found = [_difference(holder, *(side.get(holder, ()) for side in sides))
             for holder in {*sides[0], *sides[1]}]  # fmt: skip
    found.sort(key=lambda one: (-abs(one.change), one.holder))
    return Comparison(before.total, after.total, tuple(found))


def _by_holder(held: Held) -> dict[Function, list[Site]]:
    found: dict[Function, list[Site]] = defaultdict(list)
    for site in held.sites:
        found[site.holder].append(site)
    rest = held.total - sum(site.bytes for site in held.sites)
    if rest:
        found[SMALLER].append(Site(rest, SMALLER, "", ()))
    return found


def _difference(holder: Function, before: Sequence[Site], after: Sequence[Site]) -> Difference:
    changes: dict[str, int] = defaultdict(int)
    for sites, sign in ((before, -1), (after, 1)):
        for site in sites:
            changes[site.through] += sign * site.bytes
    through = max(changes, key=lambda name: (abs(changes[name]), name))
    sizes: dict[tuple[Function, ...], int] = defaultdict(int)
    for site in (*before, *after):
        if site.through == through:
            sizes[site.callers] += site.bytes
    callers = max(sizes, key=lambda chain: (sizes[chain], chain))
    held = [sum(site.bytes for site in side) for side in (before, after)]
    return Difference(holder, held[0], held[1], through, callers)


def _site(told: Mapping[str, Any]) -> Site:
    if told["native"] == _ARENA:
        return Site(told["bytes"], ARENAS, _ARENA, ())
    leaf = _function(told["leaf"])
    chain = [_function(frame) for frame in told["frames"]]
    holder, *callers = [one for one in chain if one] or [leaf or NATIVE]
    inner = leaf[0] if leaf and leaf != holder else ""
    # THPVariable_clone says as much as torch::autograd::THPVariable_clone.
    native = told["native"].rpartition("::")[2]
    through = " > ".join(part for part in (inner, native) if part)
    distinct = [one for one in dict.fromkeys(callers) if one != holder]
    return Site(told["bytes"], holder, through, tuple(distinct[:_CALLERS]))


def _function(frame: Sequence[Any] | None) -> Function | None:
    return (str(frame[0]), str(frame[1])) if frame else None
