"""How every git of ours is started: what a repository names is not run, and none but it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping

SETTINGS = ("protocol.ext.allow=never", "core.fsmonitor=false", f"core.hooksPath={os.devnull}")
GIT = ("git", *(word for setting in SETTINGS for word in ("-c", setting)))
"""A git command up to its own words."""
# What `git rev-parse --local-env-vars` lists, but for configuration, which is the person's own:
# set by a hook or by `git bisect run`, they would have us read another repository.
_ELSEWHERE = {
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"),
    *("GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_PREFIX"),
    *("GIT_NAMESPACE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_CEILING_DIRECTORIES"),
}
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def git_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give a git its variables: the person's, without those that lead it to another repository.

    It asks for nothing, takes no lock that it needs not, and speaks English; ssh too asks nothing,
    unless the person has said how it is to be started.
    """
    given = os.environ if environment is None else environment
    kept = {name: value for name, value in given.items() if name not in _ELSEWHERE}
    return {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes", **kept, **_QUIET}
