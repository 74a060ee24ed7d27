"""Disks that have no room left."""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Refuse every write beyond ``size`` bytes of a file, here and in child processes (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def small_disk(folder: Path, size: int, *, read_only: bool = False) -> Iterator[Path]:
    """Mount a disk of ``size`` bytes; skip the test where we may not."""
    folder.mkdir()
    mount = shutil.which("mount")
    mode = f"size={size},{'ro' if read_only else 'rw'}"
    options = ["-t", "tmpfs", "-o", mode, "tmpfs", str(folder)]
    if not mount or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
