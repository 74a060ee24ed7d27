"""What tests of several modules need."""

from pathlib import Path

import pytest

from tests.workers import Workers


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    root = tmp_path / "environment"
    root.mkdir()
    return Workers(root)
