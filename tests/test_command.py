"""All commands refuse, explain and end alike."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.command import Parser, resumable, run_command
from bench.disk import DiskError
from bench.errors import RequestError
from tests import commands

COMMANDS = (
    *("bench", "bench.environment", "bench.results", "bench.report.readme", "bench.perf"),
    *("bench.revision", "bench.rerun", "bench.bundle"),
    *("bisect", "bisect.calibration"),
)


def start(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return commands.start(*words, ET_PEAK_CACHE=tmp_path / "c", ET_PEAK_RESULTS=tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_word_is_one_line_exit_2(tmp_path: Path, command: str) -> None:
    done = start(tmp_path, command, "--no-such-flag")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("et-peak: ")
    assert not done.stderr.startswith("et-peak: error")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_on_stdout_and_does_nothing(tmp_path: Path, command: str) -> None:
    done = start(tmp_path, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "benchmark: '' is not one of environments, steadiness, calibration"),
        ("steadines", "did you mean steadiness?"),
        ("steadiness again", "steadiness: takes no 'again'"),
        ("environments", "environments: takes repo=PATH"),
        ("environments repo=x y", "environments: takes repo=PATH"),
        ("calibration --slow", "unrecognized arguments: --slow"),
    ],
)
def test_wrong_words_of_perf(tmp_path: Path, words: str, message: str) -> None:
    done = start(tmp_path, "bench.perf", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RequestError("wrong"), 2, "et-peak: wrong\n"),
        (DiskError("No space left on device: /x"), 3, "et-peak: No space left on device: /x\n"),
        (PermissionError(13, "Permission denied", "/x"), 3, "et-peak: Permission denied: /x\n"),
        (KeyboardInterrupt(), 130, "et-peak: stopped\n"),
    ],
)
def test_every_end_is_one_line(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    def work(_argv: list[str], _console: Console) -> int:
        raise error

    assert run_command(work, [], "stopped") == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("end", "code", "why"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (DiskError("No space: /x"), 3, "No space: /x"),
        (RequestError("wrong"), 2, "wrong"),
        (PermissionError(13, "Permission denied", "/x"), 3, "Permission denied: /x"),
    ],
)
def test_what_ends_early_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], end: Any, code: int, why: str
) -> None:
    assert resumable(end, "command resume=1") == code
    expected = f"et-peak: {why}; what was measured is kept. Go on with: command resume=1\n"
    assert capsys.readouterr().err == expected


def test_a_closed_pipe_is_left_to_who_can_deal_with_it() -> None:
    with pytest.raises(BrokenPipeError):
        resumable(BrokenPipeError(), "command")


def test_a_parser_with_a_description_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser("see --help", prog="nox -s x --", description="What it does.")
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["--help"])
    assert end.value.code == 0
    assert "What it does." in capsys.readouterr().out
    with pytest.raises(RequestError, match="unrecognized arguments: --x"):
        Parser("see --help").parse_args(["--x"])
