"""What a user's script is made of besides itself: modules of the user's, and data beside it.

The controller knows the script's own content only. What else went into a program is found out as
it happens, and told with the program, so that it is not taken for one of other neighbours.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

_COMPILED = (".pyc", ".pyo")
_WRITING = os.O_WRONLY | os.O_RDWR


class Neighbours:
    """Collects paths from the moment it is made; make it before the script is run.

    A module is the user's if it comes from nowhere on today's ``sys.path``: neither Python's, the
    environment's nor ours. Other files count where the process opened them below the script's
    folder, by Python's own ``open`` (PEP 578), and only to read.
    """

    def __init__(self, script: Path) -> None:
        self._script = script
        self._folder = script.parent
        self._known = {f"{place}/" for path in sys.path if path for place in _both(path)}
        self._opened: set[str] = set()
        self._written: set[str] = set()
        self._hashes: dict[str, str] = {}
        sys.addaudithook(self._hook)

    def note(self) -> None:
        """Hash the modules imported by now: they may be edited before the process ends."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and not path.endswith(_COMPILED):
                self._add(path)

    def found(self) -> dict[str, str]:
        """Return the SHA-256 of each file by its path relative to the script's folder."""
        self.note()
        for path in sorted(self._opened - self._written):
            self._add(path)
        return dict(sorted(self._hashes.items()))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open":
            return
        path, flags = arguments[0], arguments[2]
        if isinstance(path, bytes | str):
            text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - the hook opens nothing
            if text.startswith(f"{self._folder}/") and not text.endswith(_COMPILED):
                written = isinstance(flags, int) and flags & _WRITING
                (self._written if written else self._opened).add(text)

    def _add(self, path: str) -> None:
        name = os.path.relpath(path, self._folder)
        if name in self._hashes or Path(path) == self._script or not Path(path).is_file():
            return
        if not any(place.startswith(known) for place in _both(path) for known in self._known):
            with Path(path).open("rb") as file:
                self._hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()


def _both(path: str) -> tuple[str, str]:
    """Return a path as it is named and as it is stored: environments have symbolic links."""
    return os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100
