"""From a revision to an environment: what the ladder chose is built, and tried out."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta

from bench.environment import (
    Environment,
    GitTree,
    OverlayRecipe,
    ReleaseTree,
    Store,
    TreeSource,
    recipe_for,
    releases,
    worker_env,
)
from bench.environment.installer import pick_installer
from bench.environment.model import Buildable
from bench.environment.nightly import NightlyIndex, NightlyWheel, build_nightly, nightly_recipe
from bench.environment.release_package import package_recipe
from bench.environment.source import SourceBuild, build_source, source_recipe
from bench.errors import BuildError, RequestError
from bench.ladder import (
    Choice,
    Means,
    Needs,
    Nightly,
    Subject,
    choose,
    chosen_by,
    order_bases,
    settle,
    torch_to_hold,
)
from bench.repository import branch_point, is_ancestor, nightly_source
from bench.request import Origin
from bench.revision.model import Revision

_FIRST = "executorch.exir"
_MODULES = {
    "xnnpack": "executorch.backends.xnnpack.partition.xnnpack_partitioner",
    "mlx": "executorch.backends.mlx",
}
"""What the export of a backend imports, beside what every export does."""
_PROBE_S = 300.0
_PROBE = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}\\t{type(error).__name__}: {' '.join(str(error).split())[:160]}")
"""


