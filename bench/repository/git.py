"""Run git on a repository: commands as lists, harmlessly configured, complaints in one line."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from bench.environment.commands import redact
from bench.errors import EtPeakError, RequestError
from bench.git import GIT, git_variables


class GitError(EtPeakError):
    """A git command failed; the message is its own last word."""


def gitpython() -> Any:
    """Give gitpython, which looks for git as it is imported.

    Raises:
        RequestError: where there is no git.

    """
    try:
        import git
    except ImportError:
        raise RequestError("git is not installed: only releases can be measured") from None
    return git


def run_git(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run git in ``folder``; give its exit code, output and errors."""
    command = [*GIT, *words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=git_variables(),  # gitpython can add to the variables, and take none away
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise GitError(f"git can't be run: {error}") from error
    return done.returncode, done.stdout.removesuffix("\n"), done.stderr.removesuffix("\n")


def last_word(errors: str) -> str:
    """Give the line of git's complaints that says what went wrong."""
    lines = [line for line in errors.splitlines() if not line.startswith("warning:")]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    line = next(iter(telling or lines), "no reason given")
    return redact(re.sub(r"^(fatal|error): ", "", line.strip()))
