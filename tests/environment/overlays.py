"""A repository laid out as ExecuTorch's, and the wheel that its build would make of it."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.environment.git_tree import GitTree
from bench.environment.overlay import build_overlay
from bench.environment.overlay_recipe import OverlayRecipe
from bench.environment.store import Store
from bench.environment.wheel import site_packages
from tests.environment.fakes import FakeRecipe, fake_environment

GENERATE = """
import sys
from pathlib import Path
here = Path(__file__).parent
for template in ("MLXLoader.h.tmpl", "MLXLoader.cpp.tmpl"):
    (here / template).read_text()
text = "SCHEMA = %r\\n" % (here / "schema.fbs").read_text()
(here / "_generated").mkdir()
(here / "_generated" / "__init__.py").write_text(text)
(here / "_generated_serializers.py").write_text(text)
(here / "mlx_graph_schema.py").write_text(text)
(here.parent / "_generated_inspector.py").write_text(text)
"""
MLX = "backends/mlx/serialization"
LINKS = ("backends", "data", "devtools", "exir", "schema")
SOURCES = {
    "version.txt": "1.4.1\n",
    "README.md": "Read me.\n",
    "setup.py": "# not in the package\n",
    "exir/__init__.py": "VALUE = 1\n",
    "exir/emit.py": "from executorch.exir import VALUE\n",
    "exir/emit.pyi": "VALUE: int\n",
    "exir/py.typed": "",
    "exir/old.py": "OLD = True\n",
    "exir/emit.cpp": "int main() {}\n",
    "exir/test/test_emit.py": "import no_such_thing\n",
    "schema/program.fbs": "table Program {}\n",
    "schema/scalar_type.fbs": "enum ScalarType {}\n",
    "devtools/bundled_program/schema/bundled_program_schema.fbs": "table Bundled {}\n",
    "devtools/bundled_program/schema/scalar_type.fbs": "enum Scalar {}\n",
    "backends/__init__.py": "",
    "backends/ops.yaml": "- op: add\n",
    "backends/arm/vgf/shaders/relu.glsl": "void main() {}\n",
    "backends/arm/vgf/shaders/relu.spirv.b64": "AAAA\n",
    f"{MLX}/generate.py": GENERATE,
    f"{MLX}/schema.fbs": "table Mlx {}\n",
    "data/bin/__init__.py": "# the repository's own\n",
}
NATIVE = {
    "exir/_native.so": "native code",
    "data/bin/__init__.py": "# the wheel's own\n",
    "data/bin/flatc": "#!/bin/sh\n",
    "include/executorch/runtime.h": "int run();\n",
    "share/cmake/config.yaml": "native: yes\n",
    "exir/third-party/json/json.py": "JSON = 2\n",
}
COPIES = {
    "schema/program.fbs": "exir/_serialize/program.fbs",
    "schema/scalar_type.fbs": "exir/_serialize/scalar_type.fbs",
    "devtools/bundled_program/schema/bundled_program_schema.fbs": (
        "devtools/bundled_program/serialize/bundled_program_schema.fbs"
    ),
    "devtools/bundled_program/schema/scalar_type.fbs": (
        "devtools/bundled_program/serialize/scalar_type.fbs"
    ),
}
GENERATED = {
    "backends/mlx/_generated_inspector.py",
    f"{MLX}/_generated/__init__.py",
    f"{MLX}/_generated_serializers.py",
    f"{MLX}/mlx_graph_schema.py",
}
NOT_PACKAGED = (".cpp", ".txt", ".md", "setup.py")


def git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A"),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.com"),
        },
    )
    return done.stdout.strip()


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@dataclass(frozen=True)
class Repository:
    """A repository to commit to."""

    path: Path

    @classmethod
    def make(cls, path, sources=None):
        path.mkdir()
        git(path, "init", "--quiet")
        write(path, SOURCES if sources is None else sources)
        links = path / "src" / "executorch"
        links.mkdir(parents=True)
        for name in LINKS:
            (links / name).symlink_to(f"../../{name}")
        submodule = path / "exir" / "third-party" / "json"
        write(submodule, {"json.py": "JSON = 1\n"})
        git(submodule, "init", "--quiet")
        cls(submodule).commit()
        return cls(path)

    def commit(self, changes=None):
        """Commit ``changes`` (a None deletes the file) and whatever else was changed."""
        for path, text in (changes or {}).items():
            if text is None:
                (self.path / path).unlink()
            else:
                write(self.path, {path: text})
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--allow-empty", "-m", "change")
        return git(self.path, "rev-parse", "HEAD")

    @property
    def head(self):
        return git(self.path, "rev-parse", "HEAD")

    def tree(self, sha):
        return GitTree(self.path / ".git", sha)


def packaged(sources):
    """What the build takes from the repository."""
    package = {path: text for path, text in sources.items() if not path.endswith(NOT_PACKAGED)}
    package |= {place: sources[source] for source, place in COPIES.items()}
    return package | NATIVE


def read_package(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def build_wheel(installed_from):
    """A builder: hard links from a cache into an interpreter's packages, as uv does."""
    if not installed_from.exists():
        write(installed_from, packaged(SOURCES) | {"version.py": "git_version = None\n"})

    def build(recipe, folder, say):
        environment = fake_environment(recipe, folder)
        environment.python.unlink()
        environment.python.symlink_to(Path(sys.executable).resolve())
        home = Path(sys.base_exec_prefix) / "bin"
        (folder / "venv" / "pyvenv.cfg").write_text(f"home = {home}\n")
        script = f"#!{environment.python}\nimport sys\nprint(sys.prefix)\n"
        (environment.bin / "tool").write_text(script)
        (environment.bin / "tool").chmod(0o755)
        site = site_packages(folder / "venv")
        for path in read_package(installed_from):
            place = site / "executorch" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.hardlink_to(installed_from / path)
        write(
            site,
            {
                "torch/__init__.py": "",
                "executorch-1.4.1.dist-info/METADATA": "Name: executorch\nVersion: 1.4.1\n",
            },
        )
        command = ["-m", "compileall", "-q", "-x", r"[/\\]test[/\\]", site]
        subprocess.run([environment.python, *command], check=True)
        return replace(environment, torch="2.13.0+cpu")

    return build


BASE = FakeRecipe(label="1.4.1")


def make_store(folder):
    builders = {"wheel": build_wheel(folder / "installer-cache"), "overlay": build_overlay}
    return Store(folder / "store", builders)


def overlay(tree):
    return OverlayRecipe(BASE, tree, "a test")


def read_version(package):
    """The version of a package, without its build, and the names its version file defines."""
    lines = (package / "version.py").read_text().splitlines()
    (given,) = [line for line in lines if line.startswith("__version__")]
    version = given.split('"')[1].partition("+")[0]
    return version, [line.partition("=")[0] for line in lines]
