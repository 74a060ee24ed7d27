"""What tests of several modules need."""

import signal
from pathlib import Path

import pytest

from tests.workers import Workers

# A shell that starts the tests in the background has them, and all they start, ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    root = tmp_path / "environment"
    root.mkdir()
    return Workers(root)
