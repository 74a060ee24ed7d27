"""Paths are meant from where the person stands; our own are the repository's."""

import os
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from bench.command import run_command
from bench.config import _PATHS, lasting_word, load
from bench.errors import RequestError
from bench.place import ROOT, expanded, lasting, ours
from tests import commands


def start(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start a command as nox does: in the repository, with the name of another folder."""
    return commands.start(*words, ET_PEAK_CACHE=tmp_path / "cache", ET_PEAK_CWD=tmp_path)


# Each refuses a place below a file that is there only where the person stands.
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bench out=file/runs", "{here}/file is no folder"),
        ("bench model=script script=file", "file"),
        ("bench pte=file", "pte: file is empty"),
        ("bench repo=clone commit=main", "clone is no git repository"),
        ("bench.perf environments repo=clone", "clone is no git repository"),
        ("bench.results name to=file/tables", "{here}/file is no folder"),
        ("bench.revision A..B run=latest out=runs", "no finished measurement"),
        ("bench.report runs=runs only", "'only' is no run, table or file (runs in runs: begun"),
        ("bench.report.compare noise=file a b runs=runs", "(runs in runs: begun"),
        ("bench.report.readme --check --file file", "file: up to date"),
        ("bench.ingest file to=elsewhere", "file: "),
        ("bisect encode_peak repo=clone good=a bad=b", "clone is no git repository"),
    ],
)
def test_a_relative_path_is_from_where_the_person_stands(
    tmp_path: Path, words: str, said: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "clone").mkdir()
    (tmp_path / "runs" / "begun").mkdir(parents=True)
    (tmp_path / "runs" / "begun" / "request.json").write_text("{}")
    done = start(tmp_path, *words.split())
    assert said.format(here=tmp_path) in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


NOBODY = "~no.such.user/x"


@pytest.mark.parametrize(
    "words",
    [
        *(f"bench.cli {key}={NOBODY} --dry-run" for key in (*_PATHS, "pte", "commit", "runtime")),
        f"bench.cli model=script script={NOBODY}",
        f"bench.cli model=gguf gguf={NOBODY}",
        f"bench.cli runner=executor_runner runner.path={NOBODY}",
        f"bench.perf environments repo={NOBODY}",
        f"bench.report.__main__ {NOBODY}",
        f"bench.report.__main__ runs={NOBODY}",
        f"bench.report.compare runs={NOBODY} a b",
        f"bench.revision.__main__ A..B out={NOBODY}",
        f"bench.results.__main__ name to={NOBODY}",
        f"bench.bundle.__main__ model=tiny to={NOBODY}",
        f"bench.ingest.__main__ {NOBODY}",
        f"bench.ingest.__main__ phone.csv to={NOBODY}",
        f"bench.rerun.__main__ table.csv:2 runs={NOBODY}",
        f"bisect.__main__ encode_peak repo={NOBODY}",
    ],
)
def test_a_home_of_nobody_is_one_line_exit_2(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module, *argv = words.split()
    assert import_module(module).main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("et-peak: ")
    assert said.err.endswith("there is no user 'no.such.user'\n")
    assert said.err.count("\n") == 1


def test_a_home_that_is_not_known_is_refused_by_the_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert expanded("~/x") == Path.home() / "x"
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(RequestError, match=r"^out: '~/x': no home folder is known \(set HOME\)$"):
        expanded("~/x", "out")


def test_from_elsewhere_the_default_is_the_repositorys(tmp_path: Path) -> None:
    done = start(tmp_path, "bench", "--cfg", "job")
    assert f"out: {ROOT}/results/runs\n" in done.stdout
    done = start(tmp_path, "bench.report", "whisper-tiny-nowhere")
    assert f"runs in {ROOT}/results/runs" in done.stderr


def test_one_goes_back_once_and_no_child_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)  # undone afterwards
    monkeypatch.setenv("ET_PEAK_CWD", str(tmp_path))

    def work(_argv: list[str], _console: Console) -> int:
        assert Path.cwd() == tmp_path
        assert "ET_PEAK_CWD" not in os.environ
        return 7

    assert run_command(work, []) == 7
    monkeypatch.setenv("ET_PEAK_CWD", str(tmp_path / "gone"))
    assert run_command(work, []) == 3
    assert capsys.readouterr().err == f"et-peak: No such file or directory: {tmp_path}/gone\n"


def test_ours_is_short_where_one_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert ours("results/runs") == Path("results/runs")
    assert load([]).out == Path("results/runs")
    monkeypatch.chdir(tmp_path)
    assert ours("results/runs") == load([]).out == ROOT / "results/runs"
    assert load(["out=results/runs"]).out == Path("results/runs")


@pytest.mark.parametrize("key", [*_PATHS, "pte"])
def test_every_path_that_is_kept_means_the_same_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lasting_word(f"{key}=../x") == f"{key}={tmp_path}/../x"
    assert lasting_word(f"{key}=~/x") == f"{key}={Path.home()}/x"


def test_what_is_no_path_stays() -> None:
    for address in ("https://example.org/a.git", "git@example.org:a/b.git", ""):
        assert lasting(address) == address
    assert lasting_word("model=tiny") == "model=tiny"
