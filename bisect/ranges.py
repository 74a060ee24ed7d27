"""The revisions to search: releases, or the first-parent commits between two."""

from __future__ import annotations

from bisect.verdict import Named
from dataclasses import dataclass

from packaging.version import Version

from bench.environment import releases
from bench.errors import RequestError
from bench.repository import (
    Repository,
    branch_point,
    commit_info,
    first_parent_range,
    paths_changed,
)


@dataclass(frozen=True)
class SearchRange:
    """The revisions of one stage, good first, bad last, and what each commit changed."""

    names: tuple[str, ...]
    shas: tuple[str, ...]
    """Full shas of the names; empty for releases."""
    changes: dict[str, tuple[str, ...]]
    note: str = ""


def release_range(good: str | None, bad: str | None) -> SearchRange:
    """Return the releases from good to bad, of each minor version the newest.

    Args:
        good: a release such as ``1.2.0``; None for the oldest known.
        bad: the same for the newest.

    Raises:
        RequestError: if bad is not newer than good.
    """
    newest: dict[tuple[int, ...], str] = {}
    for release in sorted(releases(), key=Version):
        newest[Version(release).release[:2]] = release
    low = Version(good) if good else Version(min(newest.values(), key=Version))
    high = Version(bad) if bad else Version(max(newest.values(), key=Version))
    if low >= high:
        raise RequestError(f"good (v{low}) is not older than bad (v{high}): exchange them")
    between = [r for r in newest.values() if low < Version(r) < high]
    # A newer patch of an endpoint's own minor version is no step on the way.
    ends = {low.release[:2], high.release[:2]}
    between = [r for r in between if Version(r).release[:2] not in ends]
    return SearchRange(tuple(f"v{release}" for release in (str(low), *between, str(high))), (), {})


def commit_range(repository: Repository, good: str, bad: str) -> SearchRange:
    """Return the commits from good to bad, both full shas, along first parents.

    Where good is not an ancestor of bad, the search begins where the two parted.

    Raises:
        RequestError: if there is nothing between them, or bad is older.
    """
    found = first_parent_range(repository, good, bad)
    note = ""
    if found.from_fork:
        note = (
            f"{good[:10]} is no ancestor of {bad[:10]}: searched from {found.start[:10]}, "
            "where they parted"
        )
    shas = (found.start, *found.commits)
    changes = paths_changed(repository, found.start, bad)
    return SearchRange(tuple(sha[:10] for sha in shas), shas, changes, note)


def between_releases(repository: Repository, good: str, bad: str) -> SearchRange:
    """Return the main-line commits between the branch points of two releases.

    Raises:
        RequestError: if the repository lacks the tags.
    """
    points = []
    for release in (good, bad):
        point = branch_point(repository, release.removeprefix("v"))
        if point is None:
            raise RequestError(f"{repository.label} has no tag {release}: git fetch --tags")
        points.append(point)
    return commit_range(repository, *points)


def name_all(repository: Repository | None, stage: SearchRange) -> list[Named]:
    """Return names without details: those of a verdict's commits are looked up when needed."""
    if not stage.shas or repository is None:
        return [Named(name) for name in stage.names]
    return [Named(name, sha) for name, sha in zip(stage.names, stage.shas, strict=True)]


def details(repository: Repository, named: Named) -> Named:
    """Look a commit up: subject, author, date and files."""
    if named.sha is None:
        return named
    commit = commit_info(repository, named.sha)
    date = f"{commit.date:%Y-%m-%d}"
    return Named(named.name, commit.sha, commit.subject, commit.author, date, commit.files)
