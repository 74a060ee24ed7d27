"""A bundle from a request, with real processes for workers; it is whole or not there."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from bench.bundle.__main__ import UnbundledError, bundle, main
from bench.bundle.manifest import NAME, SUMS, read_manifest
from bench.config import load
from bench.errors import Exit, RequestError
from bench.request import Request
from tests.test_session import Revisions

WRITES = """
if request["task"] == "inputs":
    name = request["method"] + "-0.bin"
    open(os.path.join(request["folder"], name), "wb").write(bytes(4))
    say("result", inputs=[{"name": "waveform", "dtype": "float32", "shape": [1], "file": name}])
    sys.exit(0)
"""


@pytest.fixture
def revisions(tmp_path: Path) -> Revisions:
    (tmp_path / "environment").mkdir()
    return Revisions(tmp_path / "environment", WRITES)


def make(revisions: Revisions, *words: str, **own: str) -> int:
    return told(revisions, *words, **own)[0]


def told(revisions: Revisions, *words: str, **own: str) -> tuple[int, str]:
    request: Request = load([*words, "iterations=1"])
    text = io.StringIO()
    code = bundle(request, own, revisions, Console(file=text, width=100))  # type: ignore[arg-type]
    return code, text.getvalue()


def test_it_has_the_program_the_inputs_and_what_they_give(revisions, tmp_path, capsys) -> None:
    target = tmp_path / "to"
    code, shown = told(revisions, "backend=xnnpack", to=str(target))
    assert code == Exit.OK and "encode: 1 input\n" in shown
    manifest = read_manifest(target)  # which checks every file
    assert manifest["program"]["file"] == "tiny-fp32-xnnpack.pte"
    assert {*manifest["methods"]} == {"encode", "decode"}
    (waveform,) = manifest["methods"]["encode"]["inputs"]
    assert (waveform["file"], waveform["bytes"]) == ("encode-0.bin", 4)
    expected = manifest["methods"]["encode"]["expected"]
    assert (expected["status"], expected["output_sha"]) == ("ok", "abc")
    assert manifest["exporter"] == "v1.4.1"
    assert manifest["command"].startswith("nox -s bundle -- backend=xnnpack")
    assert "iterations" not in manifest["command"]
    assert (target / SUMS).read_text().count("\n") == 3
    assert f"nox -s bench -- pte={target}\n" in capsys.readouterr().out
    # What was exported before is not exported again.
    assert revisions.started.count("export") == 1
    assert make(revisions, "backend=xnnpack", to=str(tmp_path / "again")) == Exit.OK
    assert revisions.started.count("export") == 1


def test_where_a_program_does_not_run_the_bundle_says_why(revisions, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("bench.bundle.__main__.host", lambda: "linux-x86_64")
    code, said = told(revisions, "backend=mlx", "method=encode", to=str(tmp_path / "to"))
    assert code == Exit.OK
    assert "encode: outputs are not known: unsupported: mlx programs run on darwin-arm64" in said
    method = read_manifest(tmp_path / "to")["methods"]["encode"]
    assert method["expected"]["status"] == "unsupported"
    assert "run on darwin-arm64 only" in method["expected"]["reason"]
    assert len(method["inputs"]) == 1


@pytest.mark.parametrize(
    ("mischief", "words", "status"),
    [
        ("sys.exit(3)", [], "failed"),
        ("time.sleep(60)", ["timeout_s=5"], "timeout"),
        ("say('peak', peak_bytes=400 * MB)", ["memory_cap=350MB"], "over_memory"),
    ],
)
def test_a_run_that_did_not_end_well_is_said_and_is_exit_3(
    revisions, tmp_path, mischief, words, status
) -> None:
    revisions.behave(f"{WRITES}\nif task == 'encode': {mischief}")
    code, said = told(revisions, "backend=xnnpack", *words, to=str(tmp_path / "to"))
    assert code == Exit.UNDECIDED
    assert f"encode: outputs are not known: {status}: " in said
    assert "decode: outputs" not in said
    methods = read_manifest(tmp_path / "to")["methods"]  # all else is there
    assert methods["encode"]["expected"]["status"] == status
    assert methods["decode"]["expected"]["status"] == "ok"


@pytest.mark.parametrize("methods", [["method=encode"], ["method=export"], []])
def test_a_precision_without_recipe_is_refused_before_anything_is_built(
    revisions, tmp_path, methods
) -> None:
    words = ["model=tiny", "precision=int8", "backend=portable", *methods]
    with pytest.raises(RequestError, match="portable has no int8 recipe"):
        make(revisions, *words, to=str(tmp_path / "to"))
    assert revisions.asked == revisions.started == []


def test_a_model_that_is_only_exported_is_a_program_alone(revisions, tmp_path) -> None:
    words = ("model=kquant", "precision=q4_k", "backend=mlx", "model.layers=1")
    assert make(revisions, *words, to=str(tmp_path / "to")) == Exit.OK
    assert read_manifest(tmp_path / "to")["methods"] == {}


@pytest.mark.parametrize("task", ["export", "inputs"])
def test_what_cannot_be_made_leaves_what_was_there(revisions, tmp_path, task) -> None:
    target = tmp_path / "to"
    make(revisions, "backend=xnnpack", to=str(target))
    before = (target / NAME).read_text()
    revisions.behave(f"if request['task'] == {task!r}: os._exit(1)\n{WRITES}")
    with pytest.raises(
        UnbundledError, match="no program to bundle" if task == "export" else "no inp"
    ):
        make(revisions, "backend=xnnpack", "seed=1", to=str(target), replace="yes")
    assert (target / NAME).read_text() == before
    assert {path.name for path in tmp_path.iterdir()} == {"environment", "to"}


def test_a_folder_that_is_there_is_replaced_only_where_that_was_said(revisions, tmp_path) -> None:
    target = tmp_path / "to"
    make(revisions, "backend=xnnpack", to=str(target))
    with pytest.raises(RequestError, match="is there already; give another to=, or replace=yes"):
        make(revisions, "backend=xnnpack", to=str(target))
    make(revisions, "backend=xnnpack", "seed=1", to=str(target), replace="yes")
    assert json.loads((target / NAME).read_text())["seed"] == 1
    other = tmp_path / "mine"
    other.mkdir()
    with pytest.raises(RequestError, match="is no bundle: it is not replaced"):
        make(revisions, "backend=xnnpack", to=str(other), replace="yes")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["precision=fp32,int8"], "a bundle is one program, run by one runtime: no comma lists"),
        (["runtime=v1.4.1,v1.5.1"], "no comma lists"),
        (["commit=v1.4.1,v1.5.1"], "no comma lists"),
        (["pte=x"], "pte: of nox -s bench only"),
        (["runner.path=x"], "runner.path: of nox -s bench only"),
        (["to="], "to: the value is empty"),
        (["replace=no"], "replace: 'no' is not yes"),
        (["model=enormous"], "model: 'enormous' is not one of tiny"),
    ],
)
def test_what_is_wrong_is_one_line_exit_2(words, message, capsys) -> None:
    assert main(words) == Exit.BAD_REQUEST
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
