"""The few lines of a patch that a person can read in a verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LINES = 60
_OF_ONE_HUNK = 24
_WIDE = 140


@dataclass(frozen=True)
class Excerpt:
    """Lines of a unified diff, and how many changed lines there was no room for."""

    lines: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class _Hunk:
    file: str
    lines: tuple[str, ...]


def excerpt(patch: str, first: Sequence[str] = (), most: int = _LINES) -> Excerpt:
    """Choose lines of a patch.

    Args:
        patch: a unified diff as git prints it.
        first: files whose hunks come first, the most telling one first.
        most: lines there is room for.
    """
    order = {path: rank for rank, path in enumerate(first)}
    hunks = sorted(_hunks(patch), key=lambda hunk: order.get(hunk.file, len(order)))
    lines: list[str] = []
    left_out, shown = 0, ""
    for hunk in hunks:
        heading = [] if hunk.file == shown else [f"+++ {hunk.file}"]
        room = min(_OF_ONE_HUNK, most - len(lines) - len(heading))
        kept = hunk.lines[:room] if room > 1 else ()
        left_out += sum(line[:1] in ("+", "-") for line in hunk.lines[len(kept) :])
        if any(line[:1] in ("+", "-") for line in kept):
            lines += [*heading, *kept]
            shown = hunk.file
        else:
            left_out += sum(line[:1] in ("+", "-") for line in kept)
    return Excerpt(tuple(_plain(line) for line in lines), left_out)


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
    return [hunk for hunk in found if any(line[:1] in ("+", "-") for line in hunk.lines)]


def _plain(line: str) -> str:
    """Return a line without what could act on a terminal, and no longer than can be read."""
    text = "".join(char if char.isprintable() else " " for char in line.expandtabs(4))
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
