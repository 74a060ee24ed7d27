"""The worker's only output that anyone parses: an append-only file of JSON lines."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from et_worker.process import age


class EventWriter:
    """Appends one JSON object a line; each line is complete and flushed when ``emit`` returns.

    A killed worker thus leaves all it reported, and at worst one torn last line.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path`` for appending.

        Raises:
            OSError: the file can't be opened.

        """
        # Unbuffered, O_APPEND: one write per event, whole in the file when it returns.
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._started_at = time.monotonic() - age()

    def seconds(self) -> float:
        """Seconds since this process started (not since its first line of Python)."""
        return round(time.monotonic() - self._started_at, 4)

    def emit(self, event: str, **fields: Any) -> None:
        """Append ``{"event": event, "t": seconds since process start, **fields}``.

        Raises:
            ValueError: a float is not finite: NaN is no JSON.

        """
        line = json.dumps({"event": event, "t": self.seconds(), **fields}, allow_nan=False)
        rest = line.encode() + b"\n"
        while rest:  # a disk that fills up takes a part, and refuses at the next write
            rest = rest[os.write(self._file, rest) :]
