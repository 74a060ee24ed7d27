"""The sampler, on real processes."""

import subprocess
import sys
import time

from bench.timeline import Point, Timeline, keep, thinned

MB = 2**20


def follow(code: str, seconds: float = 30) -> list[Point]:
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code])
    with Timeline(process.pid, began) as line:
        process.wait(seconds)
    return line.points


def test_memory_taken_and_given_back_is_seen() -> None:
    points = follow(
        "import mmap, time; time.sleep(0.2); m = mmap.mmap(-1, 100 << 20, flags=34)\n"
        "m.write(b'x' * (100 << 20)); time.sleep(0.3); m.close(); time.sleep(0.3)"
    )
    sizes = [point.rss_bytes for point in points]
    assert max(sizes) > sizes[-1] + 90 * MB
    assert max(sizes) > 100 * MB
    times = [point.t_s for point in points]
    assert times == sorted(set(times))
    if sys.platform == "linux":
        assert all(0 <= point.file_bytes <= point.rss_bytes for point in points)


def test_a_process_that_has_ended_ends_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    with Timeline(process.pid, time.monotonic()) as line:
        time.sleep(0.05)
    assert line.points == []


def test_only_changes_are_kept() -> None:
    points: list[Point] = []
    for t, rss in enumerate((5, 5, 7, 7, 5)):
        keep(points, Point(t, rss, None))
    assert [(p.t_s, p.rss_bytes) for p in points] == [(0, 5), (2, 7), (4, 5)]


def test_many_points_are_thinned_without_losing_the_peak() -> None:
    points: list[Point] = []
    for t in range(1000):
        keep(points, Point(t, 999 if t == 123 else t % 7, None), limit=100)
    assert len(points) <= 100
    assert max(points, key=lambda p: p.rss_bytes)[:2] == (123, 999)
    assert [p.t_s for p in points] == sorted(p.t_s for p in points)
    assert 0 < len(thinned(points, 10)) <= 10
