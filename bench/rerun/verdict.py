"""Whether a second measurement agrees with the first one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.compare import Comparison, Line
from bench.analysis.figures import Figure
from bench.errors import Exit
from bench.report.grid import Grid
from bench.values import format_change, format_percent, format_seconds, format_size

OUTPUTS = "outputs"
"""What a comparison is to be forced in spite of: here, other outputs are a finding."""
_SHOWN = {"peak": format_size, "steady": format_size, "time": format_seconds, "pte": format_size}
_NAMES = {"pte": ".pte"}


@dataclass(frozen=True)
class Verdict:
    """What is said of a row that was measured again.

    Attributes:
        code: OK agrees, FOUND differs, UNDECIDED can't be said.
        text: one line for a person.

    """

    code: Exit
    text: str


def judge(comparison: Comparison, judged: Sequence[str], otherwise: Sequence[str]) -> Verdict:
    """Judge the one pair of a comparison, recorded against again.

    Args:
        comparison: made with :data:`OUTPUTS` forced.
        judged: metrics that the verdict is about.
        otherwise: what was not as it was when the row was recorded: then equal values agree
            all the same, and different ones tell nothing.

    """
    if len(comparison.lines) != 1:
        return Verdict(Exit.UNDECIDED, "undecided: the row and what was measured are no pair")
    (line,) = comparison.lines
    but = f" ({'; '.join(otherwise)})" if otherwise else ""
    if line.verdict == "incomparable":
        why = "; ".join(line.reasons) or f"{', '.join(judged)} not measured"
        return Verdict(Exit.UNDECIDED, f"undecided: {why}{but}")
    said = ", ".join(_said(name, line.figures[name]) for name in judged if name in line.figures)
    if line.verdict == "noisy":
        return Verdict(Exit.UNDECIDED, f"undecided, the noise is too large: {said}{but}")
    if line.verdict == "same" and not line.forced:
        return Verdict(Exit.OK, f"agrees within noise: {said}{but}")
    words = "; ".join(filter(None, [said, *line.reasons, *line.forced]))
    if otherwise:
        return Verdict(Exit.UNDECIDED, f"undecided: {words}, but not all is as it was{but}")
    return Verdict(Exit.FOUND, f"differs: {words}")


def figures(line: Line) -> Grid:
    """Build the table of both values of each metric."""
    rows = []
    for name, figure in line.figures.items():
        show = _SHOWN[name]
        change = "" if figure.relative is None else format_percent(figure.relative)
        rows.append(
            (
                _NAMES.get(name, name),
                show(figure.before),
                show(figure.after),
                change,
                f"±{format_percent(figure.limit).lstrip('+')}",
            )
        )
    header = ("", "recorded", "again", "change", "noise")
    return Grid(header, tuple(rows), frozenset(header[1:]))


def _said(name: str, figure: Figure) -> str:
    if figure.before is None or figure.after is None:
        return f"{name} not measured"
    change = format_change(figure.before, figure.after, _SHOWN[name])
    return f"{name} {change}, noise ±{format_percent(figure.limit).lstrip('+')}"
