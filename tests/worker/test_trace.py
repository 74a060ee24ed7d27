import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "bench" / "worker"
CODE = """
import json, sys
from et_worker.trace import Trace
trace = Trace()
import executorch.exir.thing
open(executorch.exir.thing.HERE + "/data.yaml").read()
print(json.dumps(trace.found()))
"""


def test_imports_and_reads_of_the_package_are_named(tmp_path: Path) -> None:
    exir = tmp_path / "executorch" / "exir"
    exir.mkdir(parents=True)
    (exir / "thing.py").write_text("import os; HERE = os.path.dirname(__file__)")
    (exir / "other.py").write_text("")
    (exir / "data.yaml").write_text("x")
    for _cold_then_compiled in range(2):
        done = subprocess.run(
            [sys.executable, "-P", "-c", CODE],
            env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "PYTHONPYCACHEPREFIX": str(tmp_path / "pyc")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == (
            '{"files": ["exir/data.yaml", "exir/thing.py"], "native": []}'
        )
