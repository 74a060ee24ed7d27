"""Which files of the ``executorch`` package a process read, and which native libraries it mapped.

A commit that changes none of them cannot have changed what was measured: that is what narrows a
bisection down.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_PART = "/executorch/"
_CODE = (".pyc", ".pyo")


class Trace:
    """Collects paths from the moment it is made; make it before ExecuTorch is imported.

    Opens are seen by an audit hook (PEP 578), which can't be taken off again; imports by their
    modules, as compiled Python is opened under another name.
    """

    def __init__(self) -> None:
        self._opened: set[str] = set()
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path = arguments[0]
            if isinstance(path, str) and _PART in path:
                self._opened.add(path)

    def found(self) -> dict[str, list[str]]:
        """Return sorted ``files`` and ``native`` paths, relative to the package.

        Files that were written or looked for in vain are among them: one too many does no harm.
        """
        roots = _package_roots()
        paths = {str(getattr(m, "__file__", None) or "") for m in list(sys.modules.values())}
        opened = {p for p in self._opened | paths if _PART in p and not p.endswith(_CODE)}
        files = {name for path in opened if (name := _relative(path, roots))}
        native = {name for path in _mapped() if (name := _relative(path, roots))}
        return {"files": sorted(files - native), "native": sorted(native)}


def _package_roots() -> list[str]:
    package = sys.modules.get("executorch")
    return [f"{str(path).rstrip('/')}/" for path in getattr(package, "__path__", [])]


def _relative(path: str, roots: list[str]) -> str | None:
    return next((path[len(root) :] for root in roots if path.startswith(root)), None)


def _mapped() -> set[str]:
    """Return the libraries mapped now (proc(5), maps); nothing where there is no ``/proc``."""
    with suppress(OSError):
        lines = Path("/proc/self/maps").read_text().splitlines()
        return {line[line.index("/") :] for line in lines if _PART in line and ".so" in line}
    return set()
