"""Generate the Python files of MLX's schema, which Linux wheels lack.

The wheel carries the generator but not what it makes, nor the two C++ templates that it
fills beside the Python. It is run in a copy of its folder, with empty templates, and
the Python files are moved into place: nothing that exists is ever written to, because
an installed file may be a hard link into the installer's cache.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from pathlib import Path

from bench.environment.commands import Commands
from bench.errors import BuildError

_GENERATED = (
    "serialization/_generated",
    "serialization/_generated_serializers.py",
    "serialization/mlx_graph_schema.py",
)
_ALSO_GENERATED = ("_generated_inspector.py",)
_TEMPLATES = ("MLXLoader.h.tmpl", "MLXLoader.cpp.tmpl")


def needs_schema(executorch: Path) -> bool:
    """Tell whether this package has MLX's generator without what it generates."""
    mlx = executorch / "backends" / "mlx"
    generator = mlx / "serialization" / "generate.py"
    return generator.is_file() and not all((mlx / name).exists() for name in _GENERATED)


def generate_schema(commands: Commands, python: Path, executorch: Path, flatc: Path) -> None:
    """Put the generated Python files where ExecuTorch imports them from."""
    mlx = executorch / "backends" / "mlx"
    # Beside the package and not in it: the files are then moved within one file system.
    with tempfile.TemporaryDirectory(dir=commands.folder, prefix="mlx-schema-") as scratch:
        work = Path(scratch)
        shutil.copytree(mlx / "serialization", work / "serialization")
        (work / "runtime").mkdir()
        for name in _TEMPLATES:
            (work / "serialization" / name).touch()
        generator = work / "serialization" / "generate.py"
        commands.run("generating MLX's schema", [python, generator, "--flatc", flatc])
        missing = [name for name in _GENERATED if not (work / name).exists()]
        if missing or not any((work / _GENERATED[0]).rglob("*.py")):
            lacking = ", ".join(missing) or _GENERATED[0]
            raise BuildError(f"generating MLX's schema made no {lacking} (log: {commands.log})")
        for name in (*_GENERATED, *_ALSO_GENERATED):
            if (work / name).exists():
                _replace(work / name, mlx / name)


def _replace(new: Path, place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    shutil.move(new, place)


def make_executable(program: Path) -> None:
    """Give ``program`` its execute bit, without touching another link to the file."""
    mode = program.stat().st_mode
    if mode & stat.S_IXUSR:
        return
    copy = program.with_name(program.name + ".copy")
    shutil.copyfile(program, copy)
    copy.chmod(stat.S_IMODE(mode) | 0o755)
    copy.replace(program)
