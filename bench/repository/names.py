"""A repository at hand: the names of commits to their shas."""

from __future__ import annotations

import re
from pathlib import Path

from bench.errors import RequestError
from bench.repository.git import GitError, last_word, run_git

_NAME = re.compile(r"(?P<base>[A-Za-z0-9_][\w./+#@=-]*)(?P<suffix>(?:[~^][0-9]{0,6})*)")
_PULL = re.compile(r"(?:refs/)?pull/(\d+)/(head|merge)")
_MAIN = ("refs/remotes/upstream/main", "refs/remotes/origin/main", "refs/heads/main")
FIRST_REFS = tuple(
    f"+{name}:{name}" for name in ("refs/heads/main", "refs/heads/release/*", "refs/tags/v*")
)
"""What the tool's own clone begins with; of thousands of branches, any other when asked for."""


class NotFoundError(RequestError):
    """A name is of no commit in the repository."""


class Repository:
    """A repository at hand; ``open_repository`` makes them."""

    def __init__(self, git_dir: Path, label: str, own: bool = False) -> None:
        self.git_dir = git_dir
        self.label = label
        """How messages call it: the path or the address that was given."""
        self.own = own
        """Whether it is the tool's own clone, to fetch into as need be."""

    def resolve(self, name: str) -> str:
        """Give the full sha of a commit's name; fetch where the remote may know it.

        Raises:
            RequestError: where the name is refused, unknown, or of something else.

        """
        match = check_name(name)
        # A pull request is a ref of the remote, and the short names of refs don't reach it.
        pull = _PULL.fullmatch(match["base"])
        full = f"refs/pull/{pull[1]}/{pull[2]}{match['suffix']}" if pull else name
        sha = self._commit(full)
        if sha is None and (self.own or pull):
            sha = self._fetch(match["base"], pull is not None, match["suffix"], full)
        if sha is None:
            head = self._commit("HEAD")
            if head is not None:
                self._check_content(head, "HEAD")  # a name is unknown in the wrong repository
            raise NotFoundError(f"commit: {self.label} has no {name!r}{self._ambiguous(name)}")
        self._check_content(sha, name)
        return sha

    def _check_content(self, sha: str, name: str) -> None:
        if not self.git("ls-tree", sha, "exir", "src/executorch"):
            raise RequestError(
                f"repo: {self.label} holds no ExecuTorch at {name} (neither exir/ nor "
                "src/executorch): pass repo=PATH, a clone of it"
            )

    def git(self, *words: str) -> str:
        """Run a git command that must work, and give what it printed."""
        status, output, errors = self.try_git(*words)
        if status:
            raise GitError(f"git {words[0]} in {self.label}: {last_word(errors)}{self.shallow()}")
        return output

    def try_git(self, *words: str) -> tuple[int, str, str]:
        """Run a git command; give its exit code, output and errors."""
        return run_git(self.git_dir, "--git-dir", str(self.git_dir), *words)

    @property
    def common_dir(self) -> Path:
        """The folder of the objects: that of a worktree is the one of its repository."""
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def shallow(self) -> str:
        """Say what to do where this is a shallow clone, to go after a complaint; else ''."""
        if self.try_git("rev-parse", "--is-shallow-repository")[1] != "true":
            return ""
        return f" (a shallow clone, its history is cut off: git -C {self.label} fetch --unshallow)"

    def main(self) -> str:
        """Give the ref of the main line: the newest there is of ``main``, else HEAD."""
        words = ("--sort=-committerdate", "--count=1", "--format=%(refname)")
        return self.git("for-each-ref", *words, *_MAIN) or "HEAD"

    def read(self, sha: str, path: str) -> str | None:
        """Give a file's text at a commit; None where there is none."""
        status, output, _ = self.try_git("cat-file", "blob", f"{sha}:{path}")
        return None if status else output

    def _commit(self, name: str) -> str | None:
        words = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        status, output, _ = self.try_git("rev-parse", *words)
        return None if status else output

    def _ambiguous(self, name: str) -> str:
        errors = self.try_git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")[2]
        found = [word for word in errors.split() if re.fullmatch(r"[0-9a-f]{7,16}", word)]
        if "ambiguous" in errors and found:
            return f": it is short for {', '.join(found[:4])}"
        return self.shallow() or " (a tag, branch, sha, NAME~n or pull/N/head)"

    def _fetch(self, base: str, pull: bool, suffix: str, full: str) -> str | None:
        """Ask the remote for what is not here. Into a person's clone come objects, no refs."""
        if pull:
            wanted = [full.removesuffix(suffix)] if suffix else [full]
            words = ["--no-write-fetch-head", "--no-tags", self._remote(), *wanted]
            if self.try_git("fetch", "--quiet", *words)[0]:
                return None
            listed = self.git("ls-remote", self._remote(), wanted[0])
            return self._commit(listed.split()[0] + suffix) if listed else None
        self.try_git("fetch", "--quiet", "--filter=blob:none", "origin", *FIRST_REFS)
        found = self._commit(full)
        if found is None:
            ref = f"+refs/heads/{base}:refs/heads/{base}"
            wanted = [base] if re.fullmatch(r"[0-9a-f]{40}", base) else [ref]
            self.try_git("fetch", "--quiet", "--filter=blob:none", "--no-tags", "origin", *wanted)
            found = self._commit(full)
        return found

    def _remote(self) -> str:
        remotes = self.git("remote").split()
        return next((name for name in ("upstream", "origin") if name in remotes), "origin")


def check_name(name: str) -> re.Match[str]:
    """Give the parts of a commit's name, or refuse it before git sees it."""
    if name.startswith("-"):
        raise RequestError(f"commit: {name!r} starts with '-': no revision does")
    match = _NAME.fullmatch(name)
    if not match or ".." in name or "//" in name or "@{" in name:
        raise RequestError(
            f"commit: {name!r} is no name of a revision (a release, tag, branch, sha, NAME~n, "
            "pull/N/head, or a folder)"
        )
    return match
