"""The user's binary: told by its help, known by its bytes, fed by the program's metadata."""

import json
from pathlib import Path

import pytest

from bench.config import load
from bench.errors import RequestError
from bench.executor_runner import changed, feeding, probe
from bench.plan import make_plan
from bench.pte import read_program
from tests.binaries import FLAGS, make_binary
from tests.bundle.bundles import make_folder

SMALL = Path(__file__).parent / "pte" / "small.pte"
LINUX = "linux-x86_64"


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    return make_binary(tmp_path / "my_runner")


@pytest.mark.parametrize("flags", [FLAGS, FLAGS[:2], (*FLAGS, "cpu_threads", "data_path")])
def test_a_binary_is_known_by_its_flags_and_its_bytes(tmp_path: Path, flags) -> None:
    path = make_binary(tmp_path / "my_runner", flags=flags)
    found = probe(str(path))
    assert set(found.flags) == set(flags) & set(FLAGS)
    assert found.label == f"my_runner@{found.sha256[:8]}"
    assert changed(found.fields) is None
    path.write_text(f"{path.read_text()}\n")
    assert "my_runner has changed: it was my_runner@" in (changed(found.fields) or "")
    path.unlink()
    assert "No such file" in (changed(found.fields) or "")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: "", "give the path of your executor_runner"),
        (lambda path: path / "none", "No such file"),
        (lambda path: path, "Is a directory"),
        (lambda path: script(path / "x", "#!/bin/sh\n", 0o644), "not executable"),
        (lambda path: script(path / "x", "\0\0"), "can't be started: Exec format error"),
        (lambda path: script(path / "x", "#!/none\n"), "can't be started: No such file"),
        (lambda path: script(path / "x", "#!/bin/sh\n"), "no --model_path and no --num_executions"),
        (
            lambda path: script(path / "x", "#!/bin/sh\necho x: libz.so.9: cannot open >&2\n"),
            "it says: x: libz.so.9: cannot open",
        ),
        (
            lambda path: make_binary(path / "x", flags=("model_path",)),
            "is no executor_runner: its --help has no --num_executions",
        ),
        (lambda path: script(path / "x", "#!/bin/sh\nsleep 60\n"), "no answer to --help"),
    ],
)
def test_what_is_no_executor_runner_is_one_line(tmp_path, make, message, monkeypatch) -> None:
    monkeypatch.setattr("bench.executor_runner._PATIENCE_S", 0.5 if "no answer" in message else 20)
    with pytest.raises(RequestError, match=r"runner\.path: ") as caught:
        probe(str(make(tmp_path)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_it_is_fed_the_largest_sizes_of_the_metadata() -> None:
    program = read_program(str(SMALL))
    fed = feeding(program, "look_up")
    assert isinstance(fed, dict)
    assert [(each["dtype"], each["shape"]) for each in fed["inputs"]] == [
        ("int64", [9]),
        ("bool", []),
        ("int", []),
    ]
    assert fed["outputs"][0] == ["float32", [9, 4]]
    assert fed["first"] == "encode"
    assert feeding(program, "decode") == "the program has no method decode"


def words(binary: Path, *more: str) -> list[str]:
    return ["backend=xnnpack", "runner=executor_runner", f"runner.path={binary}", *more]


def test_its_cells_are_those_of_its_bytes_wherever_it_lies(binary: Path, tmp_path: Path) -> None:
    def keys(*more: str) -> list[str]:
        return [cell.key for cell in make_plan(load(words(*more)), LINUX).cells]

    before = keys(binary, "method=encode")
    again = binary.rename(tmp_path / "elsewhere")
    assert keys(again, "method=encode") == before
    assert keys(make_binary(tmp_path / "o", takes=1), "method=encode") != before


def test_it_is_a_runtime_of_its_own_and_one_process_for_each_count(binary: Path) -> None:
    request = load(words(binary, "method=encode", "iterations=5,20", "runtime=v1.4.1,v1.5.1"))
    (job,) = make_plan(request, LINUX).jobs  # whatever revisions are named: they run nothing
    assert job.request["marks"] == [5, 20]
    assert {cell.runtime for cell in job.cells} == {probe(str(binary)).label}
    assert {cell.load_mode for cell in job.cells} == {"own"}
    assert (job.revision, job.exporter) == ("v1.4.1", "v1.4.1")
    assert job.own_runner and job.own_runner["path"] == str(binary)
    assert "path" not in str(job.request)


def test_other_sizes_than_the_largest_are_unsupported(binary: Path) -> None:
    jobs = make_plan(load(words(binary, "method=encode,decode", "samples=16000")), LINUX).jobs
    assert {job.unsupported for job in jobs} == {
        "executor_runner takes the largest sizes only: samples=480000"
    }
    given = [f"pte={SMALL}", "inputs=look_up:0=5", *words(binary)[1:]]
    reasons = {job.cells[0].method: job.unsupported for job in make_plan(load(given), LINUX).jobs}
    assert reasons == {
        "encode": None,
        "look_up": "executor_runner takes the largest sizes only: leave out inputs=",
    }


def test_a_bundle_of_the_largest_sizes_is_fed_its_own_values(binary: Path, tmp_path: Path) -> None:
    manifest = make_folder(tmp_path / "bundle")
    image = {"name": "image", "dtype": "float32", "shape": [1, 3, 32, 32], "fill": "spread"}
    image |= {"scale": 0.1, "high": 0, "value": None, "file": "small.pte"}
    image["sha256"] = manifest["program"]["sha256"]
    manifest["methods"] = {"encode": {"inputs": [image]}}
    (tmp_path / "bundle" / "manifest.json").write_text(json.dumps(manifest))
    given = [f"pte={tmp_path / 'bundle'}", "method=encode", *words(binary)[1:]]
    (job,) = make_plan(load(given), LINUX).jobs
    assert job.unsupported is None
    assert job.request["inputs"][0]["scale"] == 0.1


def test_beside_other_runners_each_takes_its_own_fields(binary: Path) -> None:
    both = ["runner=native,executor_runner", f"runner.path={binary}", "runner.load_mode=buffer"]
    request = load(["backend=xnnpack", "method=encode", *both])
    native, own = (choice.runner for choice in request.choices)
    assert native == {"name": "native", "load_mode": "buffer"}
    assert own["path"] == str(binary)
    assert f"runner.path={binary}" in request.overrides


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("runner=python runner.path=x", "runner: 'path' is not one of load_mode"),
        ("runner=executor_runner", "runner.path: give the path"),
        ("runner=executor_runner runner.load_mode=mmap", "'load_mode' is not one of path"),
        ("runner=executor_runner runner.path=BINARY timeline=on", "timeline: not of runner=exec"),
    ],
)
def test_what_does_not_go_with_a_runner(binary: Path, given: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        load(["backend=xnnpack", *given.replace("BINARY", str(binary)).split()])
