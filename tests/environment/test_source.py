"""A repository's own build, for real: a small package that CMake builds, with a submodule."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from bench.environment import Store, recipe_for
from bench.environment import source as source_module
from bench.environment.installer import pick_installer
from bench.environment.source import (
    SourceBuild,
    build_source,
    build_variables,
    failing_line,
    source_recipe,
)
from bench.errors import BuildError
from bench.machine import usable_cores
from bench.repository import open_repository
from tests.test_repository import Clone

PYPROJECT = """
[build-system]
requires = ["scikit-build-core>=0.10"]
build-backend = "scikit_build_core.build"
[project]
name = "executorch"
version = "1.9.0"
[tool.scikit-build]
wheel.packages = ["src/executorch"]
ninja.version = ">=1.5"
"""
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(small C)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
option(SMALL_LOUD "say it loudly" OFF)
Python_add_library(_small MODULE WITH_SOABI small.c third-party/answer/answer.c)
if(SMALL_LOUD)
  target_compile_definitions(_small PRIVATE LOUD)
endif()
install(TARGETS _small DESTINATION executorch)
"""
SMALL = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
int answer(void);
static PyObject *get(PyObject *self, PyObject *args) { return PyLong_FromLong(answer() * FACTOR); }
static PyMethodDef methods[] = {{"get", get, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_small", "", -1, methods};
PyMODINIT_FUNC PyInit__small(void) { return PyModule_Create(&module); }
"""
LOUD = "#ifdef LOUD\n#define FACTOR 100\n#else\n#define FACTOR 1\n#endif\n"
PIN = 'TORCH_VERSION = "0.0.1"\n'


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """The package with its submodule, which git may fetch from a folder here."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    module = Clone(tmp_path / "answer")
    (module.path / "answer.c").write_text("int answer(void) { return 42; }\n")
    module.commit("the answer")
    made = Clone(tmp_path / "clone")
    made.git("submodule", "--quiet", "add", module.path.as_uri(), "third-party/answer")
    package = made.path / "src" / "executorch"
    package.mkdir(parents=True)
    (package / "version.py").write_text("git_version = 'unknown'\n")
    for name, text in {
        "pyproject.toml": PYPROJECT,
        "CMakeLists.txt": CMAKE,
        "small.c": LOUD + SMALL,
        "torch_pin.py": PIN,
    }.items():
        (made.path / name).write_text(text)
    made.good = made.commit("a package")
    (made.path / "small.c").write_text(LOUD + SMALL.replace("return PyLong", "retrun PyLong"))
    made.bad = made.commit("a slip")
    return made


@pytest.fixture
def build(tmp_path, monkeypatch):
    """ExecuTorch's own settings, but for its CMake options; and no worker's requirements."""
    from tests.environment.test_nightly import write_wheel

    write_wheel(tmp_path / "links", "torch", "0.0.1", {"torch/__init__.py": ""})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    like = recipe_for("1.4.1", torch="0.0.1")
    fields = {**like.__dict__, "requirements": (), "without_dependencies": ()}
    monkeypatch.setattr(source_module, "recipe_for", lambda *_, **__: type(like)(**fields))
    path = tmp_path / "build.yaml"
    text = source_module.CONF.read_text()
    head, _, tail = text.partition("cmake:\n")
    options = "cmake:\n  SMALL_LOUD: 'ON'\n"
    path.write_text(head + options + tail[tail.index("# In the root") :])
    return SourceBuild.load(path)


def ensure(clone, sha, build, tmp_path, said=print):
    opened = open_repository(str(clone.path), tmp_path / "cache", print)
    recipe = source_recipe(opened.common_dir, sha, lambda path: opened.read(sha, path), build)
    assert recipe.torch == "0.0.1"
    builders = {"source": lambda r, folder, say: build_source(r, folder, say, pick_installer())}
    return Store(tmp_path / "store", builders).ensure(recipe, said)


@pytest.mark.integration
def test_a_commit_is_built_with_its_submodule_and_options(clone, build, tmp_path):
    said = []
    before = clone.git("for-each-ref") + clone.git("status", "--porcelain")
    environment = ensure(clone, clone.good, build, tmp_path, said.append)
    code = "from executorch import _small; print(_small.get())"
    output = subprocess.run([environment.python, "-c", code], capture_output=True, text=True)
    assert output.stdout == "4200\n", output.stderr
    assert (environment.rung, environment.label) == ("source", clone.good[:10])
    assert (environment.git_sha, environment.torch) == (clone.good, "0.0.1")
    assert environment.why == f"built from source at {clone.good[:10]} with torch 0.0.1"
    assert not (environment.root / "source").exists()
    assert "-DSMALL_LOUD=ON" in (environment.root / "build.log").read_text()
    assert clone.git("for-each-ref") + clone.git("status", "--porcelain") == before
    assert len(said) < 10


@pytest.mark.integration
def test_what_does_not_compile_is_said_with_the_line(clone, build, tmp_path):
    with pytest.raises(BuildError) as caught:
        ensure(clone, clone.bad, build, tmp_path)
    message = str(caught.value)
    assert "small.c:" in message
    assert "error:" in message
    assert "\n" not in message
    log = tmp_path / "store"
    (kept,) = log.glob("source-*/build.log")
    assert str(kept) in message
    assert "retrun" in kept.read_text()


def test_a_submodule_that_cannot_be_fetched_is_said(clone, build, tmp_path):
    (tmp_path / "answer").rename(tmp_path / "gone")
    with pytest.raises(BuildError) as caught:
        ensure(clone, clone.good, build, tmp_path)
    assert "answer" in str(caught.value)
    assert "checking out" in str(caught.value)


def test_the_build_key_has_all_that_decides_and_no_place(clone, build, tmp_path):
    opened = open_repository(str(clone.path), tmp_path / "cache", print)

    def key(sha=clone.good, build=build, git_dir=opened.common_dir):
        return source_recipe(git_dir, sha, lambda path: opened.read(sha, path), build).build_key

    assert key() == key(git_dir=tmp_path)
    others = {
        key(),
        key(clone.bad),
        key(build=replace(build, cmake={"A": "ON"})),
        key(build=replace(build, environment={"A": "1"})),
    }
    assert len(others) == 4


PINS = {
    "of today": {"torch_pin.py": 'TORCH_VERSION = "2.13.0"\n# NIGHTLY_VERSION = "dev1"\n'},
    "of a nightly": {"torch_pin.py": 'TORCH_VERSION = "2.11.0"\nNIGHTLY_VERSION = "dev20251222"\n'},
    "of a release": {
        "install_requirements.py": '("torch==2.10.0" if use_pytorch_nightly else "torch"),',
        "torch_pin.py": 'TORCH_VERSION = "2.11.0"\nNIGHTLY_VERSION = "dev20251222"\n',
    },
    "of before": {
        "install_requirements.py": 'NIGHTLY_VERSION = "dev20250725"\nx = [\n'
        '    f"torch==2.9.0.{NIGHTLY_VERSION}" if use_pytorch_nightly else "torch",\n'
    },
    "of none": {},
}


def test_the_torch_that_a_commit_pins_is_found():
    build = SourceBuild.load()
    found = {name: build.pinned_torch(files.get) for name, files in PINS.items()}
    assert found == {
        "of today": "2.13.0",
        "of a nightly": "2.11.0.dev20251222",
        "of a release": "2.10.0",
        "of before": "2.9.0.dev20250725",
        "of none": None,
    }


def test_the_variables_of_the_build(tmp_path, monkeypatch):
    build = SourceBuild.load()
    python = tmp_path / "bin" / "python"
    given = {"PATH": str(tmp_path), "CMAKE_ARGS": "-DMINE=1"}
    found = build_variables(build, given, python)
    assert found["PATH"].split(os.pathsep)[0] == str(python.parent)
    assert "-DEXECUTORCH_BUILD_CUDA=OFF" in found["CMAKE_ARGS"]
    assert found["CMAKE_ARGS"].endswith(" -DMINE=1")
    assert "CMAKE_C_COMPILER_LAUNCHER" not in found
    (tmp_path / "ccache").symlink_to(sys.executable)
    assert build_variables(build, given, python)["CMAKE_CXX_COMPILER_LAUNCHER"].endswith("ccache")


def test_a_build_is_as_wide_as_the_person_says_or_the_cores_that_may_be_used(tmp_path):
    build, python = SourceBuild.load(), tmp_path / "python"
    name = "CMAKE_BUILD_PARALLEL_LEVEL"
    for given in ({}, {name: ""}):
        assert build_variables(build, given, python)[name] == str(usable_cores())
    assert build_variables(build, {name: "3"}, python)[name] == "3"
    decided = replace(build, environment={name: "5"})
    assert build_variables(decided, {name: "3"}, python)[name] == "5"


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("[1/2] x\na/b.cpp:3:1: error: no\nninja: stopped\nerror: subprocess failed",
         "a/b.cpp:3:1: error: no"),
        ("CMake Error at CMakeLists.txt:3 (find_package):\n  By not providing\n\nmore",
         "CMake Error at CMakeLists.txt:3 (find_package): By not providing"),
        ("x.o: undefined reference to `y'\ncollect2: error", "x.o: undefined reference to `y'"),
        ("fatal: unable to access 'https://me:pw@h/x/'\n", "fatal: unable to access 'https://***@h/x/'"),
        ("Traceback\n  ModuleNotFoundError: No module named 'yaml'\nerror: x",
         "ModuleNotFoundError: No module named 'yaml'"),
        ("all is well", None),
    ],
)  # fmt: skip
def test_the_failing_line_is_the_one_the_others_follow_from(log, line):
    assert failing_line(log) == line


@pytest.mark.parametrize(
    "name",
    [
        *("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MACOSX_DEPLOYMENT_TARGET"),
        *("CMAKE_ARGS", "CMAKE_GENERATOR", "CMAKE_PREFIX_PATH", "EXECUTORCH_BUILD_MLX"),
    ],
)
def test_a_variable_that_changes_the_build_is_in_its_key(tmp_path, name):
    def recipe(**given):
        return source_recipe(tmp_path, "a" * 40, lambda _path: None, SourceBuild.load(), given)

    one, two = recipe(**{name: "one"}), recipe(**{name: "two"})
    plain = recipe(HOME="/x", CMAKE_C_COMPILER_LAUNCHER="ccache", CMAKE_BUILD_PARALLEL_LEVEL="2")
    assert len({one.build_key, two.build_key, plain.build_key}) == 3
    assert plain.build_key == recipe().build_key
    assert one.why.endswith(f", {name}=one")
    fixed = replace(SourceBuild.load(), environment={name: "ours"})
    given = {name: "theirs"}
    assert not source_recipe(tmp_path, "a" * 40, lambda _path: None, fixed, given).variables
