"""Make ``import bisect.search`` work under ``pytest`` as under ``python -m pytest``.

``pytest`` as a command does not have the repository root on its path, and by the time this file
is read the standard library's ``bisect`` is imported. Ours takes its place: it gives the very
same objects, so that whoever holds the standard one notices nothing (CONTRIBUTING.md).
"""

import importlib
import os
import sys
from pathlib import Path

from hypothesis import settings

ROOT = str(Path(__file__).resolve().parent)
for path in (str(Path(ROOT, "bench", "worker")), ROOT):
    if path not in sys.path:
        sys.path.insert(0, path)
if not hasattr(sys.modules.get("bisect"), "__path__"):
    sys.modules.pop("bisect", None)
    importlib.import_module("bisect")

# In CI the same examples every time; on a desk new ones, which is how they find something.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
