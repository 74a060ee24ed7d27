"""MLX's schema files are made without writing to anything that was installed."""

import os
import sys
from pathlib import Path

import pytest

from bench.environment.commands import Commands
from bench.environment.mlx_schema import generate_schema, make_executable, needs_schema
from bench.errors import BuildError

# Does what the real one does, in its order: Python, then the C++ from the templates.
GENERATOR = """
import sys
from pathlib import Path

here = Path(__file__).parent
assert sys.argv[1] == "--flatc" and Path(sys.argv[2]).exists()
(here / "_generated" / "mlx_delegate").mkdir(parents=True)
(here / "_generated" / "mlx_delegate" / "Tid.py").write_text("tid")
(here.parent / "runtime" / "schema_generated.h").write_text("h")
(here / "mlx_graph_schema.py").write_text("graph")
(here / "_generated_serializers.py").write_text("serializers")
(here / "MLXLoader.h.tmpl").read_text()
(here / "MLXLoader.cpp.tmpl").read_text()
(here.parent / "_generated_inspector.py").write_text("inspector")
(here / "_generated" / "__init__.py").write_text("init")
"""


@pytest.fixture
def flatc(tmp_path):
    program = tmp_path / "flatc"
    program.write_text("#!/bin/sh\n")
    return program


def package(tmp_path, generator=GENERATOR):
    mlx = tmp_path / "executorch" / "backends" / "mlx"
    (mlx / "serialization").mkdir(parents=True)
    (mlx / "serialization" / "generate.py").write_text(generator)
    (mlx / "serialization" / "schema.fbs").write_text("schema")
    return tmp_path / "executorch"


def build(tmp_path):
    folder = tmp_path / "build"
    folder.mkdir(exist_ok=True)
    return Commands(folder)


def test_the_python_files_are_put_in_place(tmp_path, flatc):
    executorch = package(tmp_path)
    assert needs_schema(executorch)
    commands = build(tmp_path)
    generate_schema(commands, Path(sys.executable), executorch, flatc)
    mlx = executorch / "backends" / "mlx"
    assert (mlx / "serialization" / "_generated" / "mlx_delegate" / "Tid.py").is_file()
    assert (mlx / "serialization" / "_generated" / "__init__.py").is_file()
    assert (mlx / "serialization" / "mlx_graph_schema.py").read_text() == "graph"
    assert (mlx / "_generated_inspector.py").read_text() == "inspector"
    assert not needs_schema(executorch)
    # No templates or C++ of ours are left behind, and no scratch folder.
    assert not [*mlx.rglob("*.tmpl"), *mlx.rglob("*.h")]
    assert [path.name for path in commands.folder.iterdir()] == ["build.log"]


def test_a_file_that_is_linked_into_a_cache_is_not_written_to(tmp_path, flatc):
    executorch = package(tmp_path)
    installed = executorch / "backends/mlx/serialization/mlx_graph_schema.py"
    installed.write_text("old")
    cached = tmp_path / "cached.py"
    os.link(installed, cached)
    generate_schema(build(tmp_path), Path(sys.executable), executorch, flatc)
    assert installed.read_text() == "graph"
    assert cached.read_text() == "old"


def test_a_generator_that_fails_is_a_failed_build(tmp_path, flatc):
    executorch = package(tmp_path, "raise ValueError('bad schema')\n")
    with pytest.raises(BuildError, match="generating MLX's schema failed: ValueError: bad schema"):
        generate_schema(build(tmp_path), Path(sys.executable), executorch, flatc)


def test_a_generator_that_makes_nothing_is_a_failed_build(tmp_path, flatc):
    executorch = package(tmp_path, "")
    with pytest.raises(BuildError, match=r"made no .*_generated"):
        generate_schema(build(tmp_path), Path(sys.executable), executorch, flatc)


def test_a_release_without_mlx_needs_nothing(tmp_path):
    (tmp_path / "executorch").mkdir()
    assert not needs_schema(tmp_path / "executorch")


def test_the_execute_bit_is_given_to_a_copy(tmp_path, flatc):
    cached = tmp_path / "cached"
    flatc.chmod(0o644)
    os.link(flatc, cached)
    make_executable(flatc)
    assert os.access(flatc, os.X_OK)
    assert not cached.stat().st_mode & 0o111
    assert flatc.read_text() == cached.read_text()


def test_what_is_executable_stays_the_same_file(flatc):
    flatc.chmod(0o755)
    before = flatc.stat().st_ino
    make_executable(flatc)
    assert flatc.stat().st_ino == before
