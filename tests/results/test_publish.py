"""``nox -s publish``: of a run that is not finished it says what is missing."""

import json
from pathlib import Path

import pytest

from bench.packages import FOLDER, packages_hash
from bench.results.__main__ import main
from bench.results.record import RunFolder
from tests.results.test_rows import CELL, record

JOBS = {f"k{n}": f"tiny fp32 xnnpack {n}" for n in range(5)}


def run(out: Path, done: int) -> RunFolder:
    """Make the folder of a run that was interrupted after so many measurements."""
    folder = RunFolder.create(out)
    folder.write("request.json", json.dumps({"overrides": [], "cells": [], "jobs": JOBS}))
    for key in [*JOBS][:done]:  # and no measurements.csv: the records are the truth
        cells = [{**CELL, "key": key}]
        folder.append({**record(cells=cells), "job_key": key})
    return folder


def publish(tmp_path: Path, *words: str) -> int:
    return main(["table", *words, f"out={tmp_path}/runs", f"to={tmp_path}/to"])


def test_a_finished_run_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "runs", 5)
    assert publish(tmp_path) == 0
    assert capsys.readouterr().out == f"{tmp_path}/to/table.csv: 5 rows of 1 run\n"


def test_a_run_named_twice_is_one_and_a_name_may_be_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tmp_path / "runs", 5)
    places = [f"out={tmp_path}/runs", f"to={tmp_path}/to"]
    assert main(["table.csv", folder.id, "latest", *places]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/to/table.csv: 5 rows of 1 run\n"


def test_the_lists_of_packages_go_with_the_table(tmp_path: Path) -> None:
    """Only those that its rows have the hash of, and that others could install."""
    folder = run(tmp_path / "runs", 4)
    texts = ("executorch==1.4.1\n", "a==1\n", "a @ file:///home/me/a.whl\n")
    for number, text in enumerate(texts):
        folder.write(f"packages-{number}.txt", text)
    for text in (texts[0], texts[2]):
        cells = [{**CELL, "key": text}]
        folder.append(
            {**record(cells=cells), "job_key": "k4", "packages_hash": packages_hash(text)}
        )
    assert publish(tmp_path) == 0
    (kept,) = (tmp_path / "to" / FOLDER).iterdir()
    assert kept.name == f"{packages_hash(texts[0])}.txt"
    assert kept.read_text() == texts[0]


@pytest.mark.parametrize("flags", [[], ["--partial"]])
def test_of_a_run_without_anything_nothing_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    folder = run(tmp_path / "runs", 0)
    assert publish(tmp_path, "latest", *flags) == 2
    assert capsys.readouterr().err == (
        f"et-peak: run {folder.id} is not finished, it lacks tiny fp32 xnnpack 0, "
        "tiny fp32 xnnpack 1, tiny fp32 xnnpack 2 and 2 more: finish it with "
        f"nox -s bench -- resume={folder.id} out={tmp_path}/runs\n"
    )
    assert not (tmp_path / "to").exists()


def test_what_is_missing_is_named_with_both_ways_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tmp_path / "runs", 3)
    assert publish(tmp_path, "latest") == 2
    err = capsys.readouterr().err
    assert "it lacks tiny fp32 xnnpack 3, tiny fp32 xnnpack 4: finish it with" in err
    assert f"resume={folder.id}" in err
    assert "or publish what there is with --partial (3 measurements)" in err
    assert publish(tmp_path, "latest", "--partial") == 0
    assert "3 rows of 1 run" in capsys.readouterr().out


def test_one_unfinished_of_several_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, half = run(tmp_path / "runs", 5), run(tmp_path / "runs", 1)
    assert publish(tmp_path, whole.id, half.id) == 2
    assert f"run {half.id} is not finished" in capsys.readouterr().err


def test_a_wrong_place_is_a_wrong_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "runs", 5)
    (tmp_path / "to").write_text("")
    assert publish(tmp_path) == 2
    assert capsys.readouterr().err == f"et-peak: to: {tmp_path}/to is no folder\n"
