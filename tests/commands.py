"""Commands of ours as a person starts them: processes of their own, in the repository."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def start(*words: str, **variables: Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m WORDS`` with these variables beside those of the tests."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {name: str(path) for name, path in variables.items()},
    )
