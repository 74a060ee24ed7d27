"""A commit's Python over a release: equal to its wheel, never stale, nothing written through."""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.environment import overlay as overlay_module
from bench.environment.dependencies import FOLDER as DEPENDENCIES
from bench.environment.inventory import package_of
from bench.environment.model import worker_env
from bench.environment.overlay import version_file
from bench.environment.release_tree import ReleaseTree
from bench.environment.working_tree import WorkingTree
from bench.errors import BuildError
from tests.environment.overlays import (
    BASE,
    GENERATED,
    MLX,
    NATIVE,
    SOURCES,
    Repository,
    make_store,
    overlay,
    packaged,
    read_package,
    write,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def repository(tmp_path):
    repository = Repository.make(tmp_path / "repository")
    repository.commit()
    return repository


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path)


@pytest.fixture
def first(repository, store):
    """The overlay of the commit that the base was built from."""
    return store.ensure(overlay(repository.tree(repository.head)), print)


def build(store, repository, changes):
    sha = repository.commit(changes)
    return store.ensure(overlay(repository.tree(sha)), print)


def run(environment, code, *flags):
    done = subprocess.run(
        [environment.python, "-P", *flags, "-c", code],
        env=worker_env(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def checksums(folder):
    return {
        path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def inode(path):
    return path.stat().st_ino


def test_the_overlay_of_a_release_is_its_wheel(first, store):
    wheel = read_package(package_of(store.ensure(BASE, print)))
    found = read_package(package_of(first))
    assert found.pop("version.py") != wheel.pop("version.py")
    assert {path for path in found if path not in wheel} == GENERATED
    assert {path: found[path] for path in wheel} == wheel == packaged(SOURCES)


def test_it_says_what_it_is(first, repository):
    sha = first.git_sha
    assert first.rung == "overlay"
    assert first.label == sha[:10]
    assert first.executorch == f"1.4.1+{sha[:7]}"
    assert first.torch == "2.13.0+cpu"
    assert first.base == "wheel-1.4.1-0123456789ab"
    assert first.packages.read_text() == "a==1\n"
    assert run(first, "from executorch.version import *; print(__version__, git_version)") == (
        f"1.4.1+{sha[:7]} {sha}"
    )


def test_there_is_one_executorch_and_its_metadata(first, tmp_path):
    code = """
import sys, executorch, torch
from importlib.metadata import version
print(*executorch.__path__, version("executorch"), torch.__file__.count("site-packages"))
"""
    assert run(first, code) == f"{first.root}/tree/executorch 1.4.1 1"


def test_programs_run_with_the_interpreter_of_the_overlay(first):
    done = subprocess.run([first.bin / "tool"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(first.bin.parent)


def test_what_a_commit_changes_is_changed_and_what_it_deletes_is_gone(first, store, repository):
    changes = {"exir/__init__.py": "VALUE = 2\n", "exir/old.py": None}
    changed = build(store, repository, changes)
    assert run(changed, "from executorch.exir.emit import VALUE; print(VALUE)") == "2"
    assert run(first, "from executorch.exir.emit import VALUE; print(VALUE)") == "1"
    assert not (package_of(changed) / "exir" / "old.py").exists()
    code = "import importlib.util as u; print(u.find_spec('executorch.exir.old'))"
    assert run(changed, code) == "None"


def test_a_file_that_is_edited_to_the_same_length_is_not_stale(first, store, repository):
    values = []
    for number in range(3):
        changed = build(store, repository, {"exir/emit.py": f"X = {number}\n"})
        values.append(run(changed, "from executorch.exir.emit import X; print(X)"))
    assert values == ["0", "1", "2"]


def test_native_files_are_the_bases(first, store, tmp_path):
    base = package_of(store.ensure(BASE, print))
    for path in NATIVE:
        shared = inode(package_of(first) / path)
        assert shared == inode(base / path) == inode(tmp_path / "installer-cache" / path)


def test_the_installers_cache_is_never_written_to(store, repository, tmp_path):
    store.ensure(BASE, print)
    before = checksums(tmp_path / "installer-cache")
    build(store, repository, {"exir/emit.py": "X = 1\n", "data/bin/flatc": "other\n"})
    build(store, repository, {"exir/emit.py": "X = 2\n", "backends/ops.yaml": "- op: sub\n"})
    build(store, repository, {"backends/mlx/serialization/schema.fbs": "table Other {}\n"})
    assert checksums(tmp_path / "installer-cache") == before


def test_unchanged_files_are_shared_with_their_bytecode(first, store, repository):
    changed = build(store, repository, {"exir/emit.py": "X = 1\n"})
    old, new = package_of(first), package_of(changed)
    for path in ("exir/__init__.py", f"{MLX}/mlx_graph_schema.py"):
        compiled = compiled_name(path)
        assert inode(old / path) == inode(new / path)
        assert inode(old / compiled) == inode(new / compiled)
    assert inode(old / "exir/emit.py") != inode(new / "exir/emit.py")
    assert first.size_bytes > changed.size_bytes > 0


def compiled_name(path):
    return os.path.relpath(importlib.util.cache_from_source(f"/{path}"), "/")


def test_everything_that_is_imported_is_compiled_before(first, store, repository):
    changed = build(store, repository, {"exir/emit.py": "X = 1\n"})
    for environment in (first, changed):
        before = checksums(environment.root / "tree")
        run(environment, "import executorch.exir.emit, executorch.backends, executorch.version")
        assert checksums(environment.root / "tree") == before
        package = package_of(environment)
        assert (package / compiled_name("exir/emit.py")).exists()
        assert not (package / compiled_name("exir/test/test_emit.py")).exists()


def test_the_controllers_own_bytecode_prefix_does_not_matter(
    first, store, repository, monkeypatch, tmp_path
):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "prefix"))
    changed = build(store, repository, {"exir/emit.py": "X = 1\n"})
    assert (package_of(changed) / "exir" / "__pycache__").is_dir()
    assert not (tmp_path / "prefix").exists()


def test_equal_content_has_an_equal_time_wherever_it_is_built(repository, tmp_path):
    sha = repository.commit({"exir/emit.py": "X = 1\n"})
    times = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        built = make_store(tmp_path / name).ensure(overlay(repository.tree(sha)), print)
        times.add((package_of(built) / "exir" / "emit.py").stat().st_mtime_ns)
    assert len(times) == 1


def test_commits_that_differ_elsewhere_share_an_environment(first, store, repository):
    same = build(store, repository, {"README.md": "Read it.\n", "exir/emit.cpp": "int x;\n"})
    assert same == first
    assert build(store, repository, {"version.txt": "1.5.0\n"}) != first


def test_mlx_is_generated_once_for_each_schema(first, store, repository):
    logs = {}
    schema = "backends/mlx/serialization/schema.fbs"
    for name, changes in {
        "code": {"exir/emit.py": "X = 1\n"},
        "schema": {schema: "table Other {}\n"},
        "both": {"exir/emit.py": "X = 2\n"},
        "back": {schema: SOURCES[f"{MLX}/schema.fbs"]},
    }.items():
        built = build(store, repository, changes)
        logs[name] = (built.root / "build.log").read_text().count("generate.py")
        text = run(built, "import executorch.backends.mlx.serialization.mlx_graph_schema as s;"
                          "print(s.SCHEMA.strip())")  # fmt: skip
        assert text == ("table Other {}" if name in ("schema", "both") else "table Mlx {}")
    assert logs == {"code": 0, "schema": 1, "both": 0, "back": 0}


def test_a_commit_without_mlx_has_none(first, store, repository):
    changes = dict.fromkeys(
        (
            "backends/mlx/serialization/generate.py",
            "backends/mlx/serialization/schema.fbs",
        )
    )
    built = build(store, repository, changes)
    assert not (package_of(built) / "backends" / "mlx").exists()


def test_a_generator_that_fails_says_so(first, store, repository):
    failing = {"backends/mlx/serialization/generate.py": "raise SystemExit('no luck')\n"}
    with pytest.raises(BuildError, match="generating MLX's schema failed: no luck"):
        build(store, repository, failing)
    store.release(first)
    # What was not built holds no base.
    assert [item.in_use for item in store.list()] == [False, False]


def test_a_working_tree_edited_and_built_again_is_another_environment(store, repository):
    built = []
    for number in range(2):
        write(repository.path, {"exir/emit.py": f"X = {number}\n"})
        tree = WorkingTree(repository.path)
        built.append(store.ensure(overlay(tree), print))
        assert run(built[-1], "from executorch.exir.emit import X; print(X)") == str(number)
    assert built[0].build_key != built[1].build_key
    assert run(built[0], "from executorch.exir.emit import X; print(X)") == "0"
    assert built[0].git_sha is None
    assert run(built[0], "import executorch.version as v; print(v.git_version)") == "None"


def test_a_release_is_laid_over_another_without_a_repository(first, store):
    tree = ReleaseTree(first)
    recipe = overlay(tree)
    assert recipe.build_key != first.build_key
    built = store.ensure(recipe, print)
    assert read_package(package_of(built)) == read_package(package_of(first))
    assert built.executorch == first.executorch
    assert version_file(tree) is None


def test_what_is_in_use_keeps_its_base(first, store):
    assert [item.rung for item in store.list() if item.in_use] == ["wheel", "overlay"]
    assert list(store.prune(keep_newest=0)) == []
    store.release(first)
    assert [item.rung for item in store.prune(keep_newest=1)] == ["overlay"]
    assert [item.rung for item in store.prune(keep_newest=0)] == ["wheel"]


def test_what_lost_its_base_is_built_again(first, store, repository):
    store.release(first)
    shutil.rmtree(store.folder(BASE))
    recipe = overlay(repository.tree(first.git_sha))
    assert store.find(recipe) is None
    again = store.ensure(recipe, print)
    assert run(again, "from executorch.exir.emit import VALUE; print(VALUE)") == "1"


@pytest.mark.parametrize("when", ["before", "between"])
def test_a_donor_that_goes_meanwhile_does_no_harm(first, store, repository, monkeypatch, when):
    nearest = build(store, repository, {"exir/emit.py": "X = 1\n"})
    find = overlay_module.find_donors

    def removed(*words):
        found = find(*words)
        assert found[0].root == nearest.root
        shutil.rmtree(nearest.root / "tree")
        (nearest.root / "environment.json").unlink()
        if when == "between":
            (nearest.root / "environment.json").write_text("another")
            write(package_of(nearest), {"exir/emit.py": "half a fi"})
        return found

    monkeypatch.setattr(overlay_module, "find_donors", removed)
    built = build(store, repository, {"backends/ops.yaml": "- op: sub\n"})
    assert run(built, "from executorch.exir.emit import X; print(X)") == "1"


CONTROLLER = """
import sys, time
from pathlib import Path
from bench.environment.git_tree import GitTree
from bench.environment.overlay_files import Package
from tests.environment.overlays import make_store, overlay

folder, repository, sha, pause = sys.argv[1:]
write = Package.write

def slowly(self, path, content, content_id):
    write(self, path, content[:1], content_id)
    (Path(folder) / "half").touch()
    time.sleep(float(pause))
    write(self, path, content, content_id)

Package.write = slowly
tree = GitTree(Path(repository) / ".git", sha)
print(make_store(Path(folder)).ensure(overlay(tree), print).root)
"""


def controller(tmp_path, repository, sha, pause):
    words = [str(tmp_path), str(repository.path), sha, str(pause)]
    return subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_an_overlay_killed_half_way_is_made_whole_by_the_next(store, repository, tmp_path):
    store.ensure(BASE, print)
    sha = repository.commit({"exir/emit.py": "X = 1\n"})
    before = checksums(tmp_path / "installer-cache")
    process = controller(tmp_path, repository, sha, 60)
    for _ in range(200):
        if (tmp_path / "half").exists():
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    recipe = overlay(repository.tree(sha))
    assert store.folder(recipe).is_dir()
    assert store.find(recipe) is None
    built = store.ensure(recipe, print)
    assert read_package(package_of(built))["exir/emit.py"] == "X = 1\n"
    assert checksums(tmp_path / "installer-cache") == before


def test_two_controllers_build_it_once(store, repository, tmp_path):
    store.ensure(BASE, print)
    sha = repository.commit({"exir/emit.py": "X = 1\n"})
    processes = [controller(tmp_path, repository, sha, 0.5) for _ in range(2)]
    said = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert said[0][-1] == said[1][-1]
    assert sum("laying the Python" in line for lines in said for line in lines) == 1


def test_the_interpreter_is_made_once_for_each_base(first, store, repository):
    base = store.ensure(BASE, print)
    assert first.python == base.root / DEPENDENCIES / "bin" / "python"
    made = inode(first.bin.parent)
    other = build(store, repository, {"exir/emit.py": "X = 1\n"})
    assert inode(other.bin.parent) == made
    assert not (other.root / DEPENDENCIES).exists()


def test_the_description_can_be_read_back(first):
    text = (first.root / "environment.json").read_text()
    assert type(first).from_json(text) == first
    # One that was written before there were overlays.
    values = json.loads(text)
    del values["base"]
    assert type(first).from_json(json.dumps(values)).base == ""
