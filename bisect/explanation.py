"""What is said of a culprit beyond its figures: who held the memory, and what it changed. Pure."""

from __future__ import annotations

from bisect.evidence import signed
from bisect.holders import Comparison, Difference
from bisect.patch import Excerpt
from dataclasses import dataclass
from typing import Any

from bench.values import format_mb

TOOL = "memray"


@dataclass(frozen=True)
class Explanation:
    """What could be found out of one culprit; whatever could not is left out or said."""

    held: Comparison | None = None
    """Who held the high-water mark, parent against culprit."""
    phases: tuple[str, str] = ("", "")
    """The phases in which the two marks were reached."""
    why_not: str = ""
    """Why it is not known who held it, where that was asked for."""
    excerpt: Excerpt | None = None
    """Changed lines of files that the measured process read."""
    sha: str = ""

    def lines(self) -> list[str]:
        """Return it as Markdown, each part after an empty line."""
        return [*self._held_lines(), *self._patch_lines()]

    def as_json(self) -> dict[str, Any] | None:
        """Return who held what as JSON; None where it was not asked for.

        Keys: tool, why_not (or null), and where it is known before_bytes, after_bytes, phases and
        functions (function, file, through, before_bytes, after_bytes), the largest change first.
        """
        if self.held is None:
            return {"tool": TOOL, "why_not": self.why_not} if self.why_not else None
        return {
            "tool": TOOL,
            "why_not": None,
            "before_bytes": self.held.before,
            "after_bytes": self.held.after,
            "phases": list(self.phases),
            "functions": [
                {
                    "function": one.holder[0],
                    "file": one.holder[1],
                    "through": one.through,
                    "before_bytes": one.before,
                    "after_bytes": one.after,
                }
                for one in self.held.largest()
            ],
        }

    def _held_lines(self) -> list[str]:
        if self.held is None:
            return ["", f"Who held the memory is not known: {self.why_not}"] if self.why_not else []
        shown = self.held.largest()
        lines = [
            "",
            f"Who held the high-water mark, {self._where()} ({TOOL}: bytes asked of the allocator "
            "since the baseline, from runs of their own that are no measurements):",
            "",
            "| MB held by | through | before | after | change |",
            "| --- | --- | ---: | ---: | ---: |",
        ]
        lines += [_row(_holder(one), one.through, one.before, one.after) for one in shown]
        before = self.held.before - sum(one.before for one in shown)
        after = self.held.after - sum(one.after for one in shown)
        lines.append(_row("everything else", "", before, after))
        lines.append(_row("the whole mark", "", self.held.before, self.held.after))
        share = self.held.share(shown)
        if share is not None:
            lines += ["", f"The functions named explain {share:.0%} of the difference at the mark."]
        return lines

    def _where(self) -> str:
        first, last = self.phases
        return f"in phase {last}" if first == last else f"in phase {first} before, {last} after"

    def _patch_lines(self) -> list[str]:
        if self.excerpt is None or not (self.excerpt.lines or self.excerpt.left_out):
            return []
        # A fence longer than any in the patch can't be closed by it.
        longest = max((_backticks(line) for line in self.excerpt.lines), default=0)
        fence = "`" * max(3, longest + 1)
        lines = ["", "The lines that touch what was read:", ""]
        lines += [f"{fence}diff", *self.excerpt.lines, fence]
        if self.excerpt.left_out:
            more = f"and {self.excerpt.left_out} more changed lines: `git show {self.sha[:10]}`"
            lines += ["", more]
        return lines


def _holder(one: Difference) -> str:
    function, file = one.holder
    words = [f"`{function}`", file]
    if one.callers:
        words.append(f"(called by `{one.callers[0][0]}`)")
    return " ".join(word for word in words if word)


def _row(holder: str, through: str, before: int, after: int) -> str:
    cells = [holder, f"`{through}`" if through else ""]
    cells += [format_mb(before), format_mb(after), signed(after - before)]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _backticks(line: str) -> int:
    longest = run = 0
    for char in line:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
