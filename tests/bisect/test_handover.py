"""Started by an interpreter without our packages, the command goes on in nox's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS_IT = """
import os, subprocess, sys
words = sys.argv[sys.argv.index("--") + 1:]
code = subprocess.run([sys.executable, "-m", "bisect", *words], cwd={root!r}).returncode
sys.exit(int(code != 0))
"""
TELLS = """
import os, pathlib, sys
print(os.environ["ET_PEAK_CWD"], os.getcwd(), *sys.argv[1:], sep="\\n")
"""


def start(tmp_path: Path, nox: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command without site-packages (-S), in `tmp_path`, with a nox of our own."""
    script = tmp_path / "bin" / "nox"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\n{nox}")
    script.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith("ET_PEAK_")}
    env |= {"PATH": f"{script.parent}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-S", "-m", "bisect", *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nox_is_told_where_we_began_and_runs_elsewhere(tmp_path: Path) -> None:
    told = start(tmp_path, TELLS, "encode_peak", "repo=x").stdout.splitlines()
    assert Path(told[0]) == tmp_path
    assert Path(told[1]) not in (tmp_path, ROOT)
    assert told[2:] == ["-f", f"{ROOT}/noxfile.py", "-s", "bisect", "--", "encode_peak", "repo=x"]


@pytest.mark.parametrize(
    ("dies_with", "word", "code"),
    [(0, "encode_peak", 3), (1, "encode_peak", 3), (4, "encode_peak", 4), (0, "probe", 255)],
)
def test_a_crash_is_neither_nothing_nor_a_culprit(
    tmp_path: Path, dies_with: int, word: str, code: int
) -> None:
    assert start(tmp_path, f"raise SystemExit({dies_with})", word).returncode == code


@pytest.mark.parametrize("code", [0, 1, 125])
def test_the_true_exit_code_comes_back(tmp_path: Path, code: int) -> None:
    nox = f"""
import os, pathlib
pathlib.Path(os.environ["ET_PEAK_HANDED_OVER"]).write_text("{code}")
"""
    assert start(tmp_path, nox, "probe").returncode == code


def test_what_is_handed_over_works_in_the_folder_where_we_began(tmp_path: Path) -> None:
    """With the real command: the clone `probe` is to look at is the working directory, no clone."""
    nox = RUNS_IT.format(root=str(ROOT))
    done = start(tmp_path, nox, "probe", "export_peak", "threshold=1MB")
    assert done.returncode == 255, done.stderr
    assert str(tmp_path) in done.stderr
