"""A repository at hand: the names of commits to their shas."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from bench.errors import RequestError
from bench.repository.git import GitError, last_word, run_git

_NAME = re.compile(r"(?P<base>[A-Za-z0-9_][\w./+#@=-]*)(?P<suffix>(?:[~^][0-9]{0,6})*)")
_PULL = re.compile(r"(?:refs/)?pull/(\d+)/(head|merge)")
_MAIN = ("refs/remotes/upstream/main", "refs/remotes/origin/main", "refs/heads/main")
FIRST_REFS = tuple(
    f"+{name}:{name}" for name in ("refs/heads/main", "refs/heads/release/*", "refs/tags/v*")
)
"""What the tool's own clone begins with; of thousands of branches, any other when asked for."""
_FIRST = re.compile(r"HEAD|(?:refs/)?(?:heads/)?(?:main|release/.+)")
_STAYS = re.compile(r"[0-9a-fA-F]{4,40}|(?:refs/)?(?:tags/)?v\d+\.\d+.*")
"""Names that mean one commit for good, shas and releases' tags; all others are taken to move."""
_ABSENT = re.compile(r"find remote ref|not our ref|unadvertised object|invalid refspec")
"""What git says where the remote was asked, and has no such thing."""


class NotFoundError(RequestError):
    """A name is of no commit in the repository."""


class FetchError(GitError):
    """The remote could not be asked: what it has is not known."""


class Repository:
    """A repository at hand; ``open_repository`` makes them."""

    def __init__(
        self,
        git_dir: Path,
        label: str,
        own: bool = False,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.git_dir = git_dir
        self.label = label
        """How messages call it: the path or the address that was given."""
        self.own = own
        """Whether it is the tool's own clone, to fetch into as need be."""
        self.say = say
        self._asked: set[str] = set()

    def resolve(self, name: str) -> str:
        """Give the full sha of a commit's name; fetch where the remote may know it.

        Raises:
            RequestError: where the name is refused, unknown, or of something else.
            FetchError: where it is not here, and the remote is out of reach.

        """
        match = check_name(name)
        # A pull request is a ref of the remote, and the short names of refs don't reach it.
        pull = _PULL.fullmatch(match["base"])
        base = f"refs/pull/{pull[1]}/{pull[2]}" if pull else match["base"]
        find = self._of_own if self.own else self._of_person
        try:
            sha = find(base, match["suffix"])
        except FetchError as error:
            raise FetchError(f"commit: {name!r} is not here, and {error}") from error
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

    def _of_own(self, base: str, suffix: str) -> str | None:
        """Look a name up in the tool's own clone; what moves is fetched first, once per process."""
        known = self._commit(base + suffix)
        ref = _refspec(base)
        if _STAYS.fullmatch(base):
            for wanted in (FIRST_REFS, (ref,)):
                if known is None and self._fetch("origin", *wanted):
                    known = self._commit(base + suffix)
            return known
        if base in self._asked:
            return known
        wanted = FIRST_REFS if _FIRST.fullmatch(base) else (*FIRST_REFS, ref)
        try:
            why = "" if self._fetch("origin", *wanted) else f"{self.label} has no {base} now"
        except FetchError as error:
            if known is None:
                raise
            why = str(error)
        self._asked.add(base)
        sha = self._commit(base + suffix)
        if why and sha:
            day = self.git("log", "-1", "--format=%cs", "--end-of-options", sha)
            self.say(f"{why}: {base} is taken as last fetched, of {day}")
        return sha

    def _of_person(self, base: str, suffix: str) -> str | None:
        """Look a name up in a person's clone: of a pull request come objects, and no refs."""
        known = self._commit(base + suffix)
        remotes = self.git("remote").split() if known is None and _PULL.fullmatch(base) else []
        if not remotes:
            return known
        remote = next((name for name in ("upstream", "origin") if name in remotes), remotes[0])
        if not self._fetch(remote, base):
            return None
        listed = self.git("ls-remote", remote, base)
        return self._commit(listed.split()[0] + suffix) if listed else None

    def _fetch(self, remote: str, *wanted: str) -> bool:
        """Fetch from a remote; False where it has no such thing.

        Raises:
            FetchError: where it can't be asked.

        """
        kind = "--filter=blob:none" if self.own else "--no-write-fetch-head"
        with FileLock(f"{self.git_dir}.lock") if self.own else contextlib.nullcontext():
            status, _, errors = self.try_git("fetch", "--quiet", "--no-tags", kind, remote, *wanted)
        if status and not _ABSENT.search(errors):
            raise FetchError(f"{self.label} can't be fetched ({last_word(errors)})")
        return status == 0


def _refspec(base: str) -> str:
    """Return what to fetch for a name: the sha itself, or a ref, which is kept as the remote's."""
    if re.fullmatch(r"[0-9a-f]{40}", base):
        return base
    ref = base if base.startswith("refs/") else f"refs/heads/{base.removeprefix('heads/')}"
    return f"+{ref}:{ref}"


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
