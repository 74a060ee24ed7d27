"""From what a person names to an environment: releases now, by their published wheels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench.config import Request
from bench.environment import (
    Environment,
    Store,
    is_release,
    normalise_release,
    recipe_for,
    releases,
)
from bench.errors import BuildError, RequestError, choices


class Revisions:
    """Resolves revisions and hands out their environments, each built at most once.

    Args:
        store: where environments are kept.

    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.say: Callable[[str], None] = lambda _line: None
        self._got: dict[str, Environment | BuildError] = {}

    def resolve_all(self, request: Request) -> Request:
        """Return the request with every revision in its one canonical spelling.

        Raises:
            RequestError: if a revision does not exist.

        """
        runtimes = request.runtimes
        return replace(
            request,
            exporters=_unique(request.exporters),
            runtimes=None if runtimes is None else _unique(runtimes),
        )

    def get(self, revision: str) -> Environment:
        """Return the environment of a revision, building it where it is not there yet.

        Raises:
            BuildError: if it can't be built; asked again, at once.

        """
        if revision not in self._got:
            try:
                self._got[revision] = self.store.ensure(recipe_for(revision), self.say)
            except BuildError as error:
                self._got[revision] = error
        found = self._got[revision]
        if isinstance(found, BuildError):
            raise found
        return found

    def describe(self, revision: str) -> str:
        """Return what the environment is and whether it is there, without building it."""
        recipe = recipe_for(revision)
        state = "ready" if self.store.find(recipe) else "to be built"
        return f"{recipe.rung} {recipe.release}, torch {recipe.torch}: {state}"


def canonical(revision: str) -> str:
    """Return a revision in its canonical spelling, ``v1.4.1`` for ``1.4.1``.

    Raises:
        RequestError: if there is no such revision, or it looks like an option.

    """
    if revision.startswith("-"):
        raise RequestError(f"commit: {revision!r} starts with '-': no revision does")
    if not is_release(revision):
        raise choices("commit", revision, [f"v{release}" for release in releases()])
    return f"v{normalise_release(revision)}"


def _unique(revisions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(canonical(revision) for revision in revisions))
