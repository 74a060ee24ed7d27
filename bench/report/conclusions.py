"""Conclusions in words, for a terminal and for Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.analysis.conclusion import Conclusion
from bench.report.grid import plain

_TITLES = {
    "rules_out": "What this rules out",
    "finding": "What it finds",
    "open": "What it leaves open",
}


def markdown(conclusions: Sequence[Conclusion], heading: str = "###") -> str:
    """Build sections of a list each, what settles an open question as a command below it."""
    parts = []
    for title, group in _grouped(conclusions):
        lines = [f"{heading} {title}", ""]
        for one in group:
            lines.append(f"- {plain(one.text)}")
            if one.command and one.command.isprintable():  # a line end would close the fence
                lines += ["", "  ```console", f"  $ {one.command}", "  ```", ""]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def lines(conclusions: Sequence[Conclusion]) -> Iterator[str]:
    """Give the lines for a terminal."""
    for title, group in _grouped(conclusions):
        yield f"{title}:"
        for one in group:
            yield f"  - {one.text}"
            if one.command:
                yield f"    $ {one.command}"


def _grouped(conclusions: Sequence[Conclusion]) -> Iterator[tuple[str, list[Conclusion]]]:
    for kind, title in _TITLES.items():
        group = [one for one in conclusions if one.kind == kind]
        if group:
            yield title, group
