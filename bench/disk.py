"""A disk that is full is no finding about a cell: it ends the command, and names the folder."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.errors import EtPeakError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FAULTS = frozenset((*_FULL, errno.EIO, errno.EROFS))
"""What the operating system says where the fault is the disk's, and not a path's."""
_ROOM = 2**18
"""Bytes: what a worker says of itself is less than this."""


class DiskError(EtPeakError):
    """Something could not be written. Exit code 3: what was written before is kept."""


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Name the folder where a write fails: ``OSError.filename`` often is None.

    Raises:
        DiskError: in place of any OSError.

    """
    try:
        yield
    except OSError as error:
        raise DiskError(f"{error.strerror or error}: {folder}") from error


def blames_disk(text: str) -> str | None:
    """Return the line in which a program says that its disk was full; None where none does."""
    words = [os.strerror(number) for number in _FULL]
    return next((line for line in text.splitlines() if any(w in line for w in words)), None)


def check_room(folders: Iterable[Path]) -> None:
    """Write a little to each folder, and remove it.

    Raises:
        DiskError: where that fails.

    """
    for folder in folders:
        with writing(folder), tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM))
            file.flush()
            os.fsync(file.fileno())
