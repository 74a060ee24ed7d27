"""Isolated environments for revisions: built once, kept, and shared by build key."""

from __future__ import annotations

from bench.environment.model import Environment, Say, StoredEnvironment, worker_env
from bench.environment.recipe import Recipe, is_release, normalise_release, recipe_for, releases
from bench.environment.store import Store, default_builders, default_root

__all__ = [
    "Environment",
    "Recipe",
    "Say",
    "Store",
    "StoredEnvironment",
    "default_builders",
    "default_root",
    "is_release",
    "normalise_release",
    "recipe_for",
    "releases",
    "worker_env",
]
