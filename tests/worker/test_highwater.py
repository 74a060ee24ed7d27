"""Who held the memory, as memray tells it: read off real captures of small processes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import memray
import pytest
from et_worker.highwater import bare, native_symbol, trim

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"
TOOLS = Path(memray.__file__).resolve().parents[1]
MB = 10**6

HOLDER = """
def hold(size):
    return [make(size) for _ in range(2)]


def make(size):
    return b"x" * size
"""
SCRIPT = """
import sys
from pathlib import Path
from et_worker.events import EventWriter
from et_worker.highwater import ExplainedPhases
from executorch.holder import hold

folder, until = Path(sys.argv[1]), sys.argv[2] or None
told = {"tools": sys.argv[3], "capture": str(folder / "capture.bin"), "until": until}
phases = ExplainedPhases(EventWriter(folder / "events.jsonl"), told)
with phases.phase("import"):
    before = hold(50_000_000)
phases.baseline(threads=1)
with phases.phase("build"):
    kept = hold(10_000_000)
    freed = hold(2_000_000)
    del freed
with phases.phase("lower"):
    more = hold(30_000_000)
del before, kept, more
phases.report()
"""


@pytest.fixture
def held(tmp_path: Path) -> Any:
    package = tmp_path / "packages" / "executorch"
    package.mkdir(parents=True)
    (package / "holder.py").write_text(HOLDER)

    def run(until: str) -> dict[str, Any]:
        path = os.pathsep.join([str(ROOT), str(package.parent)])
        command = [sys.executable, "-P", "-c", SCRIPT, str(tmp_path), until, str(TOOLS)]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True, timeout=120)
        lines = (tmp_path / "events.jsonl").read_text().splitlines()
        return json.loads(lines[-1])

    return run


@pytest.mark.parametrize(("until", "size"), [("", 80), ("lower", 80), ("build", 24)])
def test_the_mark_is_of_what_came_after_the_baseline_up_to_a_phase(
    held: Any, until: str, size: int
) -> None:
    event = held(until)
    assert event["event"] == "held"
    assert event["total_bytes"] == pytest.approx(size * MB, rel=0.02)
    largest = event["sites"][0]
    assert largest["frames"][0][:2] == largest["leaf"][:2] == ["make", "executorch/holder.py"]
    assert largest["frames"][1][:2] == ["hold", "executorch/holder.py"]  # no <listcomp>
    assert largest["native"] == "bytes_repeat"
    assert sum(site["bytes"] for site in event["sites"]) <= event["total_bytes"]


C = ("Objects/call.c", 1)
PYTHON = ("f", "/site/executorch/a.py", 7)


@pytest.mark.parametrize(
    ("native", "name"),
    [
        (["c10::alloc_cpu(unsigned long)", "at::native::clone(at::Tensor const&)",
          "torch::autograd::THPVariable_clone(_object*, _object*)"],
         "torch::autograd::THPVariable_clone"),
        (["c10::alloc_cpu(unsigned long)", "torch::autograd::THPVariable_mul(_object*)",
          "_object* torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::"
          "THPVariable_mul>(_object*, _object*, _object*)"],
         "torch::autograd::THPVariable_mul"),
        (["default_malloc", "PyDataMem_UserNEW", "array_empty", "_PyObject_MakeTpCall"],
         "array_empty"),
        (["_PyObject_Malloc", "PyBytes_FromStringAndSize"], "PyBytes_FromStringAndSize"),
        (["_PyObject_ArenaMmap", "new_arena", "_PyObject_Malloc", "c10::clone(int)"],
         "_PyObject_ArenaMmap"),
        (["at::native::clone(int)", "<unknown>"], "at::native::clone"),
        (["<unknown>"], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_the_native_function_is_what_python_called(native: list[str], name: str) -> None:
    stack = [(symbol, "<unknown>", 0) for symbol in native]
    plumbing = [("cfunction_call", *C), ("trace_call_function", "Python/ceval.c", 1)]
    below = [("main", "<unknown>", 0)]
    assert native_symbol([*stack, *plumbing[: bool(native)], PYTHON, *below], [PYTHON]) == name


def test_a_thread_without_python_is_named_by_its_work() -> None:
    stack = [("mkl_serv_allocate", "", 0), ("mkl_blas_sgemm._omp_fn.2", "", 0)]
    start = [("gomp_thread_start", "", 0), ("start_thread", "", 0), ("clone3", "", 0)]
    assert native_symbol([*stack, *start], []) == "mkl_blas_sgemm._omp_fn.2"


def test_a_long_template_is_cut() -> None:
    assert bare("at::(anonymous namespace)::f(int)") == "at::f"
    assert bare("std::vector<int>::resize(unsigned long)") == "std::vector"
    assert len(bare("x" * 1000)) == 120


def test_files_are_named_from_the_nearest_package_folder() -> None:
    stack = [
        ("clone", "/env/site/torch/nn/parameter.py", 79),
        ("<listcomp>", "/env/site/executorch/exir/a.py", 5),
        ("inner", "/env/site/executorch/exir/a.py", 5),
        *[("outer", "/env/site/executorch/exir/b.py", n) for n in range(9)],
        ("run_export", "/worker/et_worker/export.py", 3),
    ]
    leaf, frames = trim(stack, ["/env", "/env/site/", "", "/worker"])
    assert leaf == ("clone", "torch/nn/parameter.py", 79)
    assert frames[0] == ("inner", "executorch/exir/a.py", 5)
    assert len(frames) == 4
    assert trim([], []) == (None, ())
    assert trim(stack[-1:], ["/worker"]) == (("run_export", "et_worker/export.py", 3), ())
