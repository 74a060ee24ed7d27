"""MLX's own memory profile (``ET_MLX_MEM_PROFILE=1``, since pull request 21795): its lines, parsed.

It reports macOS's physical footprint, which counts compressed and swapped pages that RSS does not,
and says nothing elsewhere. A line of ``backends/mlx/_memprofile.py``, GB being GiB::

    [mem]   build: 42.84 GB -> 41.30 GB, -1.54 GB net, high-water 48.26 GB, RAISED PEAK by 5.42 \
GB, 24.4s

Two spaces of indent are one level; a phase is logged at its end, after those within it.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import asdict, dataclass

from et_worker.events import EventWriter

LOGGER = "executorch.backends.mlx"
VARIABLE = "ET_MLX_MEM_PROFILE"
_GB = 1 << 30
_LINE = re.compile(
    r"\[mem\](?P<indent> *) (?P<name>.+): (?P<start>[\d.]+) GB -> (?P<end>[\d.]+) GB, "
    r"[+-][\d.-]+ GB net, high-water (?P<peak>[\d.]+) GB"
    r"(, RAISED PEAK by (?P<raised>[\d.]+) GB)?, (?P<seconds>[\d.]+)s"
)


@dataclass(frozen=True)
class Profiled:
    """One line of the profile; memory is physical footprint, in bytes, to 10 MiB.

    Attributes:
        name: of MLX's phase, such as ``ops_to_not_decompose: check_support``.
        depth: how many phases it is within.
        seconds: it took.
        rss_bytes: footprint at its end.
        peak_bytes: highest footprint of the process so far.
        raised_bytes: by how much it raised that.

    """

    name: str
    depth: int
    seconds: float
    rss_bytes: int
    peak_bytes: int
    raised_bytes: int


def parse(line: str) -> Profiled | None:
    """Parse a line of the log; None if it is no finished phase of the profile."""
    match = _LINE.search(line)
    if match is None:
        return None
    return Profiled(
        match["name"],
        len(match["indent"]) // 2,
        float(match["seconds"]),
        _bytes(match["end"]),
        _bytes(match["peak"]),
        _bytes(match["raised"] or "0"),
    )


class Listener(logging.Handler):
    """Reports what MLX logs of its memory as ``memprofile`` events."""

    def __init__(self, events: EventWriter) -> None:
        super().__init__(logging.INFO)
        self._events = events

    def emit(self, record: logging.LogRecord) -> None:
        """Report one line, if it is of the profile."""
        found = parse(record.getMessage())
        if found is not None:
            self._events.emit("memprofile", **asdict(found))


def turn_on() -> None:
    """Turn the profile on; to be called before ExecuTorch is imported."""
    os.environ[VARIABLE] = "1"


def listen(events: EventWriter) -> None:
    """Report the profile; to be called once MLX's exporter is imported.

    Not before: it gives its logger a handler of its own only where there is none.
    """
    logging.getLogger(LOGGER).addHandler(Listener(events))


def _bytes(text: str) -> int:
    return round(float(text) * _GB)
