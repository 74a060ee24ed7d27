"""Names to shas, and questions on a history made on the spot."""

import os
import subprocess
from pathlib import Path

import pytest

from bench.errors import Exit, RequestError
from bench.repository import (
    FetchError,
    NotFoundError,
    branch_point,
    commit_info,
    first_parent_range,
    is_ancestor,
    nightly_source,
    open_repository,
    patch,
    paths_changed,
)

AUTHOR = {
    "GIT_AUTHOR_NAME": "A Tester",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A Tester",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Clone:
    """A git repository to write in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.day = 1
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        stamp = f"2026-08-{self.day:02d}T12:00:00+00:00"
        env = os.environ | AUTHOR | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, **files: str | None) -> str:
        """Commit files, their names with ``__`` for ``/``; None removes one."""
        for name, content in files.items():
            path = self.path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        self.day += 1
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path):
    """Main with a release branch, a merge, and a nightly branch beside it."""
    made = Clone(tmp_path / "clone")
    made.commit("first", exir__a="1", src__executorch__x="1")
    made.shas = [made.commit("second", exir__b="1")]
    made.git("switch", "--quiet", "-c", "release/1.4")
    made.fix = made.commit("fix of the release", exir__a="fixed")
    made.git("tag", "v1.4.1")
    made.git("switch", "--quiet", "main")
    made.shas.append(made.commit("third", exir__c="1"))
    made.git("switch", "--quiet", "-c", "side")
    made.commit("on the side", backends__s="1")
    made.git("switch", "--quiet", "main")
    made.git("merge", "--quiet", "--no-ff", "-m", "merged", "side")
    made.shas.append(made.git("rev-parse", "HEAD"))
    made.shas.append(made.commit("nothing"))
    made.shas.append(made.commit("moved", exir__c=None, exir__d="1"))
    return made


@pytest.fixture
def repository(clone, tmp_path):
    return open_repository(str(clone.path), tmp_path / "cache", print)


def refused(repository, name):
    with pytest.raises(RequestError) as caught:
        repository.resolve(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_kind_of_name_is_a_full_sha(clone, repository):
    second, third, merged, nothing, moved = clone.shas
    names = {
        moved: ["main", "HEAD", moved, moved[:7], "refs/heads/main", "main~0"],
        nothing: ["main~1", "HEAD~", "HEAD^"],
        third: ["main~3", "main~2^1"],
        clone.fix: ["v1.4.1", "release/1.4"],
        second: ["v1.4.1~1", f"{third[:10]}^"],
    }
    for sha, spellings in names.items():
        assert {repository.resolve(name) for name in spellings} == {sha}
    assert merged != repository.resolve("side")


@pytest.mark.parametrize(
    "name",
    ["--upload-pack=x", "-", "", "main:exir", "a..b", "a\nb", "a\0b", "@{u}", "HEAD@{1}", "a b",
     "main^{/x}", "$(id)", "refs//heads", "main~9999999"],
)  # fmt: skip
def test_what_is_no_name_never_reaches_git(repository, name, monkeypatch):
    monkeypatch.setattr("bench.repository.names.run_git", None)
    assert refused(repository, name).startswith("commit: ")


def test_an_unknown_name_is_one_line(repository):
    with pytest.raises(NotFoundError):
        repository.resolve("nope")
    assert "has no 'nope'" in refused(repository, "nope")
    assert "pull/7/head" in refused(repository, "pull/7/head")


def test_a_branch_that_is_called_head_confuses_nobody(clone, repository):
    clone.git("branch", "-f", "odd", "main~1")
    clone.git("update-ref", "refs/heads/HEAD", "main~2")
    assert repository.resolve("HEAD") == clone.shas[-1]
    assert repository.resolve("HEAD~1") == clone.shas[-2]


def test_bare_worktree_subfolder_and_home_are_opened(clone, tmp_path, monkeypatch):
    clone.git("clone", "--quiet", "--bare", str(clone.path), str(tmp_path / "bare"))
    clone.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "main~1")
    monkeypatch.setenv("HOME", str(tmp_path))
    for text, head in [("~/bare", -1), ("~/tree", -2), ("~/clone/exir", -1)]:
        opened = open_repository(text, tmp_path / "cache", print)
        assert opened.resolve("HEAD") == clone.shas[head]
        assert (opened.common_dir / "objects").is_dir()


def test_a_variable_does_not_lead_to_another_repository(clone, repository, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert repository.resolve("main") == clone.shas[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ext::sh -c id", "neither a path nor"),
        ("fd::7", "neither a path nor"),
        ("-x", "neither a path nor"),
        ("a\0b", "neither a path nor"),
        ("git://example.org/x", "only https, ssh and file"),
        ("http://user:secret@example.org/x", "http://***@example.org"),
        ("/nonexistent", "there is no folder"),
        ("{tmp}", "is no git repository"),
    ],
)
def test_a_place_that_is_no_repository_is_refused(tmp_path, text, message):
    with pytest.raises(RequestError) as caught:
        open_repository(text.replace("{tmp}", str(tmp_path)), tmp_path / "cache", print)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_repository_of_something_else_is_said_so(tmp_path):
    other = Clone(tmp_path / "other")
    other.commit("first", a="1")
    opened = open_repository(str(other.path), tmp_path / "cache", print)
    assert "holds no ExecuTorch" in refused(opened, "main")
    assert "holds no ExecuTorch" in refused(opened, "cd380e7aef")


@pytest.fixture
def own(clone, tmp_path):
    """Open the tool's own clone, as each process does anew; ``said`` is what it told."""
    clone.git("config", "uploadpack.allowFilter", "true")
    clone.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def opened():
        opened.said.clear()
        cache = tmp_path / "cache"
        return open_repository(None, cache, opened.said.append, official=clone.path.as_uri())

    opened.said = []
    return opened


MOVING = {
    "main": "refs/heads/main",
    "HEAD": "refs/heads/main",
    "refs/heads/main": "refs/heads/main",
    "release/1.4": "refs/heads/release/1.4",
    "side": "refs/heads/side",
    "heads/side": "refs/heads/side",
    "pull/7/head": "refs/pull/7/head",
}


@pytest.mark.parametrize("name", MOVING)
def test_a_name_that_moves_is_what_the_remote_has_now(clone, own, name):
    clone.git("update-ref", MOVING[name], clone.shas[2])
    assert own().resolve(name) == clone.shas[2]
    newest = clone.commit("later", exir__e="1")
    clone.git("update-ref", MOVING[name], newest)
    clone.git("tag", "v1.5.1", newest)
    begun = own()
    assert begun.resolve(f"{name}~0") == newest
    assert begun.git("rev-parse", "refs/tags/v1.5.1") == newest  # what bases are chosen by
    clone.git("update-ref", MOVING[name], clone.shas[1])
    assert begun.resolve(name) == newest  # within a process it means one commit
    assert own().resolve(name) == clone.shas[1]
    assert own.said == []


def go_offline(clone):
    clone.path.rename(clone.path.with_name("gone"))


def test_out_of_reach_a_name_is_what_it_was_and_that_is_said_once(clone, own):
    clone.git("update-ref", "refs/pull/7/head", clone.shas[2])
    meant = {name: own().resolve(name) for name in MOVING}
    go_offline(clone)
    for name, sha in meant.items():
        begun = own()
        assert [begun.resolve(word) for word in (name, name, f"{name}~0")] == [sha] * 3
        (line,) = own.said
        assert "can't be fetched (" in line
        assert f"{name.replace('pull', 'refs/pull')} is taken as last fetched, of 2026-08-" in line


def test_a_branch_that_is_gone_is_what_it_was_and_that_is_said(clone, own):
    side, day = own().resolve("side"), clone.git("log", "-1", "--format=%cs", "side")
    clone.git("update-ref", "-d", "refs/heads/side")
    assert own().resolve("side") == side
    assert f"has no side now: side is taken as last fetched, of {day}" in own.said[0]


def test_what_stays_is_not_fetched_again(clone, own):
    own().resolve("main")
    go_offline(clone)
    begun = own()
    assert begun.resolve("v1.4.1") == begun.resolve("refs/tags/v1.4.1") == clone.fix
    assert begun.resolve(clone.shas[1][:10]) == begun.resolve(clone.shas[1]) == clone.shas[1]
    assert own.said == []


UNKNOWN = ["abcdef1234", "f" * 40, "nope", "pull/99/head", "v9.9.9", "v1.4.1~99"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_remote_has_not_is_a_wrong_name_and_what_cannot_be_asked_is_none(clone, own, name):
    assert "has no" in refused(own(), name)
    assert "has no" in refused(own(), "nope/a.lock")  # which git asks no remote for
    go_offline(clone)
    said = f"'{name}' is not here, and .* can't be fetched"
    with pytest.raises(FetchError, match=said) as caught:
        own().resolve(name)
    assert caught.value.exit_code == Exit.UNDECIDED
    assert "\n" not in str(caught.value)


def test_a_persons_clone_is_never_fetched_into(clone, tmp_path):
    copy = tmp_path / "copy"
    clone.git("clone", "--quiet", str(clone.path), str(copy))
    newest = clone.commit("later", exir__e="1")
    opened = open_repository(str(copy), tmp_path / "cache", print)
    before = opened.git("for-each-ref")
    for name in ("main", "HEAD", "origin/main"):
        assert opened.resolve(name) == clone.shas[-1]
    assert "has no" in refused(opened, newest)
    assert "has no" in refused(opened, "pull/99/head")
    assert opened.git("for-each-ref") == before
    go_offline(clone)
    with pytest.raises(FetchError, match="'pull/99/head' is not here"):
        opened.resolve("pull/99/head")


def test_the_tools_own_clone_is_made_once_and_updated_when_asked(clone, tmp_path):
    clone.git("config", "uploadpack.allowFilter", "true")
    clone.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone.git("update-ref", "refs/pull/7/head", clone.shas[2])
    url, said = clone.path.as_uri(), []
    own = open_repository(None, tmp_path / "cache", said.append, official=url)
    assert own.resolve("main") == clone.shas[-1]
    assert own.resolve("v1.4.1") == clone.fix
    newest = clone.commit("later", exir__e="1")
    assert own.resolve(newest[:10]) == newest
    assert own.resolve("main") == newest
    assert own.resolve("side") == clone.git("rev-parse", "side")
    assert own.resolve("pull/7/head") == clone.shas[2]
    assert own.resolve("pull/7/head~1") == clone.shas[1]
    assert "has no" in refused(own, "nope")
    again = open_repository(None, tmp_path / "cache", said.append, official=url)
    assert again.git_dir == own.git_dir
    assert len(said) == 1
    missing = own.git("rev-list", "--objects", "--missing=print", "main")
    assert "?" in missing  # a partial clone: contents are fetched on demand
    assert commit_info(own, newest).files == ("exir/e.py",)
    assert own.read(newest, "exir/e.py") == "1"


def test_a_pull_request_is_fetched_into_a_persons_clone_without_a_ref(clone, tmp_path):
    copy = tmp_path / "copy"
    clone.git("clone", "--quiet", str(clone.path), str(copy))
    clone.git("switch", "--quiet", "-c", "away")
    sha = clone.commit("proposed", exir__p="1")
    clone.git("update-ref", "refs/pull/9/head", sha)
    clone.git("switch", "--quiet", "main")
    opened = open_repository(str(copy), tmp_path / "cache", print)
    before = opened.git("for-each-ref")
    assert opened.resolve("pull/9/head") == sha
    assert opened.git("for-each-ref") == before
    assert not (copy / ".git" / "FETCH_HEAD").exists()


def test_no_network_says_what_to_pass_and_leaves_nothing_half_done(tmp_path):
    with pytest.raises(RequestError) as caught:
        open_repository(None, tmp_path / "cache", print, official="https://localhost:1/none")
    assert "pass repo=PATH" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not [path for path in (tmp_path / "cache" / "repository").iterdir() if path.is_dir()]


def test_a_shallow_clone_says_that_its_history_is_cut(clone, tmp_path):
    shallow = tmp_path / "shallow"
    clone.git(
        "clone", "--quiet", "--depth=1", "--no-single-branch", clone.path.as_uri(), str(shallow)
    )
    opened = open_repository(str(shallow), tmp_path / "cache", print)
    assert "fetch --unshallow" in refused(opened, "HEAD~3")
    with pytest.raises(RequestError, match="fetch --unshallow"):
        first_parent_range(opened, opened.resolve("v1.4.1"), opened.resolve("main"))


def test_a_commit_is_described(clone, repository):
    found = commit_info(repository, clone.shas[4])
    assert (found.subject, found.author, f"{found.date:%d.%m}") == ("moved", "A Tester", "07.08")
    assert found.files == ("exir/c.py", "exir/d.py")
    assert commit_info(repository, clone.shas[2]).files == ("backends/s.py",)
    assert commit_info(repository, clone.shas[3]).files == ()


def test_the_range_follows_first_parents_from_the_fork(clone, repository):
    good, bad = clone.shas[0], clone.shas[-1]
    found = first_parent_range(repository, good, bad)
    assert (found.start, found.commits, found.from_fork) == (good, tuple(clone.shas[1:]), False)
    released = first_parent_range(repository, clone.fix, bad)
    assert (released.start, released.commits) == (good, found.commits)
    assert released.from_fork


def test_ends_that_are_no_range_are_refused(clone, repository, tmp_path):
    with pytest.raises(RequestError, match="exchange them"):
        first_parent_range(repository, clone.shas[3], clone.shas[1])
    with pytest.raises(RequestError, match="same commit"):
        first_parent_range(repository, clone.shas[3], clone.shas[3])
    clone.git("switch", "--quiet", "--orphan", "elsewhere")
    alone = clone.commit("alone", exir__z="1")
    with pytest.raises(RequestError, match="no common ancestor"):
        first_parent_range(repository, alone, clone.shas[3])


def test_paths_per_commit_in_one_go(clone, repository):
    changes = paths_changed(repository, clone.shas[0], clone.shas[-1])
    assert list(changes) == clone.shas[1:]
    assert list(changes.values()) == [
        ("exir/c.py",),
        ("backends/s.py",),
        (),
        ("exir/c.py", "exir/d.py"),
    ]


def test_names_of_files_may_be_anything(clone, repository):
    odd = clone.path / "exir" / "a b\nc\tcommit:é.py"
    odd.write_text("1")
    sha = clone.commit("odd")
    assert commit_info(repository, sha).files == ("exir/a b\nc\tcommit:é.py",)
    assert paths_changed(repository, f"{sha}~1", sha) == {sha: ("exir/a b\nc\tcommit:é.py",)}


def test_a_patch_is_of_the_paths_asked_for(clone, repository):
    clone.git("config", "diff.noprefix", "true")
    clone.git("config", "diff.external", "false")
    sha = clone.commit("changed", exir__b="1\n2\n", exir__d="3")
    found = patch(repository, sha, ["exir/b.py", "exir/none.py"])
    assert found.startswith("diff --git a/exir/b.py b/exir/b.py")
    assert "\n+2" in found
    assert "exir/d.py" not in found
    assert found.encode()
    assert patch(repository, sha, []) == ""
    merged = patch(repository, clone.shas[2], ["backends/s.py"])
    assert "+++ b/backends/s.py" in merged


def test_ancestors_and_branch_points(clone, repository):
    assert is_ancestor(repository, clone.shas[0], clone.fix)
    assert not is_ancestor(repository, clone.fix, clone.shas[-1])
    assert branch_point(repository, "1.4.1") == clone.shas[0]
    assert branch_point(repository, "1.5.1") is None


def test_a_nightly_is_led_back_to_the_main_line(clone, repository):
    clone.git("switch", "--quiet", "-c", "nightly", "main~2")
    built = clone.commit(f"2026-08-09 nightly release ({clone.shas[3]})")
    assert nightly_source(repository, built) == clone.shas[3]
    assert nightly_source(repository, clone.shas[1]) == clone.shas[1]
    assert nightly_source(repository, "0" * 40) is None
