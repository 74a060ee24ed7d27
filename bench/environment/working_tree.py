"""The files of a working tree as they are now: committed, changed and new ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from bench.environment.git_tree import Git, read_version
from bench.environment.overlay_plan import is_laid_over
from bench.environment.tree import FILE, LINK, FileEntry, blob_id
from bench.errors import BuildError, RequestError


class WorkingTree:
    """A snapshot: what is edited after this was made is another tree.

    Of files that are not committed as they are, those count that an overlay is made
    of; what git ignores does not.
    """

    def __init__(self, path: Path) -> None:
        """Take any folder of the working tree."""
        try:
            self.path = Path(Git("-C", path).text("rev-parse", "--show-toplevel"))
            self._git = Git("-C", self.path)
            self._head = self._git.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except BuildError as error:
            message = f"{path} is no working tree of a git repository with a commit: {error}"
            raise RequestError(message) from error
        self._own: dict[str, bytes] = {}
        self._changes = self._snapshot()

    def __repr__(self) -> str:
        return f"WorkingTree({self.path})"

    @property
    def dirty(self) -> bool:
        """Whether anything counts that is not committed."""
        return bool(self._changes)

    @property
    def sha(self) -> str | None:
        """The commit, unless something was changed since."""
        return None if self._changes else self._head

    @property
    def label(self) -> str:
        """The commit in short, and whether there are changes."""
        return self._head[:10] + ("-dirty" if self._changes else "")

    @cached_property
    def key(self) -> str:
        """Give the name of the commit's tree, or a hash of it and the changes."""
        committed = self._git.text("rev-parse", f"{self._head}^{{tree}}")
        if not self._changes:
            return committed
        text = "".join(f"{path}\0{entry}\n" for path, entry in sorted(self._changes.items()))
        return hashlib.sha256(f"{committed}\n{text}".encode()).hexdigest()

    @cached_property
    def version(self) -> str:
        """Read ``version.txt``."""
        return read_version(self)

    @cached_property
    def _files(self) -> dict[str, FileEntry]:
        committed = self._git.files(self._head)
        for path, entry in self._changes.items():
            if entry is None:
                committed.pop(path, None)
            else:
                committed[path] = entry
        return committed

    def files(self) -> Mapping[str, FileEntry]:
        """List the committed files with the changes made to them."""
        return self._files

    def read(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Read committed ones from the repository; of changed ones what the snapshot has."""
        wanted = list(dict.fromkeys(blob_ids))
        yield from ((name, self._own[name]) for name in wanted if name in self._own)
        committed = [name for name in wanted if name not in self._own]
        self._git.fetch_missing(self._head, committed)
        yield from self._git.read(committed)

    def _snapshot(self) -> dict[str, FileEntry | None]:
        status = self._git.output(
            "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
            "--ignore-submodules=all",
        )  # fmt: skip
        changes = {}
        for line in status.split(b"\0"):
            path = line[3:].decode(errors="replace")
            if is_laid_over(path):
                changes[path] = self._entry(path)
        return changes

    def _entry(self, path: str) -> FileEntry | None:
        place = self.path / path
        if place.is_symlink():
            content, mode = str(place.readlink()).encode(), LINK
        elif place.is_file():
            content, mode = place.read_bytes(), FILE
        else:
            return None
        name = blob_id(content)
        self._own[name] = content
        return FileEntry(mode, name)
