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


_KEY = r'"(\w+)"(?:: | to |\] = )|put\("(\w+)",'
each_sampler = pytest.mark.parametrize("path", SAMPLERS, ids=lambda path: path.name)


def written(source: str) -> set[str]:
    """Return the columns that a piece of a sampler writes."""
    return {first or second for first, second in re.findall(_KEY, source)}


def body(path: Path, name: str) -> str:
    """Return the source of one of a sampler's outermost functions."""
    (found,) = re.findall(
        rf"^(?:fun|func) {name}\(.*?(?=^(?:fun|func|class|/\*\*|///)|\Z)",
        path.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return found


@each_sampler
def test_a_sampler_writes_columns_that_ingest_takes(path: Path) -> None:
    source = path.read_text()
    keys = written(source)
    assert {"kind", "iterations", "baseline_bytes", "peak_bytes", "exec_median_s"} <= keys
    for key in keys:
        field_of(key)
    kinds = set(re.findall(r'"(\w+_(?:total|delta))"', source))
    assert kinds
    assert kinds <= set(KINDS)


@each_sampler
def test_a_killed_app_leaves_what_it_had_and_ingest_takes_that(path: Path, tmp_path: Path) -> None:
    """Rows are saved before whatever may end it, with the mark that was not reached as the last."""
    source = body(path, "measure")
    done = re.findall(
        r"\b(save|load|execute)(?:\(|\))|\b(for|while)\b", source[source.index("unreached") :]
    )
    order = [call or loop for call, loop in done]
    assert order == ["save", "load", "for", "save", "while", "execute", "save"]

    common = {"model": "small", "method": "encode", "kind": "rss_total", "measured_by": "5 ms"}
    ended = dict(re.findall(r'"(status|reason)"(?:: | to )"([^"]+)"', source))
    assert ended["status"] == "failed"
    memory = {key: 1_000_000 for key in written(source) if key.endswith("_bytes")}
    reached = {**common, "iterations": 1, "status": "ok", "exec_median_s": 0.5, **memory}
    killed = {**common, "iterations": 5, **ended, "baseline_bytes": 1, "peak_bytes": 2}
    loading = {**common, "iterations": 20, **ended}
    file = tmp_path / "measurements.json"
    file.write_text(json.dumps([reached, killed, loading]))
    assert main([str(file), "device=phone", f"to={tmp_path / 'out'}"]) == 0
    table = read_csv(tmp_path / "out" / "measurements.csv", (*MEASUREMENTS, *PROVENANCE))
    assert list(table["status"]) == ["ok", "failed", "failed"]
    assert table["peak_delta_bytes"].dropna().tolist() == [0, 1]


@each_sampler
def test_the_kernels_mark_counts_only_where_it_has_risen_since_the_baseline(path: Path) -> None:
    """Before the baseline it is of the app's start, which is no memory of the program."""
    source = path.read_text()
    peak = "rssPeak()" if path.suffix == ".kt" else "footprint()?.peak"
    assert source.replace(f"fun {peak}", "").count(peak) == 1
    taking = re.search(r"fun[c]? take\(\).*?\n  }\n", source, re.DOTALL)
    assert taking
    assert peak in taking[0]  # and nowhere else: what is of the whole process is in no row
    assert re.search(r"mark > before\)? \??\s?max\(mark, seen\)", taking[0])
    measure = body(path, "measure")
    assert measure.index("sampler.take()") < measure.index("baseline =") < measure.index("load()\n")
    said = re.findall(r'"(5 ms[^"]*)"', measure)
    assert said == ["5 ms and kernel", "5 ms"]
    assert "sampler.mark > before" in measure
    assert set(said) == set(re.findall(r"`(5 ms[^`]*)`", TEXT))


def test_pss_at_the_end_is_no_peak() -> None:
    row = written(body(DOCS / "samplers" / "MemorySampler.kt", "pssRow"))
    assert "steady_bytes" in row
    assert not {"peak_bytes", "first_peak_bytes"} & row
    assert {"kind", "measured_by", "iterations"} <= row


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
