"""The files of a commit, read from any clone without a checkout."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO

from bench.environment.overlay_plan import VERSION_TEXT
from bench.environment.tree import FileEntry, TreeSource
from bench.errors import BuildError, RequestError
from bench.git import GIT, git_variables

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_GET = (
    "--no-tags",
    "--no-write-fetch-head",
    "--recurse-submodules=no",
    "--filter=blob:none",
    "--quiet",
    "--stdin",
)


class Git:
    """Git's plumbing on one repository; nothing here changes a reference or a file."""

    def __init__(self, *where: object) -> None:
        """Give the options that lead git to the repository, such as ``--git-dir``."""
        self._command = [*GIT, *(str(word) for word in where)]

    def output(self, *words: str) -> bytes:
        """Give the standard output of a git command; BuildError where it fails."""
        done = subprocess.run(
            [*self._command, *words], capture_output=True, check=False, env=git_variables()
        )
        if done.returncode != 0:
            lines = [
                line
                for line in done.stderr.decode(errors="replace").splitlines()
                if line and not line.startswith(("warning:", "hint:"))
            ]
            reason = lines[-1] if lines else f"exit code {done.returncode}"
            raise BuildError(f"git {words[0]} failed: {reason}")
        return done.stdout

    def text(self, *words: str) -> str:
        """Give the output of a command that prints a name or a number."""
        return self.output(*words).decode(errors="replace").strip()

    def files(self, treeish: str) -> dict[str, FileEntry]:
        """Give every file below ``treeish``; a name that is not UTF-8 is no file of ours."""
        files = {}
        for line in self.output("ls-tree", "-r", "-z", "--full-tree", treeish).split(b"\0"):
            if line:
                head, _, name = line.partition(b"\t")
                mode, _, blob = head.decode().split(" ")
                files[name.decode(errors="replace")] = FileEntry(mode, blob)
        return files

    def read(self, blob_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Read all with one ``git cat-file --batch``; BuildError where one is missing."""
        with tempfile.TemporaryFile() as wanted:
            # A file and no pipe: git may answer before it has read all it was asked.
            wanted.write("".join(f"{name}\n" for name in blob_ids).encode())
            wanted.seek(0)
            with subprocess.Popen(
                [*self._command, "cat-file", "--batch", "--buffer"],
                stdin=wanted,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=git_variables(),
            ) as process:
                if process.stdout is None:
                    raise AssertionError
                for name in blob_ids:
                    yield name, _next_object(process.stdout, name)

    def fetch_missing(self, treeish: str, blob_ids: Iterable[str]) -> None:
        """In a partial clone, get at once what git would otherwise get one by one.

        Whatever can't be had is found out when it is read.
        """
        remote = self._promisor
        if remote is None:
            return
        listing = self.text("rev-list", "--objects", "--missing=print", f"{treeish}^{{tree}}")
        absent = {line[1:] for line in listing.splitlines() if line.startswith("?")}
        absent.intersection_update(blob_ids)
        if absent:
            subprocess.run(
                [*self._command, "-c", "fetch.negotiationAlgorithm=noop", "fetch", remote, *_GET],
                input="".join(f"{name}\n" for name in sorted(absent)),
                capture_output=True,
                text=True,
                check=False,
                env=git_variables(),
            )

    @cached_property
    def _promisor(self) -> str | None:
        try:
            found = self.text("config", "--get-regexp", r"^remote\..*\.promisor$", "^true$")
        except BuildError:
            return None
        return found.splitlines()[0].removeprefix("remote.").rpartition(".promisor")[0]


class GitTree:
    """A commit of a repository."""

    def __init__(self, git_dir: Path, sha: str) -> None:
        """Take the folder git keeps its own files in, and a full sha."""
        if not _SHA.fullmatch(sha):
            raise RequestError(f"commit: {sha!r} is no full sha")
        self.git_dir = git_dir
        self.sha: str | None = sha
        self._commit = sha
        self._git = Git("--git-dir", git_dir)

    def __repr__(self) -> str:
        return f"GitTree({self._commit})"

    @cached_property
    def key(self) -> str:
        """Give the name of the commit's tree."""
        return self._git.text("rev-parse", "--verify", "--quiet", f"{self._commit}^{{tree}}")

    @property
    def label(self) -> str:
        """Give the commit in short."""
        return self._commit[:10]

    @cached_property
    def version(self) -> str:
        """Read ``version.txt``."""
        return read_version(self)

    @cached_property
    def _files(self) -> dict[str, FileEntry]:
        return self._git.files(self._commit)

    def files(self) -> Mapping[str, FileEntry]:
        """List the commit's files."""
        return self._files

    def read(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Read them from the repository, and from its remote if it is a partial clone."""
        wanted = list(dict.fromkeys(blob_ids))
        self._git.fetch_missing(self._commit, wanted)
        return self._git.read(wanted)


def read_version(tree: TreeSource) -> str:
    """Read ``version.txt`` of a tree that is laid out as the repository is."""
    entry = tree.files().get(VERSION_TEXT)
    if entry is None:
        return "0"
    ((_, content),) = tree.read([entry.blob_id])
    return content.decode(errors="replace").strip()


def _next_object(stream: IO[bytes], name: str) -> bytes:
    head = stream.readline().split()
    if len(head) != 3:
        raise BuildError(f"the repository lacks the file content {name}")
    size = int(head[2])
    content = stream.read(size)
    if len(content) != size or stream.read(1) != b"\n":
        raise BuildError(f"git ended while it gave the file content {name}")
    return content
