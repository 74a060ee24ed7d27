import json
from pathlib import Path

import pytest

from bench.disk import DiskError
from bench.errors import RequestError
from bench.results.record import RunFolder, check_out, list_runs, write_whole
from tests.disks import files_of_at_most, small_disk


def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path)
    made.write("request.json", json.dumps({"overrides": ["model=tiny"]}))
    return made


def test_records_come_back_in_order(tmp_path: Path) -> None:
    run = folder(tmp_path)
    for number in range(3):
        run.append({"n": number, "status": "ok"})
    assert [r["n"] for r in run.records()] == [0, 1, 2]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_last_line_is_dropped_and_overwritten(tmp_path: Path, cut: int) -> None:
    run = folder(tmp_path)
    run.append({"n": 0, "status": "ok"})
    run.append({"n": 1, "status": "ok"})
    raw = run.path / "raw.jsonl"
    raw.write_bytes(raw.read_bytes()[:-cut])
    assert [r["n"] for r in run.records()] == [0]
    run.append({"n": 2, "status": "ok"})
    assert [r["n"] for r in run.records()] == [0, 2]


def test_find(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no run 'latest' .*there are none yet"):
        RunFolder.find(tmp_path, "latest")
    run = folder(tmp_path)
    assert RunFolder.find(tmp_path, "latest") == RunFolder.find(tmp_path, run.id) == run
    for name in ("nope", "..", "../x", ""):
        with pytest.raises(RequestError, match=f"known: latest, {run.id}"):
            RunFolder.find(tmp_path, name)


def test_a_run_killed_before_its_request_was_written_is_no_run(tmp_path: Path) -> None:
    RunFolder.create(tmp_path)
    assert list_runs(tmp_path) == []


def test_two_controllers_in_one_run(tmp_path: Path) -> None:
    run = folder(tmp_path)
    with run.lock(), pytest.raises(RequestError, match="measured by another process"):
        run.lock()
    with run.lock():
        pass


@pytest.mark.parametrize("kind", ["file", "below a file", "proc", "too long"])
def test_a_place_for_no_folder_is_a_wrong_request(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("")
    out = {
        "file": tmp_path / "file",
        "below a file": tmp_path / "file" / "runs",
        "proc": Path("/proc/runs"),
        "too long": tmp_path / ("x" * 300),
    }[kind]
    with pytest.raises(RequestError, match=r"^out: "):
        RunFolder.create(out)


def test_a_folder_that_may_only_be_read_is_refused_before_anything(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    refused = pytest.raises(RequestError, match=f"nothing can be written to {disk}")
    with small_disk(disk, 4096, read_only=True), refused:
        check_out(disk / "a" / "b")


def test_looking_at_a_place_makes_nothing(tmp_path: Path) -> None:
    check_out(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


def test_what_a_run_still_lacks(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path)
    run.write("request.json", json.dumps({"jobs": {"k1": "tiny export", "k2": "tiny encode"}}))
    assert run.missing() == ["tiny export", "tiny encode"]
    run.append({"job_key": "k1", "status": "failed"})
    assert run.missing() == ["tiny encode"]
    run.write("request.json", "[]")
    with pytest.raises(RequestError, match=r"no readable request\.json"):
        run.missing()


def test_a_record_that_finds_no_room_is_not_there_and_the_others_are(tmp_path: Path) -> None:
    run = folder(tmp_path)
    run.append({"n": 0, "status": "ok"})
    with files_of_at_most(2000), pytest.raises(DiskError, match=str(run.path)):
        run.append({"n": 1, "status": "ok", "events": ["x" * 3000]})
    assert [r["n"] for r in run.records()] == [0]
    run.append({"n": 2, "status": "ok"})
    assert [r["n"] for r in run.records()] == [0, 2]


def test_write_whole_leaves_nothing_behind(tmp_path: Path) -> None:
    write_whole(tmp_path / "deep" / "a.csv", "one")
    write_whole(tmp_path / "deep" / "a.csv", "two")
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.csv"]
    assert (tmp_path / "deep" / "a.csv").read_text() == "two"


def test_reading_never_writes(tmp_path: Path) -> None:
    run = folder(tmp_path)
    run.append({"n": 0, "status": "ok"})
    raw = run.path / "raw.jsonl"
    half = raw.read_bytes() + b'{"n": 1, "sta'  # another controller is in the middle of a line
    raw.write_bytes(half)
    assert len(run.records()) == 1
    assert raw.read_bytes() == half


@pytest.mark.parametrize("line", ["garbage", "[1]", "{}", ""])
def test_a_line_in_the_middle_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    run = folder(tmp_path)
    (run.path / "raw.jsonl").write_text(f'{{"status": "ok"}}\n{line}\n{{"status": "ok"}}\n')
    with pytest.raises(RequestError, match="line 2 is no record"):
        run.records()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"overrides": null}', '{"overrides": [1]}'])
def test_a_request_that_is_none_is_one_line(tmp_path: Path, text: str) -> None:
    run = folder(tmp_path)
    (run.path / "request.json").write_text(text)
    with pytest.raises(RequestError, match=r"no readable request\.json"):
        run.read("overrides")
