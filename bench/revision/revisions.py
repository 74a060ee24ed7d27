"""From the names that a person gives to revisions, and to their environments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

from bench.environment import (
    Environment,
    Store,
    WorkingTree,
    is_release,
    normalise_release,
    releases,
)
from bench.errors import BuildError, EtPeakError, RequestError, choices
from bench.ladder import Needs
from bench.place import expanded
from bench.programs import ProgramStore
from bench.repository import (
    OFFICIAL,
    FetchError,
    NotFoundError,
    Repository,
    check_name,
    open_repository,
)
from bench.request import Origin, Request
from bench.revision.model import Revision
from bench.revision.provider import Provider

_PINNED = re.compile(r"(?P<typed>.+)@(?P<sha>[0-9a-f]{10}|[0-9a-f]{40})")
_PINNED_TREE = re.compile(r"(?P<path>.+)@[0-9a-f]{10}(-dirty\.[0-9a-f]{8})?")


class Revisions:
    """Resolves revisions and hands out their environments, each built at most once.

    Args:
        store: where environments are kept; the clone and the nightlies go beside it.
        repo: a clone to look commits up in; None for the tool's own of the official one.
        rung: how environments are to be made.
        base: the release whose native libraries an overlay is to have.
        nightly_index: a folder or an address of nightly wheels.
        official: the address of the official repository.

    """

    def __init__(
        self,
        store: Store,
        repo: str | None = None,
        *,
        rung: str = "auto",
        base: str | None = None,
        nightly_index: str | None = None,
        official: str = OFFICIAL,
    ) -> None:
        self.store = store
        self.say: Callable[[str], None] = lambda _line: None
        self.official = official
        self.origin = Origin(repo, rung, base, nightly_index)
        self.provider: Provider
        self._repository: Repository | None = None
        self._known: dict[str, Revision] = {}
        self._got: dict[tuple[str, Needs], Environment | BuildError] = {}
        self._sides: dict[Needs, set[str]] = {}
        self._use(self.origin)

    def _use(self, origin: Origin) -> None:
        if origin.base:
            origin = replace(origin, base=_release("base", origin.base))
        if origin.repo != self.origin.repo:  # else it is kept, with what it has fetched
            self._repository = None
        self.origin = origin
        self._known.clear()
        self._got.clear()
        self.provider = Provider(self.store, origin, lambda line: self.say(line))

    def repository(self) -> Repository:
        """Give the repository that commits are looked up in, fetched now if need be.

        Raises:
            RequestError: where there is none.

        """
        if self._repository is None:
            cache = self.store.root.parent
            self._repository = open_repository(
                self.origin.repo, cache, lambda line: self.say(line), self.official
            )
        return self._repository

    def programs(self) -> ProgramStore:
        """Give the store of exported programs, which lies beside the environments.

        Whoever is about to add to it, on whichever machine, first makes room in it.
        """
        programs = ProgramStore(self.store.root.parent / "programs")
        programs.prune()
        return programs

    def resolve_all(self, request: Request) -> Request:
        """Return the request with every revision in its one canonical spelling.

        What was asked for about their environments is taken over, and checked as far as it can
        be without building any.

        Raises:
            RequestError: if a revision does not exist, or can't be had as was asked.
            EtPeakError: where that can't be told, a remote or an index being out of reach.

        """
        self._use(request.origin)
        if self.origin.repo:
            self.repository()
        exporters = [self.resolve(name) for name in request.exporters]
        runtimes = [self.resolve(name) for name in request.runtimes or ()]
        crossed = [runtime.subject for runtime in runtimes]
        backends = [choice.backend["name"] for choice in request.choices]
        self.provider.prepare(crossed, backends)
        sides: list[tuple[Needs, list[Revision]]] = [("export", exporters)]
        if any(method != "export" for method in request.methods):
            sides.append(("run", runtimes or exporters))
        self._sides = {needs: set(_names(revisions)) for needs, revisions in sides}
        try:
            chosen = [
                self.provider.choose(revision, needs)
                for needs, revisions in sides
                for revision in dict.fromkeys(revisions)
            ]
        except BuildError as error:  # of the index of nightlies: there is no cell yet that fails
            raise EtPeakError(str(error)) from error
        packages = self.origin.packages
        if packages and not any(packages.release in choice.bases for choice in chosen):
            raise RequestError(
                f"packages: a list of executorch {packages.release}, which nothing here is made of"
            )
        return replace(
            request,
            exporters=_names(exporters),
            runtimes=None if request.runtimes is None else _names(runtimes),
            overrides=tuple(self._pin(word) for word in request.overrides),
        )

    def resolve(self, name: str) -> Revision:
        """Find what a name means: a release, a folder, or a commit of the repository.

        Raises:
            RequestError: if it means nothing, or looks like something else than a revision.

        """
        text = name.strip()
        if text not in self._known:
            revision = self._resolve(text)
            self._known[text] = self._known[revision.name] = revision
        return self._known[text]

    def get(self, name: str, *, needs: Needs = "export") -> Environment:
        """Return the environment for one side of a measurement, built where it is not there.

        Raises:
            BuildError: if it can't be built; asked again, at once.

        """
        revision = self.resolve(name)
        key = (revision.name, needs)
        if key not in self._got:
            try:
                self._got[key] = self.provider.get(revision, needs)
            except BuildError as error:
                self._got[key] = error
        found = self._got[key]
        if isinstance(found, BuildError):
            raise found
        return found

    def describe(self, name: str) -> str:
        """Return what the environments of a revision of the request are, without building any.

        That is those of the sides it is on, and whether they are there.
        """
        revision = self.resolve(name)
        words = {
            needs: self.provider.describe(revision, needs)
            for needs, names in self._sides.items()
            if revision.name in names
        }
        if len(set(words.values())) == 1:
            return next(iter(words.values()))
        return "; ".join(f"{needs}s by {text}" for needs, text in words.items())

    def _resolve(self, text: str) -> Revision:
        if text.startswith("-"):
            raise RequestError(f"commit: {text!r} starts with '-': no revision does")
        if is_release(text):
            return self._release(normalise_release(text))
        if any(ord(char) < 32 for char in text):
            raise RequestError(f"commit: {text!r} holds a control character: no revision does")
        folder = _PINNED_TREE.fullmatch(text)
        path = expanded(folder["path"] if folder else text, "commit")
        if any(char in text for char in "/~.") and path.is_dir():
            return self._working_tree(text, path, pinned=folder is not None)
        if text.startswith(("/", "./", "../", "~/")):
            raise RequestError(f"commit: there is no folder {text!r}")
        pinned = _PINNED.fullmatch(text)
        check_name(pinned["typed"] if pinned else text)
        return self._commit(text)

    def _release(self, release: str) -> Revision:
        revision = Revision(f"v{release}", "release", release=release)
        if not self.origin.repo:
            return revision
        try:
            sha = self.repository().resolve(f"refs/tags/v{release}")
        except (NotFoundError, FetchError):  # its wheel needs no repository
            return revision
        at = self.repository()
        return replace(revision, sha=sha, head=sha, date=_date(at, sha), repository=at)

    def _working_tree(self, text: str, path: Path, *, pinned: bool) -> Revision:
        tree = WorkingTree(path)
        head, dirty, _ = tree.label.partition("-dirty")
        state = f"{head}-dirty.{tree.key[:8]}" if dirty else head
        place, home = tree.path, Path.home()
        shown = f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)
        name = f"{shown}@{state}"
        if pinned and not text.endswith(f"@{state}"):
            raise RequestError(
                f"commit: the working tree {shown} has changed since ({text.rpartition('@')[2]}, "
                f"now {state}): what was begun with it can't be finished"
            )
        at = open_repository(str(place), self.store.root.parent, self.say)
        sha = at.resolve("HEAD")
        date = _date(at, sha)
        return Revision(name, "working_tree", tree.sha, None, date, sha, tree, at)

    def _commit(self, text: str) -> Revision:
        # A name is kept with the commit it meant, so that a run is resumed as it was begun.
        pinned = _PINNED.fullmatch(text)
        typed = pinned["typed"] if pinned else text
        if _is_version(typed) and not self.origin.repo and not self._has_clone():
            # A slip in a release is no reason to fetch a repository.
            raise choices("commit", text, [f"v{release}" for release in releases()])
        try:
            sha = self.repository().resolve(pinned["sha"] if pinned else text)
        except NotFoundError as error:
            if not _is_version(typed):
                raise
            known = choices("commit", text, [f"v{release}" for release in releases()])
            raise RequestError(f"{known}, nor a tag of {self.repository().label}") from error
        short = sha[:10]
        name = short if sha.startswith(typed.lower()) else f"{typed}@{short}"
        at = self.repository()
        return Revision(name, "commit", sha, None, _date(at, sha), sha, repository=at)

    def _has_clone(self) -> bool:
        return any((self.store.root.parent / "repository").glob("*.git"))

    def _pin(self, word: str) -> str:
        key, _, value = word.partition("=")
        if key not in ("commit", "exporter", "runtime") or not value:
            return word
        names = [self.resolve(name.strip(" '\"")).name for name in value.strip("[] ").split(",")]
        return f"{key}={','.join(dict.fromkeys(names))}"


def _release(option: str, text: str) -> str:
    if not is_release(text):
        raise choices(option, text, [f"v{release}" for release in releases()])
    return normalise_release(text)


def _date(repository: Repository, sha: str) -> datetime:
    text = repository.git("log", "-1", "--format=%cI", "--end-of-options", sha)
    return datetime.fromisoformat(text)


def _names(revisions: list[Revision]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(revision.name for revision in revisions))


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    # All digits are the beginning of a sha rather.
    return "." in text
