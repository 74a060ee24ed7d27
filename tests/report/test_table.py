import io

from rich.console import Console

from bench.report.readme import cut, select
from bench.report.table import caption, markdown, rich_table, summarise
from bench.results.tables import frame
from tests.results.test_tables import row

BASE = {
    "peak_delta_bytes": 50_000_000,
    "pte_bytes": 25_000_000,
    "delegated_nodes": 4,
    "undelegated_nodes": 1,
}


def line(summary, number=0):
    return dict(zip(summary.header, summary.lines[number], strict=True))


def test_repeats_are_one_line_with_their_median_and_spread() -> None:
    rows = [
        row(repeat=i, peak_delta_bytes=d, pte_bytes=10**7) for i, d in enumerate((100, 101, 99))
    ]
    summary = summarise(
        frame([{**r, "peak_delta_bytes": r["peak_delta_bytes"] * 10**6} for r in rows])
    )
    assert len(summary.lines) == 1
    assert line(summary)["peak"] == "100.0"
    assert line(summary)["spread"] == "2.00%"
    assert line(summary)["d/file"] == "10.00x"


def test_no_spread_column_without_repeats() -> None:
    assert "spread" not in summarise(frame([row(**BASE)])).header


def test_axes_that_do_not_vary_go_to_the_caption() -> None:
    summary = summarise(frame([row(**BASE), row(**BASE, precision="int8", cell_key="k2")]))
    assert summary.header[0] == "precision"
    assert caption(summary) == (
        "tiny xnnpack @ v1.4.1, allocator default, load_mode mmap, samples 480000"
    )


def test_crossings_name_both_sides() -> None:
    summary = summarise(frame([row(**BASE, exporter="v1.2.0")]))
    assert caption(summary).startswith("tiny fp32 xnnpack @ exporter v1.2.0, runtime v1.4.1")


def test_one_bad_repeat_shows() -> None:
    rows = [row(**BASE), row(**BASE, repeat=1, status="failed", reason="boom")]
    summary = summarise(frame(rows))
    assert line(summary)["status"] == "failed"
    assert summary.reasons == ("failed: boom  [tiny fp32 xnnpack encode]",)


def test_a_censored_peak_is_a_bound() -> None:
    summary = summarise(frame([row(**BASE, status="over_memory", reason="cap")]))
    assert line(summary)["peak"] == ">= 50.0"


def test_fits_a_terminal_of_80_columns() -> None:
    text = io.StringIO()
    summary = summarise(frame([row(**BASE, first_peak_bytes=10**9, steady_bytes=10**9)]))
    Console(file=text, width=80).print(rich_table(summary))
    assert "deleg/not" in text.getvalue()
    assert max(map(len, text.getvalue().splitlines())) <= 80


def test_markdown_has_a_rule_and_every_line() -> None:
    summary = summarise(frame([row(**BASE)]))
    head, rule, body = markdown(summary).splitlines()
    assert head.count("|") == rule.count("|") == body.count("|")


def test_readme_block_is_cut_from_the_csv(tmp_path) -> None:
    from bench.results.tables import publish

    publish([frame([row(**BASE), row(**BASE, method="decode", cell_key="d")])], tmp_path / "t.csv")
    text = "a\n<!-- table t.csv method=decode -->\nold\n<!-- end -->\nb\n"
    new = cut(text, tmp_path)
    assert "old" not in new
    assert "| decode |" in new
    assert "encode" not in new.replace("decode", "")
    assert cut(new, tmp_path) == new


def test_select_keeps_missing_values_when_asked() -> None:
    table = frame([row(), row(iterations=None, cell_key="x")])
    assert len(select(table, ["iterations=,1"])) == 2
    assert len(select(table, ["iterations=1"])) == 1


def test_brackets_are_text_and_no_markup() -> None:
    text = io.StringIO()
    model = "tiny[n_audio_layer=1]"
    rows = [row(**BASE, model=model), row(**BASE, model="[/x]", cell_key="2")]
    Console(file=text, width=120).print(rich_table(summarise(frame(rows))))
    assert model in text.getvalue()
    assert "[/x]" in text.getvalue()


def test_machines_and_environments_are_not_repeats_of_each_other() -> None:
    rows = [row(**BASE, machine=m, build_key=b) for m, b in (("a", "1"), ("b", "1"), ("a", "2"))]
    assert len(summarise(frame(rows)).lines) == 3


def test_a_note_is_said_once_with_all_it_holds_for() -> None:
    rows = [
        row(**BASE, notes="a: twice; b: not delegated"),
        row(**BASE, notes="a: twice", repeat=1),
    ]
    rows.append(row(**BASE, model="base", cell_key="b", notes="a: twice"))
    assert summarise(frame(rows)).reasons == (
        "note: a: twice  [tiny fp32 xnnpack, base fp32 xnnpack]",
        "note: b: not delegated  [tiny fp32 xnnpack]",
    )
