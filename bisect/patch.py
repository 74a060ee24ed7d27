"""The few lines of a patch that a person can read in a verdict. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINES = 80
_OF_ONE_HUNK = 16
_WIDE = 140
_WHOLE_FILE = re.compile(r"@@ (-0,0 |-\S+ \+0,0 )")
_CODE = re.compile(r"[+-](async def|def|class) ")
_SAYS_LITTLE = re.compile(r"[+-]\s*(#|import |from \S+ import|$)")
"""A changed line that is a comment, an import, or empty."""


@dataclass(frozen=True)
class Excerpt:
    """Lines of a unified diff, and how many changed lines there was no room for."""

    lines: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class _Hunk:
    file: str
    lines: tuple[str, ...]

    @property
    def begin(self) -> int:
        """The line to begin at: past the licence and the imports of a whole file."""
        if not _WHOLE_FILE.match(self.lines[0]):
            return 0
        return next((n for n, line in enumerate(self.lines) if _CODE.match(line)), 0)

    @property
    def says_little(self) -> bool:
        return all(_SAYS_LITTLE.match(line) for line in self.lines if _changes(line))


def excerpt(patch: str, first: Sequence[str] = (), most: int = _LINES) -> Excerpt:
    """Choose lines of a patch: the beginning of each hunk, of a whole file its first function.

    Hunks of nothing but comments, imports and empty lines come last.

    Args:
        patch: a unified diff as git prints it.
        first: files whose hunks come first, the most telling one first.
        most: lines there is room for.
    """
    order = {path: rank for rank, path in enumerate(first)}
    hunks = sorted(
        _hunks(patch), key=lambda hunk: (hunk.says_little, order.get(hunk.file, len(order)))
    )
    lines: list[str] = []
    left_out, shown = 0, ""
    for hunk in hunks:
        heading = [] if hunk.file == shown else [f"+++ {hunk.file}"]
        room = min(_OF_ONE_HUNK, most - len(lines) - len(heading))
        kept = hunk.lines[hunk.begin :][: max(0, room)]
        if any(map(_changes, kept)):
            lines += [*heading, *kept]
            shown = hunk.file
        else:
            kept = ()
        left_out += sum(map(_changes, hunk.lines)) - sum(map(_changes, kept))
    return Excerpt(tuple(_plain(line) for line in lines), left_out)


def _changes(line: str) -> bool:
    return line[:1] in ("+", "-")


def _hunks(patch: str) -> list[_Hunk]:
    found: list[_Hunk] = []
    file, body = "", []  # type: str, list[str]
    for line in [*patch.rstrip("\n").split("\n"), "diff --git "]:
        begins = line.startswith(("diff --git ", "@@ "))
        if begins and body:
            found.append(_Hunk(file, tuple(body)))
            body = []
        if line.startswith("@@ ") or (body and not begins):
            body.append(line)
        elif line.startswith(("--- a/", "+++ b/")):
            file = line[len("+++ b/") :].rstrip("\t")
    return [hunk for hunk in found if any(map(_changes, hunk.lines))]


def _plain(line: str) -> str:
    """Return a line without what could act on a terminal, and no longer than can be read."""
    text = "".join(char if char.isprintable() else " " for char in line.expandtabs(4))
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
