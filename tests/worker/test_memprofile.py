"""MLX's memory profile, by lines that `mem_phase` of `backends/mlx/_memprofile.py` wrote."""

import json
import logging
from pathlib import Path

import pytest
from et_worker import memprofile
from et_worker.events import EventWriter
from et_worker.memprofile import Profiled, listen, parse

GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "[mem]   build: 42.84 GB -> 41.30 GB, -1.54 GB net, high-water 48.26 GB, "
            "RAISED PEAK by 5.42 GB, 24.4s",
            ("build", 1, 24.4, 41.30, 48.26, 5.42),
        ),
        (
            "[mem] ops_to_not_decompose: check_support: 20.10 GB -> 20.10 GB, +0.00 GB net, "
            "high-water 21.00 GB, 0.3s",
            ("ops_to_not_decompose: check_support", 0, 0.3, 20.10, 21.00, 0.0),
        ),
        (
            "[INFO 2026-11-30 21:07:54,960 _memprofile.py:171] [mem] preprocess[efec]: 1.00 GB -> "
            "2.00 GB, +1.00 GB net, high-water 2.50 GB, RAISED PEAK by 0.50 GB, 3.0s",
            ("preprocess[efec]", 0, 3.0, 2.00, 2.50, 0.50),
        ),
    ],
)
def test_a_phase_is_parsed_with_its_depth_and_what_it_raised(line: str, found: tuple) -> None:
    name, depth, seconds, end, peak, raised = found
    sizes = [round(size * GIB) for size in (end, peak, raised)]
    assert parse(line) == Profiled(name, depth, seconds, *sizes)


@pytest.mark.parametrize(
    "line",
    [
        "[mem] preprocess entry: 1.00 GB (high-water 2.00 GB)",
        "[mem] memory profiling disabled: proc_pid_rusage unavailable (non-macOS?)",
        "[mem] build: ? -> ?, ? net, high-water ?, 1.0s",
        "MLX: Found 1 subgraphs to be partitioned.",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert parse(line) is None


def test_what_the_logger_says_becomes_events(tmp_path: Path) -> None:
    logger = logging.getLogger(memprofile.LOGGER)
    logger.setLevel(logging.INFO)
    listen(EventWriter(tmp_path / "events"))
    try:
        logger.info("[mem] serialize: 1.00 GB -> 1.00 GB, +0.00 GB net, high-water 2.00 GB, 0.1s")
        logger.info("MLX: Found 1 subgraphs to be partitioned.")
    finally:
        logger.handlers.clear()
    (line,) = (tmp_path / "events").read_text().splitlines()
    assert json.loads(line)["name"] == "serialize"
