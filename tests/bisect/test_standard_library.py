"""Our ``bisect`` hides the standard one and must be as good."""

import bisect
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def standard() -> object:
    spec = importlib.util.spec_from_file_location(
        "standard_bisect", Path(sysconfig.get_path("stdlib"), "bisect.py")
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_we_are_testing_ours() -> None:
    assert Path(bisect.__file__ or "").parent == ROOT / "bisect"


def test_the_same_objects() -> None:
    real = standard()
    names = [name for name in dir(real) if not name.startswith("_")]
    assert set(names) >= {
        "bisect",
        "bisect_left",
        "bisect_right",
        "insort",
        "insort_left",
        "insort_right",
    }
    for name in names:
        assert getattr(bisect, name) is getattr(real, name)


def test_without_the_accelerator_too() -> None:
    code = (
        "import sys; sys.modules['_bisect'] = None; import bisect; "
        "assert bisect.__path__; a = [1, 3]; bisect.insort(a, 2); assert a == [1, 2, 3]; "
        "assert bisect.bisect is bisect.bisect_right; assert bisect.insort is bisect.insort_right"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_imports_nothing_heavy() -> None:
    code = (
        "import sys; before = set(sys.modules); import bisect; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()) <= {"_bisect", "bisect"}


def test_the_interpreters_own_tests() -> None:
    if importlib.util.find_spec("test.test_bisect") is None:
        return  # a distribution without its tests
    # -S: a .pth file of site-packages may import the standard one before we are on the path.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "unittest", "test.test_bisect"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
