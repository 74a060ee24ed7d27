"""A lease lives as long as its process."""

import os
import subprocess

import psutil
import pytest

from bench.environment.leases import Leases


@pytest.fixture
def leases(tmp_path):
    return Leases(tmp_path / "leases")


def test_a_lease_is_active_until_it_is_dropped(leases):
    assert leases.active() == []
    leases.take()
    leases.take()
    assert leases.active() == [os.getpid()]
    leases.drop()
    leases.drop()
    assert leases.active() == []


def test_what_it_is_used_through_ends_on_its_own(leases):
    leases.take()
    leases.take("overlay-1.4.1-0123456789ab")
    assert leases.active() == [os.getpid()]
    leases.drop()
    assert leases.active() == [os.getpid()]
    leases.drop("overlay-1.4.1-0123456789ab")
    assert leases.active() == []


def test_another_process_holds_until_it_ends(leases):
    process = subprocess.Popen(["sleep", "60"])
    leases.folder.mkdir()
    lease = leases.folder / f"{process.pid}-{psutil.Process(process.pid).create_time():.2f}"
    lease.touch()
    assert leases.active() == [process.pid]
    process.kill()
    process.wait()
    assert leases.active() == []
    assert not lease.exists()


def test_a_number_that_was_given_to_another_process_holds_nothing(leases):
    leases.folder.mkdir()
    (leases.folder / f"{os.getpid()}-1000.00").touch()
    (leases.folder / "what-ever").touch()
    assert leases.active() == []
