"""The events file: whole lines, in order, readable at any moment."""

import json
import time
from pathlib import Path

import pytest
from et_worker.events import EventWriter


def lines(path: Path) -> list[dict]:
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_each_event_is_in_the_file_when_emit_returns(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = EventWriter(path)
    for count in range(1, 4):
        events.emit("enter", phase=f"p{count}")
        assert [line["phase"] for line in lines(path)] == [f"p{n}" for n in range(1, count + 1)]


def test_what_was_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "old"}\n')
    EventWriter(path).emit("new")
    assert [line["event"] for line in lines(path)] == ["old", "new"]


def test_time_counts_from_the_start_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    first = EventWriter(path)
    time.sleep(1)
    second = EventWriter(path)  # opened later, the same clock
    first.emit("one")
    second.emit("two")
    one, two = (line["t"] for line in lines(path))
    assert one > 0
    assert two == pytest.approx(one, abs=0.5)  # and not a second less


def test_text_is_one_line_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    EventWriter(path).emit("error", reason='a\nb\u2028"c"')
    (line,) = lines(path)
    assert line["reason"] == 'a\nb\u2028"c"'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_is_refused_and_nothing_is_written(tmp_path: Path, value: float) -> None:
    path = tmp_path / "events.jsonl"
    with pytest.raises(ValueError, match="JSON"):
        EventWriter(path).emit("result", mean=value)
    assert path.read_text() == ""
