"""Rows from elsewhere: what is taken, and that nothing half-wrong is."""

import json
from pathlib import Path

import pandas as pd
import pytest
from et_worker.outside import execution_seconds

from bench.analysis.cells import COLUMNS, cells
from bench.ingest.__main__ import main
from bench.ingest.fields import Field, value_of
from bench.results.tables import read_csv

ROOT = Path(__file__).parents[2]
HEAD = "model,precision,backend,method,peak_mb,pte_mb"
GOOD = f"{HEAD}\nsmall,bf16,mlx,encode,930,484\nsmall,int8,mlx,encode,680,289\n"


def take(tmp_path: Path, content: str | bytes, *words: str, name: str = "phone.csv") -> int:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return main([str(path), f"to={tmp_path / 'out'}", *words])


def taken(tmp_path: Path) -> pd.DataFrame:
    return read_csv(next((tmp_path / "out").glob("*.csv")), COLUMNS)


PHONE = ("device=iPhone 16", "kind=footprint_delta")


def test_a_delta_is_kept_as_one(tmp_path) -> None:
    assert take(tmp_path, GOOD, *PHONE) == 0
    found = taken(tmp_path)
    assert list(found["peak_delta_bytes"]) == [930_000_000, 680_000_000]
    assert found["peak_bytes"].isna().all()
    assert set(found["metric_kind"]) == {"delta"} and set(found["device"]) == {"iPhone 16"}
    assert set(found["measured_by"]) == {"footprint"} and set(found["source"]) == {"phone.csv"}


def test_units_are_converted(tmp_path) -> None:
    text = "model,method,peak,exec_median_ms\nsmall,encode,1.5 GiB,250\n"
    assert take(tmp_path, text, "device=Mac", "kind=rss_total") == 0
    row = taken(tmp_path).iloc[0]
    assert (row["peak_bytes"], row["exec_median_s"]) == (1.5 * 2**30, 0.25)


def test_json_is_the_same_as_csv(tmp_path) -> None:
    rows = [{"model": "small", "method": "encode", "peak_mb": 930}]
    assert take(tmp_path, json.dumps(rows), *PHONE, name="phone.json") == 0
    assert list(taken(tmp_path)["peak_delta_bytes"]) == [930_000_000]


TIME_L = """I 00:00:00.1 executorch:executor_runner.cpp:486] Using method encode
I 00:00:01.1 executorch:executor_runner.cpp:791] Model executed successfully 5 time(s) in 1500.0 ms.
        2.34 real         1.20 user         0.30 sys
           208000000  maximum resident set size
           131000000  peak memory footprint
"""


@pytest.mark.parametrize(("kind", "peak"), [("rss", 208_000_000), ("footprint", 131_000_000)])
def test_a_log_of_executor_runner_under_time(tmp_path, kind, peak) -> None:
    words = ("device=Mac", f"kind={kind}_total", "model=small", "precision=bf16")
    assert take(tmp_path, TIME_L, *words, name="run.log") == 0
    row = taken(tmp_path).iloc[0]
    assert (row["method"], row["iterations"], row["peak_bytes"]) == ("encode", 5, peak)
    assert (row["exec_median_s"], row["total_s"]) == (0.3, 2.34)


EACH = "".join(
    f"I 00:00:01.1 executorch:executor_runner.cpp:780] Iteration {n} of 5: {ms} ms\n"
    for n, ms in enumerate((900.5, 140.0, 160.0, 150.0, 149.5), 1)
)


