"""The trees an overlay is made of: commits, working trees, releases."""

import subprocess

import pytest

from bench.environment.git_tree import GitTree
from bench.environment.inventory import package_of
from bench.environment.release_tree import ReleaseTree
from bench.environment.tree import blob_id
from bench.environment.working_tree import WorkingTree
from bench.errors import BuildError, RequestError
from tests.environment.overlays import BASE, SOURCES, Repository, git, make_store, write


@pytest.fixture
def repository(tmp_path):
    return Repository.make(tmp_path / "repository")


def content(tree, path):
    entry = tree.files()[path]
    ((name, found),) = tree.read([entry.blob_id])
    assert name == entry.blob_id
    return found.decode()


def blobs(tree):
    return [entry.blob_id for entry in tree.files().values() if entry.mode != "160000"]


def test_a_commit_is_read_without_a_checkout(repository, tmp_path):
    sha = repository.commit()
    git(tmp_path, "clone", "--quiet", "--bare", str(repository.path), "bare")
    for tree in (repository.tree(sha), GitTree(tmp_path / "bare", sha)):
        assert tree.sha == sha
        assert tree.label == sha[:10]
        assert tree.version == "1.4.1"
        assert tree.key == git(repository.path, "rev-parse", f"{sha}^{{tree}}")
        assert content(tree, "exir/emit.py") == SOURCES["exir/emit.py"]
        assert tree.files()["src/executorch/exir"].mode == "120000"


def test_all_contents_are_read_by_one_process(repository, monkeypatch):
    tree = repository.tree(repository.commit())
    wanted = dict.fromkeys(blobs(tree))
    started = []
    popen = subprocess.Popen

    def count(command, *rest, **more):
        if "cat-file" in command:
            started.append(command)
        return popen(command, *rest, **more)

    monkeypatch.setattr(subprocess, "Popen", count)
    found = dict(tree.read([*wanted, *wanted]))
    assert len(started) == 1
    assert found.keys() == wanted.keys()
    assert all(blob_id(text) == name for name, text in found.items())


def test_many_large_contents_do_not_block_the_asking(repository):
    write(repository.path, {f"exir/large{n}.py": f"# {n}\n" + "#" * 300_000 for n in range(20)})
    tree = repository.tree(repository.commit())
    names = [*blobs(tree), "0" * 40]
    with pytest.raises(BuildError, match="lacks the file content 000000"):
        list(tree.read(names))


def test_a_missing_commit_is_one_line(repository):
    with pytest.raises(BuildError, match="git ls-tree failed"):
        repository.tree("1" * 40).files()


@pytest.mark.parametrize("name", ["HEAD", "--output=x", "abc", "1" * 39])
def test_only_a_full_sha_is_a_commit(repository, name):
    with pytest.raises(RequestError, match="no full sha"):
        repository.tree(name)


def test_the_environment_leads_git_nowhere_else(repository, monkeypatch):
    sha = repository.commit()
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    assert repository.tree(sha).version == "1.4.1"


