"""An overlay of a release's own Python, on the real wheel, is that wheel."""

import csv
import hashlib
import shutil
import subprocess
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.environment import GitTree, OverlayRecipe, Store, recipe_for, worker_env
from bench.environment.inventory import package_of
from bench.environment.overlay_plan import NATIVE
from bench.environment.wheel import site_packages
from tests.environment.overlays import git, read_version
from tests.integration.conftest import SMALL, read_raw


@pytest.fixture(scope="module")
def store(cache):
    return Store(cache / "environments")


@pytest.fixture(scope="module")
def overlaid(environment, repository, store):
    before = checked(environment)
    tree = GitTree(repository / ".git", git(repository, "rev-parse", "HEAD"))
    found = store.ensure(OverlayRecipe(recipe_for("1.4.1"), tree, "a test"), print)
    yield found
    assert checked(environment) == before


def checked(environment):
    """How many of the base's files, links into the installer's cache, are as they were."""
    site = site_packages(environment.bin.parent)
    (record,) = site.glob("executorch-*.dist-info/RECORD")
    count = 0
    with record.open(newline="") as lines:
        for name, digest, _ in csv.reader(lines):
            if digest and not name.startswith("../"):
                found = hashlib.sha256((site / name).read_bytes()).digest()
                assert digest == "sha256=" + urlsafe_b64encode(found).rstrip(b"=").decode(), name
                count += 1
    return count


def contents(package):
    return {
        str(path.relative_to(package)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_equals_the_wheel_byte_for_byte(environment, overlaid):
    wheel, found = contents(package_of(environment)), contents(package_of(overlaid))
    assert len(wheel) > 3000
    assert wheel.keys() == found.keys()
    assert [path for path in wheel if wheel[path] != found[path]] == ["version.py"]


def test_it_says_its_version_as_the_wheel_does(environment, overlaid):
    version, lines = read_version(package_of(environment))
    assert read_version(package_of(overlaid))[1] == lines
    assert overlaid.executorch == f"{version}+{overlaid.git_sha[:7]}"


def test_its_python_is_imported_and_nothing_else(overlaid):
    code = """
import executorch
from importlib.metadata import version
from executorch.backends.mlx import MLXPartitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
print(*executorch.__path__, version("executorch"))
"""
    done = subprocess.run(
        [overlaid.python, "-P", "-c", code],
        env=worker_env(overlaid),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(package_of(overlaid)), "1.4.1"]


def test_flatc_is_found_first_on_the_path_of_a_worker(overlaid):
    done = subprocess.run(
        ["flatc", "--version"], env=worker_env(overlaid), capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("flatc version")
    assert shutil.which("flatc", path=worker_env(overlaid)["PATH"]) == str(overlaid.bin / "flatc")


def test_native_folders_are_the_bases_own_files(environment, overlaid):
    base, found = package_of(environment), package_of(overlaid)
    native = [path for path in contents(base) if path.startswith(NATIVE) or path.endswith(".so")]
    assert native
    for path in native:
        assert (base / path).stat().st_ino == (found / path).stat().st_ino


BROKEN = """

def _told(self, *args, **kwargs):
    raise RuntimeError("edit {number}")


XnnpackPartitioner.__init__ = _told
"""
PARTITIONER = "backends/xnnpack/partition/xnnpack_partitioner.py"


def test_an_edited_working_tree_is_measured_anew_and_built_once_by_two(
    environment, repository, bench, tmp_path
):
    """What was edited says so in the reason of a failure: no stale code is run."""
    before = checked(environment)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--shared", str(repository), str(clone))
    git(clone, "rm", "--quiet", "exir/delegate.pyi")
    original = (clone / PARTITIONER).read_text()

    def measure(out):
        words = ("base=1.4.1", "backend=xnnpack", "method=export", *SMALL, f"out={tmp_path / out}")
        done = bench(f"commit={clone}", *words)
        assert done.returncode == 3, done.stdout + done.stderr
        (raw,) = (tmp_path / out).glob("*/raw.jsonl")
        (record,) = read_raw(raw.parent)
        return record["build_key"], record["reason"], done.stdout.count("laying the Python")

    def edit(number):
        (clone / PARTITIONER).write_text(original + BROKEN.format(number=number))

    edit(1)
    key, reason, _ = measure("alone")
    assert reason == "import: RuntimeError: edit 1"
    edit(2)
    with ThreadPoolExecutor() as both:
        first, second = both.map(measure, ("one", "other"))
    assert first[:2] == second[:2]
    assert first[1] == "import: RuntimeError: edit 2"
    assert first[2] + second[2] == 1
    keys = key, first[0]
    assert keys[0] != keys[1]
    for key in keys:
        (built,) = environment.root.parent.glob(f"overlay-*-{key}")
        assert not (built / "tree" / "executorch" / "exir" / "delegate.pyi").exists()
    assert checked(environment) == before
