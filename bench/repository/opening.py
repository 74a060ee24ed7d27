"""Open ``repo=``: a person's repository, which is only read, or the tool's own clone.

The tool's own is a bare partial clone (commits and trees; contents on demand) in the cache.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from bench.environment.commands import redact
from bench.errors import RequestError
from bench.place import expanded
from bench.repository.git import gitpython, last_word, run_git
from bench.repository.names import FIRST_REFS, Repository

OFFICIAL = "https://github.com/pytorch/executorch"
_ADDRESS = re.compile(r"(?:https|ssh|file)://[^\s-][^\s]*")


def open_repository(
    given: str | None, cache: Path, say: Callable[[str], None], official: str = OFFICIAL
) -> Repository:
    """Open ``repo=``: a folder, an address to keep a clone of, or None for the official one.

    Raises:
        RequestError: where it is none, or can't be fetched.

    """
    text = official if given is None else given
    if text.startswith("-") or "::" in text or any(ord(char) < 32 for char in text):
        raise RequestError(f"repo: {text!r} is neither a path nor an https, ssh or file address")
    if _ADDRESS.fullmatch(text):
        return _own_clone(text, cache, say)
    if "://" in text:
        raise RequestError(f"repo: {redact(text)!r}: only https, ssh and file addresses are used")
    path = expanded(text, "repo")
    if not path.is_dir():
        raise RequestError(f"repo: there is no folder {text!r}: pass a clone of {official}")
    git = gitpython()
    try:
        found = git.Repo(path.absolute(), search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, ValueError, OSError):
        raise RequestError(f"repo: {text} is no git repository: pass a clone of it") from None
    repository = Repository(Path(found.git_dir), text)
    status, _, errors = repository.try_git("rev-parse", "--git-dir")
    if status:
        raise RequestError(f"repo: git can't read {text}: {last_word(errors)}")
    return repository


def _own_clone(url: str, cache: Path, say: Callable[[str], None]) -> Repository:
    place = cache / "repository"
    git_dir = place / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}.git"
    if not git_dir.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / f"{git_dir.name}.lock"):
            if not git_dir.is_dir():
                _clone(url, git_dir, say)
    return Repository(git_dir, redact(url), own=True, say=say)


def _clone(url: str, git_dir: Path, say: Callable[[str], None]) -> None:
    say(f"fetching the history of {redact(url)} (once; without the files' contents)")
    new = git_dir.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    for words in (
        ("init", "--quiet", "--bare", "--initial-branch=main", str(new)),
        ("--git-dir", str(new), "remote", "add", "origin", url),
        ("--git-dir", str(new), "fetch", "--quiet", "--filter=blob:none", "origin", *FIRST_REFS),
    ):
        status, _, errors = run_git(git_dir.parent, *words)
        if status:
            shutil.rmtree(new, ignore_errors=True)
            raise RequestError(
                f"repo: {redact(url)} can't be fetched ({last_word(errors)}): pass repo=PATH, a "
                "clone of ExecuTorch; releases need none"
            )
    new.rename(git_dir)
