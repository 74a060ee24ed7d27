"""Phases as events, and the peak over them."""

import json
from pathlib import Path

import pytest
from et_worker import memory
from et_worker.events import EventWriter
from et_worker.phases import Phases


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def phases(events: Path) -> Phases:
    return Phases(EventWriter(events))


def readings(monkeypatch: pytest.MonkeyPatch, *peaks: int) -> None:
    values = iter(peaks)

    def sample() -> memory.Memory:
        peak = next(values)
        return memory.Memory(rss_bytes=peak - 1, peak_bytes=peak, locked_bytes=0)

    monkeypatch.setattr(memory, "sample", sample)
    monkeypatch.setattr(memory, "reset_peak", lambda: True)


def test_a_phase_says_when_it_begins_and_what_it_took(phases: Phases, events: Path) -> None:
    with phases.phase("lower"):
        assert json.loads(events.read_text())["event"] == "enter"
    enter, done = (json.loads(line) for line in events.read_text().splitlines())
    assert (enter["event"], enter["phase"]) == ("enter", "lower")
    assert (done["event"], done["name"]) == ("phase", "lower")
    assert done["seconds"] >= 0
    assert 0 < done["rss_bytes"] <= done["peak_bytes"]


def test_the_peak_is_over_the_phases_since_the_baseline(
    phases: Phases, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings(monkeypatch, 900, 501, 700, 600, 800)
    with phases.phase("import"):
        pass  # 900, before the baseline: not the model's
    phases.baseline(threads=1)
    assert (phases.baseline_bytes, phases.peak_bytes()) == (500, 500)
    with phases.phase("first"):
        pass
    with phases.phase("loop"):
        pass
    assert phases.peak_bytes() == 700
    assert phases.peak_bytes_now() == 800


def test_a_phase_that_raises_is_left_open_and_named(phases: Phases, events: Path) -> None:
    with pytest.raises(RuntimeError), phases.phase("write"):
        raise RuntimeError("disk full")
    assert phases.current == "write"
    assert [json.loads(line)["event"] for line in events.read_text().splitlines()] == ["enter"]
