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


def steps(events: Path) -> dict[str, dict[str, int]]:
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    return {line["name"]: line for line in lines if line["event"] == "step"}


def test_a_step_sums_up_its_calls_and_the_phase_keeps_its_peak(
    phases: Phases, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Read at the baseline, then before and after each call, then at the end of the phase.
    readings(monkeypatch, 501, 600, 700, 650, 900, 660)
    phases.baseline(threads=1)
    with phases.phase("lower"):
        for _ in range(2):
            with phases.step("repack"):
                pass
    assert phases.peak_bytes() == 900
    found = steps(events)["repack"]
    assert (found["phase"], found["calls"], found["peak_bytes"]) == ("lower", 2, 900)
    assert found["raised_bytes"] == (700 - 600) + (900 - 700)


def test_a_step_has_the_peaks_of_the_steps_within_it(
    phases: Phases, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings(monkeypatch, 501, 510, 520, 800, 610, 600)
    phases.baseline(threads=1)
    with phases.phase("lower"), phases.step("outer"), phases.step("inner"):
        pass
    found = steps(events)
    assert (found["outer"]["peak_bytes"], found["outer"]["raised_bytes"]) == (800, 290)
    assert (found["inner"]["peak_bytes"], found["inner"]["raised_bytes"]) == (800, 280)


def test_a_step_below_an_earlier_peak_raised_nothing(
    phases: Phases, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings(monkeypatch, 501, 900, 700, 800, 800)
    phases.baseline(threads=1)
    with phases.phase("build"):
        pass
    with phases.phase("lower"), phases.step("check"):
        pass
    assert steps(events)["check"]["raised_bytes"] == 0
    assert phases.peak_bytes() == 900


def test_a_step_that_raises_is_counted_and_one_outside_any_phase_is_not(
    phases: Phases, events: Path
) -> None:
    with phases.step("nowhere"):
        pass
    with phases.phase("lower"), pytest.raises(ValueError, match="no"), phases.step("build"):
        raise ValueError("no")
    assert {name: step["calls"] for name, step in steps(events).items()} == {"build": 1}


def test_the_real_mark_sees_a_step_and_the_phase_around_it(phases: Phases, events: Path) -> None:
    if memory.peak_source() != "VmHWM":
        pytest.skip("the high-water mark can't be reset here")
    size = 64 << 20
    with phases.phase("lower"):
        with phases.step("large"):
            large = bytearray(b"x") * size
            del large
        with phases.step("small"):
            pass
    found = steps(events)
    assert found["large"]["raised_bytes"] > size * 0.9
    assert found["small"]["raised_bytes"] == 0
    assert found["small"]["peak_bytes"] < found["large"]["peak_bytes"] - size * 0.5
    assert phases.peak_bytes() == found["large"]["peak_bytes"]
