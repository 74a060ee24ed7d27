"""Run git by gitpython: commands as lists, harmlessly configured, complaints in one line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from bench.environment.commands import redact
from bench.errors import EtPeakError, RequestError

# Nothing that a repository's own configuration could make git run, and no helper transports.
SAFE = ("protocol.ext.allow=never", "core.fsmonitor=false", f"core.hooksPath={os.devnull}")
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


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
    options = [word for setting in SAFE for word in ("-c", setting)]
    git = gitpython()
    try:
        status, output, errors = git.cmd.Git(str(folder)).execute(
            ["git", *options, *words],
            env=_QUIET,
            with_extended_output=True,
            with_exceptions=False,
        )
    except (git.exc.GitCommandNotFound, OSError) as error:
        raise GitError(f"git can't be run: {error}") from error
    return int(status), str(output), str(errors)


def last_word(errors: str) -> str:
    """Give the line of git's complaints that says what went wrong."""
    lines = [line for line in errors.splitlines() if not line.startswith("warning:")]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    line = next(iter(telling or lines), "no reason given")
    return redact(re.sub(r"^(fatal|error): ", "", line.strip()))
