import base64
import gzip
import json

import pandas as pd

from bench.report.html.cells import ranked, reduce_cells, tops
from bench.report.html.payload import (
    cells_content,
    evidence,
    pack,
    phases_content,
    positions,
    timeline_content,
)
from bench.report.table import summarise
from tests.report.html_data import phases_of, rows_of, timeline_of


def test_one_row_per_cell_with_the_figures_of_the_terminal_table() -> None:
    rows = rows_of("precision=fp32,int8", "repeats=3")
    table = reduce_cells(rows).table
    lines = summarise(rows).lines
    assert len(table) == len(lines) == len(rows) / 3
    peaks = [f"{value / 1e6:.1f}" for value in table["peak_delta_bytes"]]
    assert peaks == [line[3] for line in lines]
    assert list(table["repeats"].unique()) == [3]
    assert (table["lowest"] < table["peak_delta_bytes"]).all()
    assert (table["highest"] > table["peak_delta_bytes"]).all()


def test_a_failed_repeat_leaves_the_median_to_the_others_and_shows() -> None:
    rows = rows_of("method=export", "repeats=3")
    rows.loc[2, ["status", "reason", "peak_delta_bytes"]] = ["failed", "boom", 10**12]
    cell = reduce_cells(rows).table.iloc[0]
    assert cell["peak_delta_bytes"] == rows["peak_delta_bytes"][:2].mean()
    assert (cell["status"], cell["reason"]) == ("failed", "boom")


def test_names_tell_every_cell_apart() -> None:
    words = ("model=tiny,base", "commit=v1.4.1,v1.5.1", "samples=16000,480000")
    rows = rows_of(*words)
    other = rows.assign(build_key="another build", exporter_build_key="of it")
    for measured in (rows, pd.concat([rows, other])):
        table = reduce_cells(measured).table
        assert table["name"].is_unique
        assert not table[table["last"]].duplicated(["side", "top"]).any()


def test_what_all_cells_share_is_not_in_their_names() -> None:
    names = reduce_cells(rows_of("precision=fp32,int8", "iterations=1")).table["name"]
    assert list(names)[:2] == ["tiny fp32 xnnpack export", "tiny fp32 xnnpack encode ×1"]


def test_marks_of_one_process_share_its_number_and_one_is_the_last() -> None:
    table = reduce_cells(rows_of("commit=v1.4.1,v1.5.1")).table
    assert table.groupby("process")["last"].sum().eq(1).all()
    assert table[table["last"]]["iterations"].dropna().eq(20).all()
    pairs = table.groupby("pair")["revision"].agg(list)
    assert all(sorted(found) == ["v1.4.1", "v1.5.1"] for found in pairs)


def test_axes_are_in_the_order_of_a_person() -> None:
    assert ranked(["20", "1", "5"]) == ["1", "5", "20"]
    assert ranked(["base", "tiny", "xyz"]) == ["tiny", "base", "xyz"]
    assert ranked(["v1.10", "v1.9"], ["v1.9", "v1.10"]) == ["v1.9", "v1.10"]
    found = tops(reduce_cells(rows_of("commit=v1.5.1,v1.4.1", "method=encode,export")))
    assert found == ["export\nv1.5.1", "export\nv1.4.1", "encode\nv1.5.1", "encode\nv1.4.1"]


def test_columns_unpack_to_the_cells() -> None:
    cells = reduce_cells(rows_of("precision=fp32,int8"))
    content = json.loads(gzip.decompress(base64.b64decode(pack(cells_content(cells)))))
    assert content["count"] == len(cells.table)
    column = content["texts"]["precision"]
    assert [column["names"][code] for code in column["codes"]] == list(cells.table["precision"])
    assert content["numbers"]["peak_delta_bytes"] == list(cells.table["peak_delta_bytes"])
    assert None in content["numbers"]["steady_bytes"]  # an export's
    assert pack(content) == pack(content)


def test_phases_are_of_the_repeat_with_the_median_peak() -> None:
    rows = rows_of("method=encode", "repeats=3")
    phases = phases_of(rows)
    phases.loc[phases["repeat"].eq(1) & phases["phase"].eq("first"), "peak_bytes"] = 10**12
    cells = reduce_cells(rows)
    content = phases_content(phases, cells)
    assert content["phase"]["names"] == ["import", "load_program", "load_method", "first", "loop"]
    assert set(content["process"]) == set(cells.table["process"])
    of_last = phases[phases["repeat"].eq(2)]["peak_bytes"]
    assert content["peak_bytes"] == list(of_last)  # 1 is the wild one, 0 the lowest
    assert phases_content(None, cells)["process"] == []


def test_evidence_is_where_its_cells_are() -> None:
    cells = reduce_cells(rows_of())
    where = positions(cells)
    keys = list(cells.table["cell_key"])
    assert evidence([keys[2], keys[0], keys[2], "gone"], where) == [0, 2]


def test_phases_that_could_be_of_two_builds_are_nobodys() -> None:
    rows = rows_of("method=encode")
    twice = pd.concat([rows, rows.assign(build_key="another build")])
    assert phases_content(phases_of(rows), reduce_cells(rows))["process"]
    assert phases_content(phases_of(rows), reduce_cells(twice))["process"] == []


def test_a_timeline_is_thinned_and_keeps_its_peak_and_where_phases_begin() -> None:
    rows = rows_of("method=encode,decode", "iterations=1,20")
    content = timeline_content(timeline_of(rows), reduce_cells(rows))
    owners = set(content["process"])
    assert len(owners) == 2
    assert max(content["rss_bytes"]) == rows["peak_bytes"].max()
    for owner in owners:
        own = [n for n, process in enumerate(content["process"]) if process == owner]
        times = [content["t_s"][n] for n in own]
        assert times == sorted(set(times))
        assert 300 <= len(own) <= 500
        assert {0.0, 0.49, 0.5, 9.99} <= set(times)  # first and last of each phase
    assert content["phase"]["names"] == ["first", "loop"]


def test_a_timeline_that_could_be_of_two_machines_is_nobodys() -> None:
    rows = rows_of("method=encode", "iterations=1")
    two = pd.concat([rows, rows.assign(machine="another")])
    assert timeline_content(timeline_of(rows), reduce_cells(two))["process"] == []