@pytest.mark.parametrize("log", [TIME_L, EACH + TIME_L])
def test_an_execution_takes_what_the_same_log_says_of_our_own_run(tmp_path, log) -> None:
    words = ("device=Mac", "kind=rss_total", "model=small")
    assert take(tmp_path, log, *words, name="run.log") == 0
    assert taken(tmp_path)["exec_median_s"].iloc[0] == execution_seconds(log)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{HEAD}\nsmall,bf16,mlx,encode,-1,484\n", "line 2: peak: '-1' is negative"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,nan,484\n", "line 2: peak: 'nan' is no finite number"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,1e999,4\n", "line 2: peak: '1e999' is no finite number"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,930000000,4\n", "is the unit right?"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,9 parsecs,4\n", "line 2: peak: '9 parsecs'"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,9 GB,4\n", "contradicts the unit of its column"),
        (f"{HEAD}\n\n=1+1,bf16,mlx,encode,9,4\n", "line 3: model: '=1+1' looks like a formula"),
        (f"{HEAD}\n@x,bf16,mlx,encode,9,4\n", "looks like a formula"),
        (GOOD + "small,bf16,mlx,encode,931,484\n", "line 4: the same measurement as line 2"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,930\n", "line 2: 5 cells where the header has 6"),
        (f"{HEAD}\nsmall,bf16,mlx,,930,484\n", "line 2: method is missing"),
        (f"{HEAD}\nsmall,bf16,mlx,encode,,\n", "line 2: there is no figure"),
        ("model,method,peak\nsmall,encode,930\n", "line 2: peak: '930' has no unit"),
        ("model,method,peak_megs\nsmall,encode,9\n", "line 1: column 'peak_megs': unit 'megs'"),
        ("model,method,weight\nsmall,encode,9\n", "line 1: column: 'weight' is not one of"),
        ("model,method,peak_mb,peak_kb\n", "line 1: column 'peak' is there twice"),
        (HEAD + "\n", "there is no row in it"),
        ("", "there is no row in it"),
        (b"\x00\x01\x02" * 1000, "line 1: not text"),
        (b"\xff\xfe" * 1000, "line 1: not UTF-8"),
        (b"x" * 100_000, "line 1: longer than"),
        (f'{HEAD}\nsmall,"bf16,mlx,encode,9,4\n', "line 2: unexpected end of data"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line_and_nothing_taken(
    tmp_path, capsys, content, said
) -> None:
    assert take(tmp_path, content, *PHONE) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[{}]", "row 1: model is missing"),
        ('[{"model": "small", "method": "encode", "peak_mb": NaN}]', "NaN is no number"),
        ("{}", "a list of objects"),
        ("[" * 100_00, "no JSON"),
        ('[{"model": ["a"]}]', "row 1: values are texts and numbers"),
        ('[{"model": {"a": 1}}]', "row 1: values are texts and numbers"),
        ('[{"peak_mb": 1, "peak_mb": 2}]', "row 1: column 'peak' is there twice"),
        ('[{"peak_mb": ' + "9" * 5000 + "}]", "no JSON"),
        ('[{"peak_mb": ' + "9" * 400 + "}]", "row 1: peak: "),
    ],
)
def test_json_that_is_no_table(tmp_path, capsys, content, said) -> None:
    assert take(tmp_path, content, *PHONE, name="x.json") == 2
    assert said in capsys.readouterr().err


def test_a_hundred_megabytes_of_garbage_are_not_read(tmp_path, capsys) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        file.truncate(100 * 10**6)
    assert main([str(path), f"to={tmp_path / 'out'}", *PHONE]) == 2
    assert "at most 64 MB" in capsys.readouterr().err


def test_what_the_memory_is_must_be_said(tmp_path, capsys) -> None:
    for words, said in (
        (["device=Mac"], "kind= is missing"),
        (["kind=rss_total"], "device is missing"),
        (["kind=rss_total", "machine=Mac"], "device is missing"),
        (["device=Mac", "kind=vms"], "kind: 'vms' is not one of"),
    ):
        assert take(tmp_path, GOOD, *words) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1.2.3", "9" * 400, "9" * 24, "1" + "0" * 18, "...", "²"])
@pytest.mark.parametrize(
    "line",
    [
        "{} real",
        "{} maximum resident set size",
        "Maximum resident set size (kbytes): {}",
        "{} peak memory footprint",
        "Model executed successfully {} time(s) in 5.0 ms",
        "Model executed successfully 1 time(s) in {} ms",
    ],
)
def test_any_number_of_a_log_is_checked_as_one_of_a_table_is(
    tmp_path, capsys, line, number
) -> None:
    words = ("device=Mac", "kind=rss_total", "model=small", "method=encode")
    log = f"a\n{line.format(number)}\n"
    assert take(tmp_path, log, *words, name="run.log") == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'run.log'}: " in error and error.count("\n") == 1
    assert ("line 2: " in error) != (number == "²")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", ["1.2.3", "9" * 24, "..."])
def test_so_is_that_of_a_single_execution(tmp_path, capsys, number) -> None:
    words = ("device=Mac", "kind=rss_total", "model=small")
    assert take(tmp_path, EACH.replace("900.5", number) + TIME_L, *words, name="run.log") == 2
    assert "line 1: exec_median: " in capsys.readouterr().err


def test_the_kind_of_a_log_is_offered_as_it_is_to_be_typed(tmp_path, capsys) -> None:
    words = ("device=Mac", "model=small")
    assert take(tmp_path, TIME_L, *words, name="run.log") == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'run.log'}: give kind=rss_total or kind=footprint_total" in error


