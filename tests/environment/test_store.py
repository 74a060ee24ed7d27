"""Built once, never half, and not removed while in use."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from bench.disk import DiskError
from bench.environment import store as store_module
from bench.environment.store import Store, default_root
from bench.errors import BuildError, RequestError
from tests.environment.fakes import FakeRecipe, fake_environment

ROOT = Path(__file__).resolve().parents[2]


class Builds:
    """A builder that counts, and can be told to fail."""

    def __init__(self):
        self.count = 0
        self.failure = None
        self.seconds = 0.0

    def __call__(self, recipe, folder, say):
        self.count += 1
        (folder / "build.log").write_text("log\n")
        time.sleep(self.seconds)
        if self.failure:
            (folder / "venv").mkdir()
            raise self.failure
        return fake_environment(recipe, folder)


@pytest.fixture
def builds():
    return Builds()


@pytest.fixture
def store(tmp_path, builds):
    return Store(tmp_path / "store", {"wheel": builds})


def recipe(number=0):
    return FakeRecipe(label=f"1.{number}", build_key=f"{number:012x}")


def fill(store, count):
    """Build some, each used a day before the next, and hold none."""
    for number in range(count):
        environment = store.ensure(recipe(number), print)
        store.release(environment)
        used = time.time() - 86400 * (count - number)
        os.utime(environment.root / "used", (used, used))


def labels(items):
    return [item.release for item in items]


def test_an_environment_is_built_once_and_found_again(store, builds):
    said = []
    assert store.find(recipe()) is None
    first = store.ensure(recipe(), said.append)
    assert store.ensure(recipe(), said.append) == first == store.find(recipe())
    assert builds.count == 1
    assert len(said) == 1
    assert "ready" in said[0]
    assert Store(store.root, store.builders).find(recipe()) == first


def test_other_keys_are_other_environments(store, builds):
    assert store.ensure(recipe(1), print).root != store.ensure(recipe(2), print).root
    assert builds.count == 2


@pytest.mark.parametrize("failure", [DiskError("full"), OSError(errno.ENOSPC, "no space left")])
def test_a_full_disk_is_no_fault_of_the_revision(store, builds, failure):
    builds.failure = failure
    with pytest.raises(DiskError):
        store.ensure(FakeRecipe(), print)
    builds.failure = None
    assert store.ensure(FakeRecipe(), print)


def test_a_failed_build_leaves_its_log_and_is_built_anew(store, builds):
    builds.failure = BuildError("no luck")
    with pytest.raises(BuildError, match="no luck"):
        store.ensure(recipe(), print)
    assert store.find(recipe()) is None
    assert [path.name for path in store.folder(recipe()).iterdir()] == ["build.log"]
    builds.failure = None
    assert store.ensure(recipe(), print).executorch == "1.0"


def test_an_interrupted_build_is_not_taken_for_a_finished_one(store, builds):
    builds.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        store.ensure(recipe(), print)
    assert store.find(recipe()) is None
    assert list(store.list()) == []
    builds.failure = None
    said = []
    store.ensure(recipe(), said.append)
    assert "unfinished" in said[0]


def test_a_damaged_or_moved_environment_is_built_again(store, builds):
    environment = store.ensure(recipe(), print)
    environment.python.unlink()
    assert store.find(recipe()) is None
    environment = store.ensure(recipe(), print)
    moved = store.root.with_name("moved")
    store.root.rename(moved)
    assert Store(moved, store.builders).find(recipe()) is None
    Store(moved, store.builders).ensure(recipe(), print)
    assert builds.count == 3


def test_another_path_to_the_store_is_the_same_store(store, builds, tmp_path):
    held = store.ensure(recipe(), print)
    (tmp_path / "link").symlink_to(store.root)
    other = Store(tmp_path / "link", store.builders)
    assert other.ensure(recipe(), print) == held
    assert builds.count == 1


def test_what_was_built_by_a_link_is_found_by_it_and_by_what_it_leads_to(store, builds, tmp_path):
    """As stores kept it that took a path as it was given."""
    held = store.ensure(recipe(), print)
    (tmp_path / "link").symlink_to(store.root)
    marker = held.root / "environment.json"
    marker.write_text(marker.read_text().replace(str(store.root), str(tmp_path / "link")))
    for root in (store.root, tmp_path / "link"):
        assert Store(root, store.builders).ensure(recipe(), print).executorch == held.executorch
    assert builds.count == 1


HOLDING = """
import sys
from pathlib import Path
from bench.environment.leases import Leases
Leases(Path(sys.argv[1])).take()
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("harm", ["moved", "damaged"])
def test_what_another_process_uses_is_not_built_anew(store, builds, harm):
    environment = store.ensure(recipe(), print)
    store.release(environment)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(environment.root / "leases")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    holder.stdout.readline()
    if harm == "moved":
        moved = store.root.with_name("moved")
        store.root.rename(moved)
        store = Store(moved, store.builders)
    else:
        environment.python.unlink()
    kept = sorted(store.folder(recipe()).rglob("*"))
    with pytest.raises(BuildError, match=f"in use by process {holder.pid}: end that first"):
        store.ensure(recipe(), print)
    assert set(kept) <= set(store.folder(recipe()).rglob("*"))
    holder.communicate()
    store.ensure(recipe(), print)
    assert builds.count == 2


