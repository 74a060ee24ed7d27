"""A program from elsewhere is measured as it is, on a real runtime."""

import shutil
from pathlib import Path

import pandas as pd

from tests.integration.conftest import read_raw

SMALL = Path(__file__).parents[1] / "pte" / "small.pte"


def test_a_program_from_elsewhere_is_run_resumed_and_told_when_it_changed(bench, tmp_path) -> None:
    program, lacking = tmp_path / "mine.pte", tmp_path / "lacking.pte"
    shutil.copy(SMALL, program)
    lacking.write_bytes(SMALL.read_bytes().replace(b"aten::embedding", b"aten::embeddink"))
    words = (f"pte={program},{lacking}", "iterations=1,3", "inputs=look_up:0=2")
    done = bench(*words, "method=look_up", f"out={tmp_path / 'runs'}")
    assert done.returncode == 0, done.stdout + done.stderr
    (request,) = (tmp_path / "runs").glob("*/request.json")
    folder = request.parent
    table = pd.read_csv(folder / "measurements.csv")
    mine, other = table[table["model"] == "mine"], table[table["model"] == "lacking"]
    # Its logarithm of noise is no finite number: values that mean nothing fail no measurement.
    assert mine["status"].tolist() == ["ok", "ok"]
    assert mine["iterations"].tolist() == [1, 3]
    assert set(mine["exporter"]) == {"elsewhere"}
    assert mine["peak_bytes"].notna().all()
    assert set(other["status"]) == {"unsupported"}
    assert set(other["reason"]) == {
        "the program needs operators that this runtime lacks: aten::embeddink.out"
    }
    outputs = read_raw(folder)[0]["events"][-2]["outputs"]
    assert [(each["dtype"], each["shape"]) for each in outputs] == [
        ("float32", [2, 4]),
        ("int", []),
        ("bool", [2]),
    ]

    keep = (folder / "raw.jsonl").read_text().splitlines()[:1]
    (folder / "raw.jsonl").write_text("\n".join(keep) + "\n")
    assert bench(f"resume={folder.name}", f"out={tmp_path / 'runs'}").returncode == 0
    assert len(read_raw(folder)) == 2

    program.write_bytes(program.read_bytes() + b"\0")
    changed = bench(f"resume={folder.name}", f"out={tmp_path / 'runs'}")
    assert changed.returncode == 2
    assert "the file of pte= changed since" in changed.stderr
