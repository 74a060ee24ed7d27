"""The Python of a release, taken from its installed wheel: no repository is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from bench.environment.inventory import NATIVE_ID, inventory, package_of
from bench.environment.model import Environment
from bench.environment.overlay_plan import PACKAGE, is_mlx_generated, is_source
from bench.environment.tree import FILE, FileEntry, blob_id
from bench.errors import BuildError


class ReleaseTree:
    """The package of an environment, as if a repository had it in ``src/executorch``.

    All that the release's own build copied and generated is there already, and so
    nothing is copied or generated again.
    """

    def __init__(self, environment: Environment) -> None:
        """Take an environment that holds the release, with or without its torch."""
        self._package = package_of(environment)
        self._environment = environment
        self.sha = environment.git_sha
        self.label = environment.label
        self.version = environment.executorch

    def __repr__(self) -> str:
        return f"ReleaseTree({self.label})"

    @cached_property
    def key(self) -> str:
        """Hash every file that a commit decides."""
        text = "".join(f"{path}\0{entry.blob_id}\n" for path, entry in sorted(self.files().items()))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _files(self) -> dict[str, FileEntry]:
        return {
            PACKAGE + path: FileEntry(FILE, self._content_id(path, found))
            for path, found in inventory(self._environment).items()
            if found != NATIVE_ID and is_source(path)
        }

    def _content_id(self, path: str, found: str) -> str:
        return blob_id((self._package / path).read_bytes()) if is_mlx_generated(path) else found

    def files(self) -> Mapping[str, FileEntry]:
        """List the package's files."""
        return self._files

    def read(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Read them from the installed package."""
        paths = {entry.blob_id: path.removeprefix(PACKAGE) for path, entry in self._files.items()}
        for name in blob_ids:
            try:
                yield name, (self._package / paths[name]).read_bytes()
            except (OSError, KeyError) as error:
                raise BuildError(f"release {self.label} lacks a file it had: {error}") from error
