"""Readings of this very process, and the format they come in."""

import mmap
import sys

import pytest
from et_worker import memory

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
MIB = 1 << 20


def touch(size: int) -> mmap.mmap:
    """Map memory that is given back to the kernel for certain when closed, and touch it all."""
    block = mmap.mmap(-1, size)
    for offset in range(0, size, mmap.PAGESIZE):
        block[offset] = 1
    return block


def test_status_is_in_kib_and_read_as_bytes() -> None:
    text = (
        "Name:\tVmRSS: 1 kB\nVmHWM:\t  219504 kB\nVmRSS:\t   14788 kB\nVmLck:\t0 kB\nThreads:\t1\n"
    )
    assert memory.parse_status(text) == {"VmHWM": 219504 * 1024, "VmRSS": 14788 * 1024, "VmLck": 0}


def test_status_without_memory_is_empty() -> None:
    assert memory.parse_status("Name:\tkthreadd\nState:\tS (sleeping)\n") == {}


def test_a_sample_is_sane() -> None:
    now = memory.sample()
    assert MIB < now.rss_bytes <= now.peak_bytes
    assert now.locked_bytes == 0


@linux
def test_the_peak_keeps_what_was_given_back_until_it_is_reset() -> None:
    if memory.peak_source() != "VmHWM":
        pytest.skip("this kernel does not reset VmHWM")
    before = memory.sample().rss_bytes
    touch(64 * MIB).close()
    spiked = memory.sample()
    assert spiked.peak_bytes >= before + 60 * MIB
    assert spiked.rss_bytes < before + 30 * MIB

    assert memory.reset_peak()
    assert memory.sample().peak_bytes < before + 30 * MIB


def test_off_linux_the_peak_is_rusage(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(memory, "_CLEAR_REFS", tmp_path / "no" / "clear_refs")
    assert memory.peak_source() == "ru_maxrss"
    now = memory.sample()
    assert now.rss_bytes == now.peak_bytes > MIB


def test_a_kernel_that_refuses_the_reset_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    status = tmp_path / "status"
    status.write_text("VmHWM:\t 20 kB\nVmRSS:\t 10 kB\n")
    monkeypatch.setattr(memory, "_STATUS", status)
    monkeypatch.setattr(memory, "_CLEAR_REFS", tmp_path / "no" / "clear_refs")
    assert memory.peak_source() == "VmHWM-cumulative"
    assert memory.sample() == memory.Memory(10 * 1024, 20 * 1024, 0)
