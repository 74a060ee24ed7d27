"""The store of programs: what is found is whole, what is old goes first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from bench.disk import DiskError
from bench.measure import WORKER_ROOT
from bench.programs import ProgramStore, program_key
from tests.disks import files_of_at_most


def kept(store: ProgramStore, key: str, content: bytes, used: int = 0) -> Path:
    import hashlib

    pte = store.incoming()
    pte.write_bytes(content)
    sha = hashlib.sha256(content).hexdigest()
    path = store.keep(key, pte, {"pte_sha256": sha, "pte_bytes": len(content)}).path
    if used:
        os.utime(path, (used, used))
    return path


UNREADABLE = ["", "{", "{}", "[]", "null", "5"]


@pytest.fixture
def store(tmp_path: Path) -> ProgramStore:
    return ProgramStore(tmp_path / "programs")


def test_what_was_kept_is_found_with_what_was_said_of_it(store: ProgramStore) -> None:
    path = kept(store, "k", b"program")
    found = store.find("k")
    assert found and found.path == path
    assert found.path.read_bytes() == b"program"
    assert found.info["pte_bytes"] == 7
    assert store.find("other") is None
    assert not list((store.root / "incoming").iterdir())


@pytest.mark.parametrize("damage", ["short", "gone", *UNREADABLE])
def test_a_damaged_program_is_not_found(store: ProgramStore, damage: str) -> None:
    path = kept(store, "k", b"program")
    about = store.root / "k.json"
    match damage:
        case "short":
            path.write_bytes(b"progra")
        case "gone":
            path.unlink()
        case text:
            about.write_text(text)
    assert store.find("k") is None
    kept(store, "k", b"program")  # and can be made anew
    assert store.find("k")


def test_two_exports_of_one_program_share_the_file(store: ProgramStore) -> None:
    assert kept(store, "a", b"same") == kept(store, "b", b"same")
    assert len(list(store.root.glob("*.pte"))) == 1


def test_the_least_recently_used_goes_first(store: ProgramStore) -> None:
    for age, name in enumerate(("oldest", "older", "new"), 1):
        kept(store, name, name.encode() * 10, used=age)
    assert store.find("oldest")  # which is a use
    assert store.prune(limit=100) == len("older") * 10
    assert [store.find(name) is not None for name in ("oldest", "older", "new")] == [
        *(True, False, True)
    ]
    assert not (store.root / "older.json").exists()
    assert store.prune(limit=0, recent_s=-1)
    assert not [path.name for path in store.root.iterdir() if path.suffix]


def test_what_was_just_found_is_not_removed_before_it_is_run(store: ProgramStore) -> None:
    kept(store, "a", b"program of this run", used=1)
    kept(store, "b", b"program of last year", used=2)
    found = store.find("a")
    assert found
    assert store.prune(limit=0) == len(b"program of last year")
    assert found.path.read_bytes() == b"program of this run"
    assert store.find("a")


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_tells_nothing_is_removed_and_harms_no_other(store: ProgramStore, text: str) -> None:
    kept(store, "k", b"program")
    (store.root / "torn.json").write_text(text)
    (store.root / "binary.json").write_bytes(b"\xff\xfe")
    assert store.prune() == 0
    assert [path.name for path in store.root.glob("*.json")] == ["k.json"]
    assert store.find("k")


def test_pruning_waits_for_a_program_that_is_being_kept(store: ProgramStore) -> None:
    """Between the program and what tells of it, another controller's pruning takes neither."""
    kept(store, "k", b"program")
    code = (
        "import sys; from pathlib import Path; from bench.programs import ProgramStore\n"
        "print('begun', flush=True); ProgramStore(Path(sys.argv[1])).prune(0, -1)"
    )
    with FileLock(store.root / ".lock"):
        pruning = subprocess.Popen(
            [sys.executable, "-c", code, str(store.root)], stdout=subprocess.PIPE, text=True
        )
        assert pruning.stdout and pruning.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            pruning.wait(0.5)
        assert store.find("k")
    assert pruning.wait(20) == 0
    pruning.stdout.close()
    assert store.find("k") is None


def test_two_exports_of_one_program_are_removed_one_by_one(store: ProgramStore) -> None:
    kept(store, "a", b"same")
    kept(store, "b", b"same")
    store.remove("a")
    assert store.find("a") is None and store.find("b")
    store.remove("b")
    store.remove("b")
    assert not list(store.root.glob("*.pte"))


def test_pruning_an_empty_store_is_nothing(store: ProgramStore) -> None:
    assert store.prune() == 0


def test_what_killed_controllers_left_goes_and_what_others_write_stays(store: ProgramStore) -> None:
    mine = store.incoming()
    mine.write_bytes(b"at work")
    gone = max(psutil.pids()) + 100_000
    (mine.parent / f"{gone}.pte").write_bytes(b"left")
    store.prune()
    assert list(mine.parent.iterdir()) == [mine]


def test_no_room_names_the_store_and_keeps_what_was_there(store: ProgramStore) -> None:
    kept(store, "k", b"program")
    before = json.loads((store.root / "k.json").read_text())
    pte = store.incoming()
    pte.write_bytes(b"program")
    info = before | {"trace": ["x" * 5000]}
    with files_of_at_most(1000), pytest.raises(DiskError, match=str(store.root)):
        store.keep("k", pte, info)
    found = store.find("k")
    assert found and found.info == before


def test_a_program_is_named_by_all_that_decides_it(tmp_path: Path) -> None:
    root = tmp_path / "worker"
    (root / "et_worker").mkdir(parents=True)
    (root / "et_worker" / "a.py").write_text("x = 1")
    key = program_key("export", "build", root)
    assert program_key("export", "build", root) == key
    (root / "et_worker" / "notes.txt").write_text("no source")
    assert program_key("export", "build", root) == key
    others = {program_key("other", "build", root), program_key("export", "other", root)}
    (root / "et_worker" / "a.py").write_text("x = 2")
    others.add(program_key("export", "build", root))
    (root / "et_worker" / "a.py").rename(root / "et_worker" / "b.py")
    others.add(program_key("export", "build", root))
    assert len(others - {key}) == 4
    assert program_key("export", "build", WORKER_ROOT) != key


def test_what_another_node_is_writing_to_a_shared_disk_is_left_alone(store: ProgramStore) -> None:
    ours = store.incoming()
    assert ours.name.startswith(f"{os.getpid()}@")
    theirs, dead = ours.with_name("1@elsewhere.pte"), ours.with_name("999999999.pte")
    for path in (ours, theirs, dead):
        path.write_bytes(b"half")
    store.prune()
    assert (ours.exists(), theirs.exists(), dead.exists()) == (True, True, False)
