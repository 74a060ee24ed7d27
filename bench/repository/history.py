"""Questions on the history of a repository: what a search for a commit has to know."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from bench.errors import RequestError
from bench.repository.git import GitError
from bench.repository.names import Repository

# Against the first parent, so that a merge names what it brought; and without looking for
# renames, which a clone without contents would have to fetch them for.
_FILES = ("-m", "--first-parent", "--no-renames", "--name-only", "-z")
_NIGHTLY = re.compile(r"\d{4}-\d\d-\d\d nightly release \(([0-9a-f]{40})\)")


@dataclass(frozen=True)
class Commit:
    """A commit as a verdict names it."""

    sha: str
    subject: str
    author: str
    date: datetime
    """When it was committed, which on a main line means merged."""
    files: tuple[str, ...]
    """Paths it changed against its first parent."""


@dataclass(frozen=True)
class Range:
    """The first-parent commits after ``start`` up to and with the bad one, oldest first."""

    start: str
    commits: tuple[str, ...]
    from_fork: bool
    """Whether ``start`` is where good and bad parted, good not being an ancestor of bad."""


def commit_info(repository: Repository, sha: str) -> Commit:
    """Describe a commit."""
    form = "%H%x00%s%x00%an%x00%cI%x00"
    text = repository.git("log", "-1", *_FILES, f"--format={form}", "--end-of-options", sha)
    full, subject, author, date, *files = text.split("\0")
    paths = tuple(path.lstrip("\n") for path in files if path.strip("\n"))
    return Commit(full, subject, author, datetime.fromisoformat(date), paths)


def patch(repository: Repository, sha: str, paths: Collection[str]) -> str:
    """Give what a commit changed in ``paths`` against its first parent, as a unified diff.

    One line of context; bytes that are no text are replaced. Empty where ``paths`` is.
    """
    if not paths:
        return ""
    words = ["-m", "--first-parent", "--no-renames", "--no-ext-diff", "--no-textconv"]
    words += ["--no-color", "--src-prefix=a/", "--dst-prefix=b/"]  # whatever the person configured
    wanted = [f":(top,literal){path}" for path in sorted(paths)]
    text = repository.git("log", "-1", "--format=", "-p", "-U1", *words, sha, "--", *wanted)
    return text.encode(errors="replace").decode().lstrip("\n")


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Tell whether ``older`` is in the history of ``newer``; a commit is in its own."""
    status, _, errors = repository.try_git("merge-base", "--is-ancestor", older, newer)
    if status > 1:
        raise GitError(f"{repository.label}: {older[:10]} and {newer[:10]}: {errors.strip()}")
    return status == 0


def first_parent_range(repository: Repository, good: str, bad: str) -> Range:
    """Give the commits to search for what changed between two, both given by their sha.

    Raises:
        RequestError: where there are none: the same commit, the wrong way round, or histories
            that don't meet.

    """
    if good == bad:
        raise RequestError(f"good and bad are the same commit, {good[:10]}")
    start = _merge_base(repository, good, bad)
    if start == bad:
        raise RequestError(
            f"good ({good[:10]}) comes after bad ({bad[:10]}): exchange them, or ask for the "
            "other direction"
        )
    words = ("--first-parent", "--reverse", "--end-of-options", f"{start}..{bad}")
    commits = tuple(repository.git("rev-list", *words).split())
    return Range(start, commits, from_fork=start != good)


def branch_point(repository: Repository, release: str) -> str | None:
    """Give the commit of the main line that a release (``1.4.1``) branched from.

    None where the repository has no tag of that release.
    """
    tag = f"refs/tags/v{release}"
    if repository.try_git("rev-parse", "--verify", "--quiet", tag)[0]:
        return None
    return _merge_base(repository, f"{tag}^{{commit}}", repository.main())


def paths_changed(repository: Repository, start: str, end: str) -> dict[str, tuple[str, ...]]:
    """Give the paths that each first-parent commit after ``start`` changed, oldest first."""
    words = ("log", "--reverse", *_FILES, "--format=commit:%H", "--end-of-options")
    changes: dict[str, list[str]] = {}
    sha = ""
    for token in repository.git(*words, f"{start}..{end}").split("\0"):
        # A commit's first path comes after a line break; a commit without any has none.
        word = token.lstrip("\n")
        if re.fullmatch(r"commit:[0-9a-f]{40,64}", word):
            sha = word.removeprefix("commit:")
            changes[sha] = []
        elif word:
            changes[sha].append(word)
    return {sha: tuple(paths) for sha, paths in changes.items()}


def nightly_source(repository: Repository, sha: str) -> str | None:
    """Give the main-line commit that a nightly was made from; None where it isn't here.

    Nightlies are built from commits of a branch of their own, whose subjects name the source.
    """
    status, subject, _ = repository.try_git("log", "-1", "--format=%s", "--end-of-options", sha)
    if status:
        return None
    match = _NIGHTLY.fullmatch(subject)
    return match[1] if match else sha


def _merge_base(repository: Repository, one: str, other: str) -> str:
    status, output, _ = repository.try_git("merge-base", one, other)
    if status or not output:
        raise RequestError(
            f"{one[:10]} and {other[:10]} have no common ancestor in {repository.label}"
            f"{repository.shallow()}"
        )
    return output.split()[0]
