"""What an overlay is made of, and the key that says when two are the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bench.environment.model import Buildable
from bench.environment.overlay_plan import Plan, links, make_plan
from bench.environment.recipe import build_key
from bench.environment.tree import TreeSource


@dataclass(frozen=True)
class OverlayRecipe:
    """A tree's Python over the native libraries and the packages of a base."""

    base: Buildable
    tree: TreeSource
    why: str
    """Why this rung, and why this base."""
    rung: str = "overlay"

    @property
    def label(self) -> str:
        """Name the tree in messages."""
        return self.tree.label

    @property
    def folder_name(self) -> str:
        """Name the folder after the content only: commits that are alike share it."""
        return f"{self.rung}-{self.base.label}-{self.build_key}"

    @cached_property
    def build_key(self) -> str:
        """Hash the base and the files that are laid over it.

        The commit's own name is no part of it, although ``version.py`` will give one:
        of commits that differ in nothing else it is the one first built.
        """
        return build_key([self.rung, self.base.build_key, self.tree.version, self.plan.key])

    @cached_property
    def plan(self) -> Plan:
        """Say what goes where."""
        files = self.tree.files()
        targets = self.tree.read(links(files))
        return make_plan(files, {name: text.decode(errors="replace") for name, text in targets})
