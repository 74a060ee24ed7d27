"""What all starts of a bisection took, however they ended."""

from __future__ import annotations

from bisect.clock import Clock
from pathlib import Path

import pytest

from bench.results.record import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path)


def test_a_new_bisection_begins_at_zero(folder: RunFolder) -> None:
    assert 0 <= Clock(folder).seconds < 5


def test_a_start_goes_on_from_what_was_kept(folder: RunFolder) -> None:
    Clock(folder).keep(5000.0)
    assert 5000 <= Clock(folder).seconds < 5005


def test_a_start_that_was_killed_counts_up_to_its_last_measurement(folder: RunFolder) -> None:
    Clock(folder).keep(100.0)
    for seconds in (60.0, 120.0, 180.0):
        folder.append({"status": "ok", "elapsed_s": seconds})
    assert 180 <= Clock(folder).seconds < 185


def test_what_a_replayed_folder_of_an_older_version_lacks_counts_nothing(folder: RunFolder) -> None:
    folder.append({"status": "ok"})
    assert Clock(folder).seconds < 5