def test_two_builds_of_one_environment_wait_for_each_other(store, builds):
    builds.seconds = 1.0
    said = []
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(store.ensure(recipe(), said.append)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builds.count == 1
    assert results[0] == results[1]
    assert sum("waiting for another build" in line for line in said) == 1


KILLED = """
import sys
from pathlib import Path
from tests.environment.fakes import FakeRecipe
from bench.environment.commands import Commands
from bench.environment.store import Store

def build(recipe, folder, say):
    (folder / "venv").mkdir()
    Commands(folder).run("sleeping", ["sleep", "61"])

Store(Path(sys.argv[1]), {"wheel": build}).ensure(FakeRecipe(), print)
"""


def test_a_build_killed_half_way_is_ended_and_built_anew(store, builds):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=store.root.parent,
    )
    record = store.folder(FakeRecipe()) / "running"
    for _ in range(100):
        if record.exists() and record.read_text().endswith("\n"):
            break
        time.sleep(0.1)
    sleeping = psutil.Process(int(record.read_text().split()[0]))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert sleeping.is_running()
    assert store.find(FakeRecipe()) is None
    environment = store.ensure(FakeRecipe(), print)
    assert environment.python.exists()
    assert builds.count == 1
    assert not sleeping.is_running() or sleeping.status() == psutil.STATUS_ZOMBIE


def test_a_rung_that_nobody_builds_is_refused(store):
    with pytest.raises(RequestError, match="wheel"):
        store.ensure(FakeRecipe(rung="magic"), print)


def test_a_place_that_cannot_be_written_to_is_one_line(tmp_path, builds):
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="can't be kept in"):
        Store(tmp_path / "file" / "store", {"wheel": builds}).ensure(recipe(), print)


def test_the_list_has_the_last_used_first(store):
    fill(store, 3)
    assert labels(store.list()) == ["1.2", "1.1", "1.0"]
    assert [item.in_use for item in store.list()] == [False] * 3
    store.ensure(recipe(0), print)
    assert labels(store.list()) == ["1.0", "1.2", "1.1"]
    first = store.list()[0]
    assert first.in_use
    assert (first.rung, first.torch, first.size_bytes) == ("wheel", "2.13.0+cpu", 100)


@pytest.mark.parametrize(
    ("limits", "removed"),
    [
        ({}, []),
        ({"keep_newest": 2}, ["1.1", "1.0"]),
        ({"max_bytes": 250}, ["1.1", "1.0"]),
        ({"older_than": timedelta(days=3.5)}, ["1.0"]),
        ({"keep_newest": 0}, ["1.3", "1.2", "1.1", "1.0"]),
        ({"keep_newest": 3, "older_than": timedelta(days=2.5)}, ["1.1", "1.0"]),
    ],
)
def test_pruning_removes_what_goes_beyond_the_limits(store, limits, removed):
    fill(store, 4)
    before = set(labels(store.list()))
    assert labels(store.prune(**limits)) == removed
    assert set(labels(store.list())) == before - set(removed)


def test_what_is_in_use_is_never_removed(store):
    fill(store, 2)
    held = store.ensure(recipe(0), print)
    assert labels(store.prune(keep_newest=0)) == ["1.1"]
    assert store.find(recipe(0)) == held
    store.release(held)
    assert labels(store.prune(keep_newest=0)) == ["1.0"]
    assert not held.root.exists()


def test_pruning_removes_what_interrupted_builds_left_but_not_a_running_build(store, builds):
    builds.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        store.ensure(recipe(1), print)
    builds.failure = None
    builds.seconds = 1.0
    running = threading.Thread(target=lambda: store.ensure(recipe(2), print))
    running.start()
    while not store.folder(recipe(2)).exists():
        time.sleep(0.01)
    store.prune()
    assert not store.folder(recipe(1)).exists()
    running.join()
    assert store.find(recipe(2)) is not None


def test_pruning_leaves_alone_what_is_not_the_stores(store):
    fill(store, 1)
    foreign = store.root / "photographs"
    foreign.mkdir()
    store.prune(keep_newest=0)
    assert foreign.is_dir()


def test_an_empty_store_can_be_listed_and_pruned(store):
    assert list(store.list()) == []
    assert list(store.prune(keep_newest=0)) == []


def test_the_cache_is_the_users_or_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path))
    assert default_root() == tmp_path / "environments"
    monkeypatch.delenv("ET_PEAK_CACHE")
    monkeypatch.setattr(store_module.platformdirs, "user_cache_path", lambda _: tmp_path / "own")
    assert default_root() == tmp_path / "own" / "environments"
