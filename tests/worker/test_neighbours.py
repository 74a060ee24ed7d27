"""What a script is made of besides itself, in real processes: the hook can't be taken off again."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"
CODE = """
import importlib.util, json, sys
from pathlib import Path
from et_worker.models.neighbours import Neighbours
script = Path(sys.argv[1])
found = Neighbours(script)
sys.path.insert(0, str(script.parent))
spec = importlib.util.spec_from_file_location("script", script)
spec.loader.exec_module(importlib.util.module_from_spec(spec))
found.note()
(script.parent / "helper.py").write_text("edited = 'while it was exported'")
print(json.dumps(found.found()))
"""
SCRIPT = """
import sys
from pathlib import Path
HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "shared"))
import helper, package.inner, elsewhere, json, installed
(HERE / "weights.bin").read_bytes()
(HERE / "log.txt").write_text("x")
open("/proc/self/status").read()
try:
    open(HERE / "absent.txt")
except OSError:
    pass
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "package").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (folder / "venv").mkdir()
    contents = {
        folder / "model.py": SCRIPT,
        folder / "helper.py": "helper = 1",
        folder / "unused.py": "unused = 1",
        folder / "package" / "__init__.py": "",
        folder / "package" / "inner.py": "inner = 1",
        folder / "weights.bin": "weights",
        folder / "venv" / "installed.py": "installed = 1",
        tmp_path / "shared" / "elsewhere.py": "elsewhere = 1",
    }
    for path, text in contents.items():
        path.write_text(text)
    return folder / "model.py"


def test_modules_of_the_users_and_data_beside_it_are_told(script: Path) -> None:
    for _cold_then_compiled in range(2):
        (script.parent / "helper.py").write_text("helper = 1")
        done = subprocess.run(
            [sys.executable, "-P", "-c", CODE, str(script)],
            env={"PYTHONPATH": f"{ROOT}:{script.parent / 'venv'}"},
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
        names = ["../shared/elsewhere.py", "helper.py", "package/__init__.py", "package/inner.py"]
        assert list(found) == [*names, "weights.bin"]
        assert found["helper.py"] == hashlib.sha256(b"helper = 1").hexdigest()  # as it was imported
        assert found["weights.bin"] == hashlib.sha256(b"weights").hexdigest()
