"""docs/devices.md: its example is what ingest takes, and so is all that the samplers write."""

import json
import re
from pathlib import Path

import pytest

from bench.ingest.__main__ import main
from bench.ingest.fields import KINDS, field_of
from bench.results.schema import MEASUREMENTS, PROVENANCE
from bench.results.tables import read_csv

DOCS = Path(__file__).resolve().parent.parent / "docs"
TEXT = (DOCS / "devices.md").read_text()
SAMPLERS = sorted((DOCS / "samplers").iterdir())


def test_the_example_is_taken_and_reported(tmp_path: Path, capsys) -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    path = tmp_path / "measurements.json"
    path.write_text(example)
    assert main([str(path), "device=iPhone 16", f"to={tmp_path / 'results'}"]) == 0
    table = read_csv(tmp_path / "results" / "measurements.csv", (*MEASUREMENTS, *PROVENANCE))
    rows = json.loads(example)
    assert len(table) == len(rows)
    whole = table[table["status"] == "ok"]
    # With the baseline, the delta; it is what README's tables call the peak.
    assert (whole["peak_delta_bytes"] == rows[0]["peak_bytes"] - rows[0]["baseline_bytes"]).all()
    assert sorted(whole["iterations"]) == [1, 20]
    assert set(whole["measured_by"]) == {"footprint, 5 ms and kernel"}
    assert set(table["status"]) == {"ok", "over_memory"}


@pytest.mark.parametrize("path", SAMPLERS, ids=lambda path: path.name)
def test_a_sampler_writes_columns_that_ingest_takes(path: Path) -> None:
    source = path.read_text()
    pairs = r'"(\w+)": |put\("(\w+)",'
    keys = {first or second for first, second in re.findall(pairs, source)}
    assert {"kind", "iterations", "baseline_bytes", "peak_bytes", "exec_median_s"} <= keys
    for key in keys:
        field_of(key)
    kinds = set(re.findall(r'"(\w+_(?:total|delta))"', source))
    assert kinds
    assert kinds <= set(KINDS)


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"\]\(([\w/.-]+)\)", TEXT)
    assert {f"samplers/{path.name}" for path in SAMPLERS} <= set(named)
    for name in named:
        assert (DOCS / name).is_file()
    code = "".join(re.findall(r"```(?:swift|kotlin)\n.*?```", TEXT, re.DOTALL))
    about = re.findall(r'"(\w+)"(?:: | to )', code)
    assert about
    for key in about:
        field_of(key)
