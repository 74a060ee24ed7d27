"""The end of a bisection: the verdict's files, what is shown, the exit code."""

from __future__ import annotations

import json
import sys
from bisect.crossings import Crossed
from bisect.explanation import Explanation
from bisect.rig import Rig
from bisect.stages import Searched
from bisect.verdict import Context, as_json, as_markdown, headline
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.markdown import Markdown

from bench import machine
from bench.errors import Exit


@dataclass(frozen=True)
class Conclusion:
    """What was found, ready to be written and shown.

    Attributes:
        crossed: what the crossings of exporter and runtime said; None where none were measured.
        notes: sentences for the verdict.
        seconds: of all its starts, to the end of the search.
        explained: what was found out of the commits named, by their index.
    """

    rig: Rig
    searched: Searched
    crossed: Crossed | None
    notes: tuple[str, ...]
    seconds: float
    explained: Mapping[int, Explanation] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        """The content of verdict.json."""
        return as_json(self.searched.finding, self._context)

    @property
    def headline(self) -> str:
        """The result in one line."""
        return headline(self.searched.finding, self._context)

    @property
    def text(self) -> str:
        """The content of verdict.md."""
        return as_markdown(self.searched.finding, self._context)

    def write(self) -> None:
        """Write verdict.json and verdict.md, unless this is a replay."""
        if not self.rig.replaying:
            self.rig.folder.write("verdict.json", json.dumps(self.content, indent=2) + "\n")
            self.rig.folder.write("verdict.md", self.text)

    def show(self) -> int:
        """Write the verdict and print it; return the exit code."""
        folder, console, text = self.rig.folder, self.rig.console, self.text
        self.write()
        if console.is_terminal:
            console.print(Markdown(text))
        else:
            print(text)
        if not self.rig.replaying:
            print(f"{folder.path}/verdict.md, verdict.json", file=sys.stderr)
        match self.searched.finding.status:
            case "found" | "narrowed":
                return Exit.FOUND
            case "unmeasurable":
                return Exit.BAD_REQUEST
            case _:
                return Exit.UNDECIDED

    @property
    def _context(self) -> Context:
        searched, request = self.searched, self.rig.request
        runs = [run for runs in searched.records.values() for run in runs]
        record = next((run for run in runs if run.get("torch")), {})
        native = (searched.native,) if searched.native else ()
        command = f"python -m bisect {request.metric.name} {' '.join(request.words)}"
        return Context(
            metric=request.metric,
            revisions=searched.named,
            relevant=searched.relevant,
            why_relevant=searched.why_relevant,
            varied=searched.stage.varied,
            held=searched.stage.held,
            moved=self.crossed.moved if self.crossed else None,
            against=self.crossed.against if self.crossed else "",
            cell=_cell_of(record),
            records=searched.records,
            command=command.strip(),
            wall_s=self.seconds,
            worker_s=self.rig.worker_s,
            environment=f"{machine.label()}; torch {record.get('torch', '?')}; "
            f"{_rungs(record)}; allocator {searched.stage.bench.allocator}",
            confidence=request.settings.confidence,
            floor=request.settings.floor,
            notes=(*self.notes, *native),
            explained=self.explained,
        )


def _cell_of(record: Mapping[str, Any]) -> dict[str, Any]:
    cells = record.get("cells") or [{}]
    return {k: v for k, v in cells[-1].items() if k not in ("key", "exporter")}


def _rungs(record: Mapping[str, Any]) -> str:
    """Say how the environments were made: of both sides, where a program was run."""
    rung, exporter = record.get("rung", "?"), record.get("exporter_rung")
    runs = (record.get("cells") or [{}])[-1].get("runtime") is not None
    return f"exporter rung {exporter}, runtime rung {rung}" if runs and exporter else f"rung {rung}"
