"""``python -m bisect METRIC ...``: the commit that changed a measurement.

Started by any interpreter: where the controller's packages are missing it hands over to the
environment that nox keeps for it. So only the standard library is imported at the top.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = (
    *("hydra", "pandas", "git", "psutil", "rich", "filelock", "platformdirs", "packaging"),
    "flatbuffers",
)


def main(argv: list[str]) -> int:
    """Run the command, here or in nox's environment; return its exit code."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        from bisect.cli import run

        return run(argv)
    if "ET_PEAK_HANDED_OVER" in os.environ:
        print(f"et-peak: the controller's environment lacks {', '.join(missing)}", file=sys.stderr)
        return _no_verdict(argv, 2)
    return hand_over(argv)


def hand_over(argv: list[str]) -> int:
    """Run ``nox -s bisect`` in the place of this process; return the exit code of what it ran.

    nox knows only 0 and 1; the true exit code comes back through a file. Where there is none, the
    command crashed or never began: that is neither "nothing" (0) nor "a culprit was found" (1).
    """
    if importlib.util.find_spec("nox") is not None:
        nox = [sys.executable, "-m", "nox"]
    elif found := shutil.which("nox"):
        nox = [found]
    else:
        print("et-peak: needs nox (pip install nox), which builds its environment", file=sys.stderr)
        return _no_verdict(argv, 2)
    print("et-peak: going on in the environment that nox keeps (nox -s bisect)", file=sys.stderr)
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code")
        env = os.environ | {"ET_PEAK_HANDED_OVER": str(code), "ET_PEAK_CWD": str(Path.cwd())}
        # Not in our own working directory: nox itself needs the standard library's bisect.
        command = [*nox, "-f", str(ROOT / "noxfile.py"), "-s", "bisect", "--", *argv]
        try:
            done = subprocess.run(command, env=env, cwd=folder, check=False)
        except KeyboardInterrupt:
            return 130
        if code.exists():
            return int(code.read_text())
        return _no_verdict(argv, 3 if done.returncode in (0, 1) else done.returncode)


def _no_verdict(argv: list[str], code: int) -> int:
    """Return the code of a command that could not be run: of a probe, the one that ends git's."""
    return 255 if "probe" in argv else code


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:  # while importing; then the command sees to it
        print("et-peak: interrupted", file=sys.stderr)
        status = 130
    if told := os.environ.get("ET_PEAK_HANDED_OVER"):
        Path(told).write_text(str(int(status)))
    sys.exit(status)
