"""A revision, once it is known what its name means."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bench.environment import WorkingTree, releases
from bench.ladder import Kind, Subject
from bench.repository import Repository


@dataclass(frozen=True)
class Revision:
    """A revision, resolved once: it stays what it is when a branch moves or a file changes."""

    name: str
    """The canonical spelling; it names this very content and can be resolved again."""
    kind: Kind
    sha: str | None = None
    """The commit; of a release where a repository with its tag was named."""
    release: str | None = None
    date: datetime | None = None
    """When it was committed."""
    head: str | None = None
    """The commit that a working tree is based on; else the same as ``sha``."""
    tree: WorkingTree | None = field(default=None, compare=False, repr=False)
    repository: Repository | None = field(default=None, compare=False, repr=False)
    """Where the commit is; None of a release where no repository was named."""

    @property
    def subject(self) -> Subject:
        """What the ladder has to know of it."""
        torch = releases().get(self.release) if self.release else None
        return Subject(self.name, self.kind, self.release, self.sha, torch)

    def at(self) -> Repository:
        """Give the repository of a revision that has one."""
        if self.repository is None:
            raise AssertionError(f"{self.name} has no repository")
        return self.repository

    def describe(self) -> str:
        """Say what it is in a few words."""
        if self.kind == "release":
            return f"release {self.release}"
        when = f" of {self.date:%Y-%m-%d}" if self.date else ""
        what = "working tree" if self.kind == "working_tree" else "commit"
        return f"{what} {self.sha or self.name}{when}"
