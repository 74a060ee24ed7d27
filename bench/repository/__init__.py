"""An ExecuTorch repository: opening one, names to shas, and questions on its history."""

from __future__ import annotations

from bench.repository.git import GitError
from bench.repository.history import (
    Commit,
    Range,
    branch_point,
    commit_info,
    first_parent_range,
    is_ancestor,
    nightly_source,
    patch,
    paths_changed,
)
from bench.repository.names import FetchError, NotFoundError, Repository, check_name
from bench.repository.opening import OFFICIAL, open_repository

__all__ = [
    "OFFICIAL",
    "Commit",
    "FetchError",
    "GitError",
    "NotFoundError",
    "Range",
    "Repository",
    "branch_point",
    "check_name",
    "commit_info",
    "first_parent_range",
    "is_ancestor",
    "nightly_source",
    "open_repository",
    "patch",
    "paths_changed",
]
