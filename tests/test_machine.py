"""What processes here may have of the machine; control groups are files, made on the spot."""

from pathlib import Path

import psutil
import pytest

from bench import machine

MB = 10**6
V1_UNLIMITED = 2**63 - 4096


def group(folder: Path, limit: object, used: int, cache: int, version: int) -> None:
    """Write what the kernel shows of one control group."""
    names = {1: ("limit_in_bytes", "usage_in_bytes"), 2: ("max", "current")}[version]
    stat = {1: f"inactive_file 1\ntotal_inactive_file {cache}\n", 2: f"inactive_file {cache}\n"}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(names, (limit, used), strict=True):
        (folder / f"memory.{name}").write_text(f"{content}\n")
    (folder / "memory.stat").write_text(f"anon 7\n{stat[version]}")


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "_OWN_CGROUPS", tmp_path / "own")
    return tmp_path / "cgroup"


def belong(mounts: Path, text: str) -> None:
    mounts.with_name("own").write_text(text)


V1 = "4:memory:/pod/a\n3:cpuset:/\n1:name=systemd:/\n0::/\n"
V2 = "0::/pod/a\n"


@pytest.mark.parametrize(("own", "version", "root"), [(V1, 1, "memory"), (V2, 2, ".")])
@pytest.mark.parametrize("place", ["pod/a", "pod", "."])
def test_a_limit_of_any_group_up_to_the_root_holds(
    mounts: Path, own: str, version: int, root: str, place: str
) -> None:
    """The root's too: it is the container's own where those above it are not shown."""
    belong(mounts, own)
    before = machine.describe()
    group(mounts / root / "pod", V1_UNLIMITED if version == 1 else "max", 900 * MB, 0, version)
    group(mounts / root / place, 500 * MB, 450 * MB, 200 * MB, version)
    assert machine.memory_bytes() == 500 * MB
    assert machine.available_bytes() == 250 * MB
    found = machine.describe()
    assert found["usable_memory_bytes"] == 500 * MB
    assert found["label"] == before["label"]  # it is the same machine


@pytest.mark.parametrize("own", [V1, V2, "0::/../beside\n", "", "4:cpu,cpuacct:/x\n"])
def test_without_a_limit_it_is_the_machines(mounts: Path, own: str) -> None:
    for root, version in (("memory", 1), (".", 2)):
        group(mounts / root / "pod/a", V1_UNLIMITED if version == 1 else "max", 1, 0, version)
    belong(mounts, own)
    assert machine.memory_bytes() == psutil.virtual_memory().total
    assert machine.available_bytes() > 0


def test_the_tightest_of_several_holds_and_nothing_left_is_zero(mounts: Path) -> None:
    belong(mounts, V2)
    group(mounts / "pod", 300 * MB, 299 * MB, 0, 2)
    group(mounts / "pod/a", 400 * MB, 100 * MB, 0, 2)
    assert (machine.memory_bytes(), machine.available_bytes()) == (300 * MB, MB)
    group(mounts / "pod", 300 * MB, 310 * MB, 0, 2)
    assert machine.available_bytes() == 0


def test_it_is_asked_of_this_machine_too() -> None:
    assert 0 < machine.available_bytes() <= machine.memory_bytes()
