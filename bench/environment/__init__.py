"""Isolated environments for revisions: built once, kept, and shared by build key."""

from __future__ import annotations

from bench.environment.git_tree import GitTree
from bench.environment.model import Environment, Say, StoredEnvironment, worker_env
from bench.environment.overlay_recipe import OverlayRecipe
from bench.environment.recipe import Recipe, is_release, normalise_release, recipe_for, releases
from bench.environment.release_package import PackageRecipe, package_recipe
from bench.environment.release_tree import ReleaseTree
from bench.environment.store import Store, default_builders, default_root
from bench.environment.tree import TreeSource
from bench.environment.working_tree import WorkingTree

__all__ = [
    "Environment",
    "GitTree",
    "OverlayRecipe",
    "PackageRecipe",
    "Recipe",
    "ReleaseTree",
    "Say",
    "Store",
    "StoredEnvironment",
    "TreeSource",
    "WorkingTree",
    "default_builders",
    "default_root",
    "is_release",
    "normalise_release",
    "package_recipe",
    "recipe_for",
    "releases",
    "worker_env",
]
