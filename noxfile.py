"""Sessions of et-peak. `nox -l` lists them; `nox -s bench -- --help` explains the main one."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2024.4.15"
# pip, not uv, installs the controller: it follows the pip configuration of the machine. What is
# benchmarked is installed by uv, in seconds, with that configuration translated.
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "tests"]

REQUIREMENTS = Path("requirements")


def install(session: nox.Session, lock: str = "controller") -> None:
    """Install a lock file into the session's environment, unless it holds that lock already."""
    path = REQUIREMENTS / f"{lock}.txt"
    stamp = Path(session.virtualenv.location) / "et-peak-lock"
    wanted = f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    session.install("-r", str(path))
    stamp.write_text(wanted)


def launcher_lock(words: Iterable[str]) -> str:
    """Name the lock that has the launcher of a command line: of other machines, the extra's."""
    named = [word.removeprefix("hydra/launcher=") for word in words]
    extras = [extra for extra in ("ray", "submitit") for name in named if name.startswith(extra)]
    return extras[-1] if extras else "controller"


def run(session: nox.Session, *words: str, **given: Any) -> None:
    """Run a program; where it fails, end with its own exit code.

    nox's own is 1, whatever the program said: 1 is a regression or a culprit, and 2 and 3 are not.
    """
    try:
        session.run(*words, **given)
    except CommandFailed as failed:
        ended = re.search(r"code (-?\d+)", str(failed))
        if ended is None:  # it was not even started
            raise
        code = int(ended[1])
        sys.exit(code if code >= 0 else 128 - code)  # of a signal, as a shell says it


def command(session: nox.Session, *words: str, codes: Iterable[int] = (0,)) -> None:
    """Run a module of ours with the words of the command line, in the controller's environment."""
    install(session, launcher_lock(session.posargs))
    # nox goes to this folder; a relative path is meant from where the person stands (bench.place).
    env = {"ET_PEAK_CWD": os.environ.get("ET_PEAK_CWD", session.invoked_from)}
    run(session, "python", "-m", *words, *session.posargs, env=env, success_codes=codes)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure a matrix: `nox -s bench -- model=small precision=bf16` (`-- --help` for more)."""
    command(session, "bench")


@nox.session
def bisect(session: nox.Session) -> None:
    """Find the commit that did it: `nox -s bisect -- encode_peak`, as `python -m bisect`."""
    # Handed over by `python -m bisect`, which passes the exit code on itself: no failure of nox's.
    codes = range(256) if "ET_PEAK_HANDED_OVER" in os.environ else (0,)
    command(session, "bisect", codes=codes)


@nox.session
def env(session: nox.Session) -> None:
    """Build, list or prune environments: `nox -s env -- v1.4.1`, `-- --list`, `-- --prune`."""
    command(session, "bench.environment")


@nox.session
def relevant(session: nox.Session) -> None:
    """Commits that can have changed what a run measured: `nox -s relevant -- A..B run=ID`."""
    command(session, "bench.revision")


@nox.session
def publish(session: nox.Session) -> None:
    """Write runs as a table for git: `nox -s publish -- NAME [RUN ...]` makes results/NAME.csv."""
    command(session, "bench.results")


@nox.session
def report(session: nox.Session) -> None:
    """Show a run, what it rules out, and write report.html: `-- [RUN|TABLE|BISECTION]`."""
    command(session, "bench.report")


@nox.session
def compare(session: nox.Session) -> None:
    """Set before against after: `nox -s compare -- A B`, or `-- RUN commit=X,Y`."""
    command(session, "bench.report.compare")


@nox.session
def gate(session: nox.Session) -> None:
    """Fail if anything regressed beyond the noise: `nox -s gate -- baseline.csv [RUN]`."""
    command(session, "bench.report.compare", "gate")


@nox.session
def rerun(session: nox.Session) -> None:
    """Measure a recorded row again: `nox -s rerun -- CELL_KEY`, or `-- FILE.csv:LINE`."""
    command(session, "bench.rerun")


@nox.session
def bundle(session: nox.Session) -> None:
    """Write a program with its inputs, as for a phone: `nox -s bundle -- model=small`."""
    command(session, "bench.bundle")


@nox.session
def ingest(session: nox.Session) -> None:
    """Take rows measured elsewhere: `nox -s ingest -- FILE device="iPhone 16" kind=...`."""
    command(session, "bench.ingest")


@nox.session
def readme(session: nox.Session) -> None:
    """Cut the README's tables anew from results/ (`-- --check` only compares)."""
    command(session, "bench.report.readme")


@nox.session
def perf(session: nox.Session) -> None:
    """Measure our own promises: `-- environments repo=PATH`, `-- steadiness`, `-- tables`, ..."""
    command(session, "bench.perf")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests; `-- -m 'not integration'` leaves out those that build environments."""
    install(session, "test")
    # Two at most, for the memory of the exports; `-- -n 0` runs all in one process.
    side_by_side = ("-n", "logical", "--maxprocesses", "2", "--dist", "worksteal")
    session.run("python", "-m", "pytest", *side_by_side, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style (ruff) and types (mypy, strict)."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve requirements/*.txt anew, for every Python and system we support."""
    session.install("uv")
    for name in ("controller", "test", "lint", "ray", "submitit"):
        extras = [] if name == "controller" else [name]
        flags = [word for extra in extras for word in ("--extra", extra)]
        session.run(
            *("uv", "pip", "compile", "--universal", "--python-version", "3.11", "--upgrade"),
            *("--quiet", "--no-emit-index-url", "--custom-compile-command", "nox -s lock"),
            *(*flags, "pyproject.toml", "-o", str(REQUIREMENTS / f"{name}.txt")),
        )
