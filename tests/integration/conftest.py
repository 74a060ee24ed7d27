"""One real environment (ExecuTorch 1.4.1) and one real run of tiny Whisper, for all tests here.

The caches of the session are its own: nothing a test does reaches the user's. Test processes that
run side by side (pytest-xdist) share them, as two commands of one user do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from filelock import FileLock

from bench.environment import Environment, Store, recipe_for
from bench.environment.inventory import package_of
from bench.environment.overlay_plan import is_mlx_generated, is_source
from tests.environment.overlays import git, read_version

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("model.n_audio_layer=1", "model.n_text_layer=1", "model.n_vocab=2000")
"""A Whisper of one block each side: an export takes seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the test processes side by side have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def once(shared: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first process to ask for it fills, while the others wait."""
    folder = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not folder.exists():
            make(shared / f"{name}.new")
            (shared / f"{name}.new").rename(folder)
    return folder


@pytest.fixture(scope="session")
def cache(shared: Path) -> Path:
    (shared / "cache").mkdir(exist_ok=True)
    return shared / "cache"


@pytest.fixture(scope="session")
def environment(cache: Path) -> Environment:
    store = Store(cache / "environments")
    return store.ensure(recipe_for("1.4.1"), lambda line: print(line))


# The wheel's files that the repository has elsewhere, and where.
COPIED = {
    "exir/_serialize/program.fbs": "schema/program.fbs",
    "exir/_serialize/scalar_type.fbs": "schema/scalar_type.fbs",
}


@pytest.fixture(scope="session")
def repository(environment, tmp_path_factory):
    """What the repository must have had for this wheel to be built from it."""
    root = tmp_path_factory.mktemp("executorch")
    package = package_of(environment)
    links = root / "src" / "executorch"
    links.mkdir(parents=True)
    for folder in package.iterdir():
        if folder.is_dir() and folder.name not in ("__pycache__", "include", "share", "lib"):
            shutil.copytree(folder, root / folder.name, ignore=not_committed(package))
            (links / folder.name).symlink_to(f"../../{folder.name}")
    for place, source in COPIED.items():
        (root / place).rename(root / source)
    (root / "version.txt").write_text(read_version(package)[0])
    git(root, "init", "--quiet")
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "-m", "release")
    return root


def not_committed(package):
    def ignored(folder, names):
        relative = Path(folder).relative_to(package)
        paths = {name: str(relative / name) for name in names}
        return {
            name
            for name, path in paths.items()
            if name == "__pycache__"
            or is_mlx_generated(path if "." in name else f"{path}/")
            or ("." in name and not is_source(path) and (Path(folder) / name).is_file())
        }

    return ignored


Bench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def bench(cache: Path, environment: Environment) -> Bench:
    """Run ``python -m bench`` from the repository root, as nox does."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bench", *words],
            cwd=ROOT,
            env=os.environ | {"ET_PEAK_CACHE": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def tiny_run(bench: Bench, shared: Path) -> Path:
    """The README's command: tiny fp32, every method. Returns the run's folder."""

    def make(out: Path) -> None:
        relative = os.path.relpath(out, ROOT)  # as the default is: a path from where one stands
        done = bench("model=tiny", "precision=fp32", "backend=xnnpack", f"out={relative}")
        assert done.returncode == 0, done.stdout + done.stderr

    (request,) = once(shared, "tiny_run", make).glob("*/request.json")
    return request.parent


@pytest.fixture(scope="session")
def small_run(bench: Bench, shared: Path) -> Path:
    """Every method of the small Whisper on XNNPACK, one after the other. Returns its folder."""

    def make(out: Path) -> None:
        done = bench(*SMALL, "iterations=1,2", "backend=xnnpack", f"out={out}")
        assert done.returncode == 0, done.stdout + done.stderr

    (request,) = once(shared, "small_run", make).glob("*/request.json")
    return request.parent


@pytest.fixture(scope="session")
def tiny_program(tiny_run: Path, cache: Path) -> Path:
    """The program that run exported."""
    record = read_raw(tiny_run)[0]
    return cache / "programs" / f"{record['program']['pte_sha256']}.pte"


def read_raw(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "raw.jsonl").read_text().splitlines()]


def workers_of(place: str, wanted: int = 0) -> list[psutil.Process]:
    """Return the workers below a folder: once there are so many, or after some seconds."""
    deadline = time.monotonic() + 5
    while True:
        found = [
            p
            for p in psutil.process_iter(["cmdline", "status"])
            if any(place in word for word in p.info["cmdline"] or ())
            and "et_worker" in p.info["cmdline"]
            and p.info["status"] != psutil.STATUS_ZOMBIE
        ]
        if len(found) == wanted or time.monotonic() > deadline:
            return found
        time.sleep(0.1)
