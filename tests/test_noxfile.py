"""What nox adds to our commands, by the real nox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOXFILE = """
import sys

sys.path.insert(0, {root!r})
import nox
from noxfile import run

@nox.session(venv_backend="none")
def ends(session):
    run(session, sys.executable, "-c", *session.posargs, external=True)
"""


@pytest.mark.parametrize(
    ("program", "code"),
    [
        *((f"raise SystemExit({code})", code) for code in (0, 1, 2, 3, 125, 130)),
        ("import os; os.kill(os.getpid(), 9)", 137),
    ],
)
def test_a_session_ends_with_the_exit_code_of_its_command(
    tmp_path: Path, program: str, code: int
) -> None:
    (tmp_path / "noxfile.py").write_text(NOXFILE.format(root=str(ROOT)))
    words = ["-m", "nox", "-s", "ends", "--", program]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == code
