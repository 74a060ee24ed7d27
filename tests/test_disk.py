import errno
import os
from pathlib import Path

import pytest

from bench.disk import DiskError, blames_disk, check_room, writing
from tests.disks import files_of_at_most, small_disk


def test_the_folder_is_named_where_the_system_names_no_file(tmp_path: Path) -> None:
    with pytest.raises(DiskError) as caught, writing(tmp_path), files_of_at_most(10):
        (tmp_path / "x").write_bytes(bytes(100))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.filename is None
    assert str(caught.value) == f"{os.strerror(errno.EFBIG)}: {tmp_path}"
    assert caught.value.exit_code == 3


def test_what_is_no_fault_of_a_disk_goes_through(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ours"), writing(tmp_path):
        raise ValueError("ours")


def test_room_is_tried_for_real_and_nothing_stays(tmp_path: Path) -> None:
    check_room([tmp_path])
    assert not list(tmp_path.iterdir())
    with files_of_at_most(1000), pytest.raises(DiskError, match=str(tmp_path)):
        check_room([tmp_path])


def test_the_full_one_of_several_disks_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 64 * 1024) as small:
        with pytest.raises(DiskError) as caught:
            check_room([tmp_path, small])
        assert str(caught.value) == f"{os.strerror(errno.ENOSPC)}: {small}"


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("Traceback\nOSError: [Errno 28] No space left on device", "OSError: [Errno 28] No space"),
        ("error: failed to write: Disk quota exceeded (os error 122)\nmore", "error: failed to w"),
        ("RuntimeError: no kernel for this device", None),
        ("", None),
    ],
)
def test_a_program_that_says_so(log: str, line: str | None) -> None:
    found = blames_disk(log)
    assert found is None if line is None else found and found.startswith(line)