def test_a_total_a_delta_and_a_baseline_must_agree(tmp_path, capsys) -> None:
    head, words = "model,method,peak_mb,delta_mb,baseline_mb", ("device=Mac", "kind=rss_total")
    assert take(tmp_path, f"{head}\nsmall,encode,100,50,10\n", *words) == 2
    assert "line 2: peak, delta and baseline contradict each other" in capsys.readouterr().err
    assert take(tmp_path, f"{head}\nsmall,encode,100,90,10\n", *words) == 0
    found = taken(tmp_path).iloc[0]
    assert (found["peak_bytes"], found["peak_delta_bytes"]) == (100_000_000, 90_000_000)
    assert found["baseline_bytes"] == 10_000_000


@pytest.mark.parametrize(
    ("peak", "base", "delta"),
    [
        ("971.3 MB", "41.2 MB", "930.0 MB"),  # of 971.349, 41.151 and 930.198
        ("971 MB", "41.2 MB", "930.3 MB"),
        ("0.98 GB", "0.04 GB", "0.93 GB"),
        ("926.35 MiB", "42189 KiB", "885.14 MiB"),
        ("9.7e2 MB", "41.2 MB", "930.1 MB"),
        ("971300001 bytes", "41200000 bytes", "930100000 bytes"),
    ],
)
def test_rounded_figures_agree_as_far_as_they_are_given(tmp_path, peak, base, delta) -> None:
    words = ("device=Mac", "kind=rss_total")
    text = f"model,method,peak,delta,baseline\nsmall,encode,{peak},{delta},{base}\n"
    assert take(tmp_path, text, *words) == 0
    found = taken(tmp_path).iloc[0]
    for column, given in (("peak", peak), ("peak_delta", delta), ("baseline", base)):
        assert found[f"{column}_bytes"] == value_of(Field(column, "size"), given)


@pytest.mark.parametrize(
    ("peak", "base", "delta"),
    [
        ("971.3 MB", "41.2 MB", "929.8 MB"),
        ("971.30 MB", "41.20 MB", "930.00 MB"),
        ("0.99 GB", "0.04 GB", "0.93 GB"),
        ("971300002 bytes", "41200000 bytes", "930100000 bytes"),
    ],
)
def test_beyond_their_last_digits_figures_contradict(tmp_path, capsys, peak, base, delta) -> None:
    words = ("device=Mac", "kind=rss_total")
    text = f"model,method,peak,delta,baseline\nsmall,encode,{peak},{delta},{base}\n"
    assert take(tmp_path, text, *words) == 2
    assert "contradict each other" in capsys.readouterr().err


def test_a_steady_value_alone_is_no_peak(tmp_path, capsys) -> None:
    """Such as Android's PSS, which is looked at where an execution has ended."""
    text = "model,method,iterations,measured_by,steady_mb\nsmall,encode,20,at the end,300\n"
    assert take(tmp_path, text, "device=Pixel 9") == 2
    assert "kind= is missing" in capsys.readouterr().err
    assert take(tmp_path, text, "device=Pixel 9", "kind=pss_total") == 0
    table = taken(tmp_path)
    row = table.iloc[0]
    assert (row["steady_bytes"], row["measured_by"]) == (300_000_000, "pss, at the end")
    assert pd.isna(row["peak_bytes"]) and pd.isna(row["peak_delta_bytes"])
    (cell,) = cells(table).to_dict("records")
    assert (cell["counter"], cell["steady"]) == ("pss", 300_000_000)


def test_a_table_is_not_written_over(tmp_path, capsys) -> None:
    assert take(tmp_path, GOOD, *PHONE) == 0
    assert take(tmp_path, GOOD.replace("930", "931"), *PHONE) == 2
    assert taken(tmp_path)["peak_delta_bytes"].iloc[0] == 930_000_000
    assert take(tmp_path, GOOD.replace("930", "931"), *PHONE, "replace=yes") == 0
    assert taken(tmp_path)["peak_delta_bytes"].iloc[0] == 931_000_000


@pytest.mark.parametrize("path", sorted((ROOT / "results/reference/threads").glob("*.csv")))
def test_the_reference_tables_are_what_the_threads_say(tmp_path, path) -> None:
    kept = ROOT / "results" / "reference" / path.name
    source = read_csv(kept, COLUMNS)["source"].iloc[0]
    assert main([str(path), f"to={tmp_path}", f"source={source}"]) == 0
    assert (tmp_path / path.name).read_text() == kept.read_text()
