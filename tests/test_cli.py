"""What a person meets at the command line: one line for every mistake, nothing built."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def bench(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ET_PEAK_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"},
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("modle=small", "et-peak: option: 'modle' is not one of model, precision"),
        ("precision=bf17", "et-peak: precision: 'bf17' is not one of fp32, fp16, bf16, int8, int4"),
        ("iterations=0", "et-peak: iterations: 0 is out of range (1 or more)"),
        ("commit=v9.9.9", "et-peak: commit: 'v9.9.9' "),
        ("samples=10", "et-peak: samples: 10 is out of range (401 to 480000)"),
        ("memory_cap=lots", "et-peak: memory_cap: 'lots' is not a size"),
        ("model=tiny,,small", "et-peak: model: there is an empty value"),
        ("commit=--upload-pack=x", "et-peak: commit: '--upload-pack=x' starts with '-'"),
        ("--upload-pack=x", "et-peak: unrecognized arguments: --upload-pack=x"),
        ("--cfg=all", "et-peak: argument --cfg: invalid choice: 'all'"),
        ("model.n_audio_head=7", "et-peak: model.n_audio_head: 7 does not divide n_audio_state"),
        ("rung=nightly", "et-peak: rung: a nightly is made of a commit, and v1.4.1 is a release"),
        ("resume=nope", "et-peak: no run 'nope'"),
        ("backend.name=x", "et-peak: backend.name: fields of model and runner"),
    ],
)
def test_a_wrong_request_is_one_line_exit_2(tmp_path: Path, words: str, message: str) -> None:
    done = bench(tmp_path, *words.split(), f"out={tmp_path / 'runs'}")
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
def test_a_wrong_out_is_refused_before_anything(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "file").write_text("")
    done = bench(tmp_path, *flags, f"out={tmp_path / 'file' / 'runs'}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"et-peak: out: {tmp_path / 'file'} is no folder\n"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("width", [60, 80])
def test_a_file_is_as_wide_as_columns_says(tmp_path: Path, width: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--dry-run", f"out={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"ET_PEAK_CACHE": str(tmp_path / "cache"), "COLUMNS": str(width)},
    )
    table = [line for line in done.stdout.splitlines() if line.startswith(" ")]
    assert table
    assert max(map(len, table)) <= width


@pytest.mark.parametrize("flag", ["--help", "--cfg job", "--dry-run"])
def test_looking_builds_nothing(tmp_path: Path, flag: str) -> None:
    done = bench(tmp_path, *flag.split(), "model=tiny,base", f"out={tmp_path / 'runs'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())


def test_dry_run_names_cells_environments_and_an_estimate(tmp_path: Path) -> None:
    done = bench(
        tmp_path, "--dry-run", "backend=mlx", "commit=v1.4.1,v1.5.1", "method=export,encode"
    )
    assert "tiny fp32 mlx export @ v1.4.1" in done.stdout
    assert "environment v1.5.1: wheel 1.5.1" in done.stdout
    assert "to be built" in done.stdout
    assert "by a rough rule" in done.stdout


def test_help_lists_every_choice(tmp_path: Path) -> None:
    from bench.compose import CONF, GROUPS, group_choices
    from bench.config import VALUES

    text = bench(tmp_path, "--help").stdout
    for name in (
        *GROUPS,
        *VALUES,
        *(choice for group in GROUPS for choice in group_choices(group)),
        *(path.stem for path in (CONF / "experiment").glob("*.yaml")),
    ):
        assert name in text


def test_cfg_job_is_yaml_with_the_overrides(tmp_path: Path) -> None:
    import yaml

    content = yaml.safe_load(
        bench(tmp_path, "--cfg", "job", "precision=bf16,int8", "repeats=3").stdout
    )
    assert [c["precision"]["name"] for c in content["choices"]] == ["bf16", "int8"]
    assert content["repeats"] == 3
