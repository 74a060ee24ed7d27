"""Where the Python of an overlay comes from: a commit, a working tree, a release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

LINK = "120000"
"""Git's mode of a symbolic link, whose content is its target."""
SUBMODULE = "160000"
"""Git's mode of the commit of another repository."""
FILE = "100644"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One entry of a tree, as git describes it."""

    mode: str
    blob_id: str
    """The hash of the content: of a submodule, the commit."""


class TreeSource(Protocol):
    """Files laid out as in the ExecuTorch repository."""

    @property
    def key(self) -> str:
        """Hash of everything in it; two trees with equal keys are the same tree."""

    @property
    def sha(self) -> str | None:
        """The full commit, where this is one and nothing else."""

    @property
    def version(self) -> str:
        """The version that it says it has, without the commit: ``1.5.0``."""

    @property
    def label(self) -> str:
        """A short name for messages."""

    def files(self) -> Mapping[str, FileEntry]:
        """Give every file by its path from the root, with ``/`` between the names."""

    def read(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Give the content of each; BuildError where one can't be had."""


def blob_id(content: bytes) -> str:
    """Hash ``content`` as git does, so that equal files have equal names everywhere."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
