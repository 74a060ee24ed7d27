"""What is known of a user's script without running it, and the cells it gives."""

import hashlib
from pathlib import Path

import pytest

from bench.config import load
from bench.errors import RequestError
from bench.jobs import as_export
from bench.plan import make_plan
from bench.script import read_script, unchanged

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPT = 'METHODS = ["look", "speak"]\nraise RuntimeError\ndef build(seed): ...\n'


# Ways to write a list of names that mean the same in Python.
WRITTEN = (
    'METHODS = ["a", "b"]',
    'METHODS = ("a", "b")',
    'METHODS: list[str] = ["a", "b"]',
    'METHODS: "Final" = ("a", "b")',
    'NAMES = METHODS = ["a", "b"]',
    'METHODS: list[str]\nMETHODS = ["a", "b"]',
)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SCRIPT)
    return path


def plan(*words: str):
    return make_plan(load(["model=script", "backend=xnnpack", *words]), "linux-x86_64")


@pytest.mark.parametrize(("name", "methods"), [("vocoder", ("vocode",)), ("encoder", ("forward",))])
def test_the_examples_are_scripts(name: str, methods: tuple[str, ...]) -> None:
    assert read_script(str(EXAMPLES / f"{name}.py")).methods == methods


@pytest.mark.parametrize("line", WRITTEN)
def test_its_methods_are_read_however_they_are_written(script: Path, line: str) -> None:
    script.write_text(f"{line}\ndef build(seed): ...\n")
    assert read_script(str(script)).methods == ("a", "b")


def test_its_methods_are_the_matrix_and_it_is_not_run(script: Path) -> None:
    jobs = plan(f"script={script}").jobs
    assert [job.cells[0].method for job in jobs] == ["export", "look", "speak"]
    assert {job.cells[0].model for job in jobs} == {"mine"}
    assert {job.source for job in jobs} == {str(script)}
    assert len({job.export_key for job in jobs}) == 1
    assert as_export(jobs[1]).source == str(script)


def test_a_cell_is_its_content_and_not_its_place(script: Path, tmp_path: Path) -> None:
    keys = [cell.key for cell in plan(f"script={script}").cells]
    (tmp_path / "other").mkdir()
    moved = script.rename(tmp_path / "other" / "mine.py")
    assert [cell.key for cell in plan(f"script={moved}").cells] == keys
    moved.write_text(SCRIPT + "# changed\n")
    assert not set(keys) & {cell.key for cell in plan(f"script={moved}").cells}


def test_a_resume_from_another_folder_finds_the_script(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(script.parent)
    assert f"script={script}" in load(["model=script", "script=mine.py"]).overrides


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=script"], "model=script and script=my_model.py go together"),
        (["script={path}"], "model=script and script=my_model.py go together"),
        (["model=script,tiny", "script={path}"], "by itself, not with other models"),
        (["model=script", "script=/no/such.py"], "No such file"),
        (["model=script", "script={path}", "method=encode"], "export, look, speak"),
        (["model=script", "script={path}", "precision=q4_k"], "mine takes fp32, int8, int4"),
        (["model=script", "script={path}", "samples=1000"], "mine takes no waveform"),
    ],
)
def test_what_does_not_fit_is_refused(script: Path, words: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        load([word.format(path=script) for word in words])


def test_a_program_is_as_its_neighbours_were(script: Path) -> None:
    (script.parent / "helper.py").write_text("x = 1")
    then = {"helper.py": hashlib.sha256(b"x = 1").hexdigest()}
    assert unchanged(script, {})
    assert unchanged(script, then)
    assert not unchanged(script, {**then, "gone.py": "0"})
    (script.parent / "helper.py").write_text("x = 2")
    assert not unchanged(script, then)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def build(seed:\n", r"mine.py, line 1: '\(' was never closed"),
        ("x = 1\n", r"has no function build\(seed\)"),
        ("METHODS = ['export']\ndef build(seed): ...\n", "must be a list of names"),
        ("METHODS = []\ndef build(seed): ...\n", "must be a list of names"),
        ("METHODS = ['a', 'a']\ndef build(seed): ...\n", "must be a list of names"),
        *(
            (f"METHODS = {value}\ndef build(seed): ...\n", "must be a list of names")
            for value in ("names()", "{['a']}", "{['a']: 1}", "{'a'}", "1", "[['a']]", "-'a'")
        ),
        ("\0", "mine.py"),
    ],
)
def test_what_is_no_script_says_what_is_missing(script: Path, text: str, message: str) -> None:
    script.write_text(text)
    with pytest.raises(RequestError, match=message) as error:
        read_script(str(script))
    assert "\n" not in str(error.value)
