"""How long a bisection took: the seconds of all its starts, kept in its folder."""

from __future__ import annotations

import json
import time

from bench.results.record import RunFolder

_KEPT = "seconds.json"


class Clock:
    """Counts from its making on, after what earlier starts of the same bisection took.

    Args:
        folder: of the bisection.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._began = time.monotonic()
        self._earlier = _earlier(folder)

    @property
    def seconds(self) -> float:
        """Seconds of all starts up to now."""
        return self._earlier + time.monotonic() - self._began

    def keep(self, seconds: float) -> None:
        """Keep what all starts took, for the next.

        Raises:
            DiskError: if it can't be written.
        """
        self._folder.write(_KEPT, json.dumps({"wall_s": round(seconds, 1)}) + "\n")


def _earlier(folder: RunFolder) -> float:
    """Return what earlier starts took: one that was killed, up to its last measurement."""
    taken = [float(record.get("elapsed_s", 0.0)) for record in folder.records()]
    for name in (_KEPT, "verdict.json"):
        try:
            taken.append(float(json.loads((folder.path / name).read_text())["wall_s"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return max(taken, default=0.0)