class Provider:
    """Chooses the rung of revisions, and has their environments built.

    Args:
        store: where environments are kept, and beside it the nightlies.
        origin: what was asked for.
        say: tells the user one line.

    """

    def __init__(self, store: Store, origin: Origin, say: Callable[[str], None]) -> None:
        self.store = store
        self.origin = origin
        self.say = say
        self._runtimes: Sequence[Subject] = ()
        self._modules: tuple[str, ...] = (_FIRST,)
        self._wheels: dict[str, NightlyWheel] = {}
        self._points: dict[tuple[str, str], str | None] = {}
        self._index: NightlyIndex | None = None
        if origin.nightly_index:
            self._index = NightlyIndex(origin.nightly_index, store.root.parent / "nightly")
        builders: Mapping[str, Callable[..., Environment]] = {
            "nightly": lambda r, folder, say: build_nightly(r, folder, say, pick_installer()),
            "source": lambda r, folder, say: build_source(r, folder, say, pick_installer()),
        }
        for rung, builder in builders.items():
            store.builders.setdefault(rung, builder)

    def prepare(self, runtimes: Sequence[Subject], backends: Sequence[str]) -> None:
        """Take note of what the run is about: who runs the programs, and what is imported.

        Args:
            runtimes: where they are others than the exporters.
            backends: names of the backends that are exported for.

        """
        self._runtimes = runtimes
        named = [_MODULES[name] for name in dict.fromkeys(backends) if name in _MODULES]
        self._modules = (_FIRST, *named)

    def choose(self, revision: Revision, needs: Needs) -> Choice:
        """Choose the rung; nothing is built.

        Raises:
            RequestError: where what was asked for can't be had.

        """
        subject = revision.subject
        means = Means(self.origin.rung, self.origin.base)
        if revision.kind == "release":
            held = torch_to_hold(subject, self._runtimes)
            return choose(subject, needs, replace(means, hold=held))
        wanted = needs == "run" or self.origin.rung == "nightly"
        if wanted and self._index and self.origin.rung not in ("overlay", "source"):
            nightly = self._nightly(revision, self._index)
            day = f"{revision.date.astimezone(UTC):%Y-%m-%d}" if revision.date else "its day"
            none = f"no nightly of {day} or the day before, made of an ancestor"
            means = replace(means, nightly=nightly, no_nightly=none)
        nearest, how = self._nearest(revision)
        bases = order_bases(list(releases()), nearest)
        return choose(subject, needs, replace(means, bases=bases, nearest=how))

    def get(self, revision: Revision, needs: Needs) -> Environment:
        """Build what the ladder chose, where it is not there yet.

        Raises:
            BuildError: where that fails.

        """
        choice = self.choose(revision, needs)
        if choice.rung == "overlay":
            sure = len(choice.bases) == 1 and choice.fallback is None
            choice = (
                choice
                if sure
                else settle(choice, revision.name, lambda base: self._probe(revision, choice, base))
            )
        environment = self.store.ensure(self._recipe(revision, choice), self.say)
        if choice.rung != "wheel":
            # One environment may serve several commits, and names the first that it was built for.
            sha = (
                revision.sha or environment.git_sha if revision.kind == "release" else revision.sha
            )
            environment = replace(environment, git_sha=sha)
        return replace(environment, why=choice.reason)

    def describe(self, revision: Revision, needs: Needs) -> str:
        """Say what ``get`` would give, and whether it is there; nothing is built."""
        choice = self.choose(revision, needs)
        base = choice.base or ""
        words = f"{choice.rung} {base or revision.name}"
        ready = False
        if choice.rung == "overlay":
            words = f"overlay of {revision.name} on {base}"
            package = revision.kind == "release" and base != revision.release
            ready = (
                not package or self.store.find(package_recipe(revision.release or "")) is not None
            )
        if choice.rung != "overlay" or ready:
            recipe = self._recipe(revision, choice)
            ready = self.store.find(recipe) is not None
        torch = recipe_for(base).torch if base in releases() else None
        parts = [words, f"torch {torch}" if torch else ""]
        return f"{', '.join(filter(None, parts))}: {'ready' if ready else 'to be built'}"

    def _recipe(self, revision: Revision, choice: Choice) -> Buildable:
        if choice.rung == "source":
            repository, sha = revision.at(), revision.sha or ""
            read = lambda path: repository.read(sha, path)  # noqa: E731
            return source_recipe(repository.common_dir, sha, read)
        base = choice.base or ""
        nightly = choice.over_nightly or choice.rung == "nightly"
        recipe = self._nightly_recipe(revision, base) if nightly else self._release_recipe(base)
        if choice.rung != "overlay":
            return recipe
        return OverlayRecipe(recipe, self._tree(revision, base), choice.reason)

    def _release_recipe(self, release: str) -> Buildable:
        """Give a release's recipe, with the packages asked for where they are not there anyway."""
        recipe, packages = recipe_for(release), self.origin.packages
        if packages is None or packages.release != release:
            return recipe
        there = self.store.find(recipe)
        if there is not None and there.packages_hash == packages.hash:
            return recipe
        note = f"release {release} with the packages recorded as {packages.hash}"
        return replace(recipe, packages=packages.lines, note=note)

    def _tree(self, revision: Revision, base: str) -> TreeSource:
        if revision.tree is not None:
            return revision.tree
        if revision.release and base != revision.release:
            return ReleaseTree(self.store.ensure(package_recipe(revision.release), self.say))
        return GitTree(revision.at().git_dir, revision.sha or "")

    def _nightly_recipe(self, revision: Revision, version: str) -> Buildable:
        if self._index is None:
            raise AssertionError
        head, repository = revision.head or "", revision.at()
        torch = SourceBuild.load().pinned_torch(lambda path: repository.read(head, path))
        return nightly_recipe(self._index, self._wheels[version], torch)

    def _nightly(self, revision: Revision, index: NightlyIndex) -> Nightly | None:
        """Find the nightly of the revision's day: the newest that is in its history."""
        repository, head = revision.at(), revision.head
        if revision.date is None or head is None:
            return None
        day = revision.date.astimezone(UTC).date()
        for wheel in [*index.wheels(day), *index.wheels(day - timedelta(days=1))]:
            sha = index.sha(wheel)
            source = nightly_source(repository, sha) if sha else None
            if source and is_ancestor(repository, source, head):
                self._wheels[wheel.version] = wheel
                return Nightly(wheel.version, source)
        return None

    def _nearest(self, revision: Revision) -> tuple[str | None, str]:
        """Find the release that branched off nearest below, and say how; '' where all did above.

        None where the repository knows of no branch point, such as a shallow clone.
        """
        repository, head = revision.at(), revision.head or ""
        known: dict[str, bool] = {}
        nearest: str | None = None
        for release in reversed(releases()):
            key = (str(repository.git_dir), release)
            if key not in self._points:
                try:
                    self._points[key] = branch_point(repository, release)
                except RequestError:
                    self._points[key] = None
            point = self._points[key]
            known[release] = point is not None
            if point and is_ancestor(repository, point, head):
                nearest = release
                break
        else:
            nearest = "" if any(known.values()) else None
        return nearest, chosen_by(known, nearest)

    def _probe(self, revision: Revision, choice: Choice, base: str) -> Mapping[str, str]:
        """Try over one base what the export will import.

        Of every tree, whatever another commit did over that base: what is measured of a commit
        must not depend on which were looked at before.
        """
        try:
            environment = self.store.ensure(self._recipe(revision, choice.on(base)), self.say)
        except BuildError as error:
            return {"": str(error)}
        return probe(environment, self._modules)


def probe(environment: Environment, modules: Sequence[str]) -> Mapping[str, str]:
    """Import ``modules`` in an environment; give those that fail, the first as ''.

    That all of them worked is written down there: the environment does not change.
    """
    name = hashlib.sha256(" ".join(modules).encode()).hexdigest()[:12]
    passed = environment.root / f"imports-{name}"
    if passed.exists():
        return {}
    try:
        done = subprocess.run(
            [environment.python, "-c", _PROBE, *modules],
            env=worker_env(environment),
            cwd=environment.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"": f"{error}"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return {"": lines[-1] if lines else f"exit code {done.returncode}"}
    found = [line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line]
    failures = {"" if name == modules[0] else name: how for name, how in found if name in modules}
    if not failures:
        passed.touch()
    return failures