def test_a_linked_working_tree_and_another_hash_are_read_too(repository, tmp_path):
    sha = repository.commit()
    git(repository.path, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    assert GitTree(tmp_path / "linked" / ".git", sha).version == "1.4.1"
    assert WorkingTree(tmp_path / "linked").sha == sha
    (tmp_path / "long").mkdir()
    git(tmp_path / "long", "init", "--quiet", "--object-format=sha256")
    long = Repository(tmp_path / "long").commit({"version.txt": "1.5.0\n"})
    assert len(long) == 64
    assert GitTree(tmp_path / "long" / ".git", long).version == "1.5.0"


def test_a_partial_clone_gets_what_it_lacks_at_once(repository, tmp_path):
    sha = repository.commit()
    for name in ("allowFilter", "allowAnySHA1InWant"):
        git(repository.path, "config", f"uploadpack.{name}", "true")
    address = f"file://{repository.path}"
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", address, "partial")
    tree = GitTree(tmp_path / "partial", sha)
    packs = tmp_path / "partial" / "objects" / "pack"
    before = len(list(packs.glob("*.pack")))
    wanted = [tree.files()[path].blob_id for path in sorted(SOURCES)]
    assert {name: text.decode() for name, text in tree.read(wanted)} == {
        tree.files()[path].blob_id: text for path, text in SOURCES.items()
    }
    assert len(list(packs.glob("*.pack"))) == before + 1


def test_a_clean_working_tree_is_its_commit(repository):
    sha = repository.commit()
    tree, commit = WorkingTree(repository.path / "exir"), repository.tree(sha)
    assert not tree.dirty
    assert (tree.sha, tree.key, tree.label) == (sha, commit.key, commit.label)
    assert tree.files() == commit.files()
    assert content(tree, "exir/emit.py") == SOURCES["exir/emit.py"]


def test_a_working_tree_is_what_lies_there(repository):
    write(repository.path, {".gitignore": "ignored.py\n"})
    sha = repository.commit()
    clean = WorkingTree(repository.path)
    write(repository.path, {"exir/emit.py": "X = 2\n", "exir/new/more.py": "X = 3\n"})
    write(repository.path, {"exir/ignored.py": "X = 4\n", "exir/staged.py": "X = 5\n"})
    git(repository.path, "add", "exir/staged.py")
    (repository.path / "exir" / "old.py").unlink()
    (repository.path / "src" / "executorch" / "backends").unlink()
    tree = WorkingTree(repository.path)
    assert tree.dirty
    assert tree.sha is None
    assert tree.label == f"{sha[:10]}-dirty"
    assert tree.key != clean.key
    assert content(tree, "exir/emit.py") == "X = 2\n"
    assert content(tree, "exir/new/more.py") == "X = 3\n"
    assert content(tree, "exir/staged.py") == "X = 5\n"
    assert content(tree, "exir/__init__.py") == "VALUE = 1\n"
    gone = {"exir/ignored.py", "exir/old.py", "src/executorch/backends"}
    assert not gone.intersection(tree.files())


def test_a_working_tree_is_a_snapshot(repository):
    repository.commit()
    write(repository.path, {"exir/emit.py": "X = 2\n"})
    tree = WorkingTree(repository.path)
    write(repository.path, {"exir/emit.py": "X = 3\n"})
    assert content(tree, "exir/emit.py") == "X = 2\n"
    assert WorkingTree(repository.path).key != tree.key


def test_files_that_no_overlay_has_do_not_count(repository):
    sha = repository.commit()
    write(repository.path, {"README.md": "Read me now.\n", "model.pte": "large"})
    assert WorkingTree(repository.path).sha == sha


def test_a_working_tree_starts_no_program_of_its_repository(repository, tmp_path):
    repository.commit()
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(repository.path, "config", "core.fsmonitor", str(program))
    WorkingTree(repository.path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("committed", [True, False])
def test_what_is_no_working_tree_is_refused(tmp_path, committed):
    if not committed:
        git(tmp_path, "init", "--quiet")
    with pytest.raises(RequestError, match="no working tree"):
        WorkingTree(tmp_path)


def test_a_release_is_the_python_of_its_package(tmp_path):
    store = make_store(tmp_path)
    environment = store.ensure(BASE, print)
    tree = ReleaseTree(environment)
    assert tree.label == "1.4.1"
    assert tree.version == "1.4.1"
    assert content(tree, "src/executorch/exir/emit.py") == SOURCES["exir/emit.py"]
    assert "src/executorch/exir/_native.so" not in tree.files()
    assert "src/executorch/version.py" in tree.files()
    assert ReleaseTree(environment).key == tree.key
    (package_of(environment) / "exir" / "emit.py").unlink()
    with pytest.raises(BuildError, match="lacks a file"):
        content(tree, "src/executorch/exir/emit.py")
