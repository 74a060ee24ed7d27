"""The worker is no part of the controller's path: its pure parts are put on it for these tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
