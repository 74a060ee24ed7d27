"""macOS's physical footprint, read from bytes as the kernel lays them out."""

import struct
import sys

import pytest
from et_worker import footprint, memory

MIB = 1 << 20
RESIDENT, PHYS_FOOTPRINT, LIFETIME_MAX, INTERVAL_MAX = 6, 7, 28, 33


def rusage_info_v4(**sizes: int) -> bytes:
    """The struct of <sys/resource.h>: every other field a number that would stand out."""
    numbers = [0xDEAD0000 + number for number in range(35)]
    numbers[RESIDENT] = sizes.get("resident", 300 * MIB)
    numbers[PHYS_FOOTPRINT] = sizes.get("now", 500 * MIB)
    numbers[LIFETIME_MAX] = sizes.get("lifetime", 900 * MIB)
    numbers[INTERVAL_MAX] = sizes.get("interval", 700 * MIB)
    return b"0123456789abcdef" + struct.pack("=35Q", *numbers)


def test_the_four_sizes_are_found() -> None:
    assert len(rusage_info_v4()) == 296
    found = footprint.parse(rusage_info_v4())
    assert found == footprint.Footprint(500 * MIB, 900 * MIB, 700 * MIB, 300 * MIB)


@pytest.mark.parametrize(
    "data",
    [
        rusage_info_v4()[:-8],
        rusage_info_v4(now=0),
        rusage_info_v4(resident=0),
        rusage_info_v4(lifetime=499 * MIB),
        bytes(296),
    ],
)
def test_another_layout_is_not_believed(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes|no memory sizes"):
        footprint.parse(data)


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch):
    """A process on macOS whose kernel answers with recorded bytes."""
    readings = {"data": rusage_info_v4(), "resets": True}
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    monkeypatch.setattr(footprint, "read", lambda: footprint.parse(readings["data"]))
    monkeypatch.setattr(footprint, "check_layout", lambda: None)
    monkeypatch.setattr(footprint, "begin_interval", lambda: readings["resets"])
    for cached in (memory._has_footprint, memory._resets):
        cached.cache_clear()
    yield readings
    for cached in (memory._has_footprint, memory._resets):
        cached.cache_clear()


def test_a_sample_is_of_the_footprint_and_of_the_interval(mac) -> None:
    assert memory.sample() == memory.Memory(500 * MIB, 700 * MIB, 0)
    assert memory.peak_source() == "phys_footprint"
    assert memory.reset_peak()


def test_without_intervals_the_peak_is_of_the_process_so_far(mac) -> None:
    mac["resets"] = False
    assert memory.sample() == memory.Memory(500 * MIB, 900 * MIB, 0)
    assert memory.peak_source() == "phys_footprint-cumulative"
    assert not memory.reset_peak()


def test_an_unknown_layout_falls_back_to_rusage(mac, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise ValueError("another layout")

    monkeypatch.setattr(footprint, "check_layout", refuse)
    memory._has_footprint.cache_clear()
    monkeypatch.setattr(memory, "_STATUS", memory.Path("/nowhere/status"))
    monkeypatch.setattr(memory, "_CLEAR_REFS", memory.Path("/nowhere/clear_refs"))
    assert memory.peak_source() == "ru_maxrss"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has it")
def test_elsewhere_there_is_none() -> None:
    with pytest.raises(OSError, match="no proc_pid_rusage"):
        footprint.read()
    assert not footprint.begin_interval()


@pytest.mark.skipif(sys.platform != "darwin", reason="needs macOS")
def test_the_real_footprint_grows_by_what_is_taken() -> None:
    footprint.check_layout()
