from pathlib import Path
from typing import Any

import pytest

from bench.errors import RequestError
from bench.results.schema import MEASUREMENTS, PHASES
from bench.results.tables import frame, publish, read_csv, read_table, to_csv
from tests import rows


def row(**changes: Any) -> dict[str, Any]:
    own = {"peak_bytes": 100, "cell_key": "k", "total_s": 1.23456, "started_at": "now"}
    return rows.row(**(own | changes))


def test_columns_are_exactly_the_schema() -> None:
    table = frame([row(extra="x")])
    assert list(table.columns) == [column.name for column in MEASUREMENTS]


def test_csv_has_whole_integers_and_empty_gaps(tmp_path: Path) -> None:
    text = to_csv(frame([row(), row(iterations=None, runtime=None)]))
    first, second = text.splitlines()[1:]
    assert first.startswith("tiny,fp32,xnnpack,encode,1,480000,")
    assert second.startswith("tiny,fp32,xnnpack,encode,,480000,")
    assert ",1.23456," in first


@pytest.mark.parametrize("seconds", [0.000000417, 0.000412, 0.0511, 1.23456, 98.765, 4321.5])
@pytest.mark.parametrize("column", ["exec_median_s", "total_s"])
def test_a_short_time_is_kept_as_well_as_a_long_one(
    tmp_path: Path, column: str, seconds: float
) -> None:
    (tmp_path / "t.csv").write_text(to_csv(frame([row(**{column: seconds})])))
    assert read_csv(tmp_path / "t.csv")[column].iloc[0] == pytest.approx(seconds, rel=1e-5)


def test_round_trip(tmp_path: Path) -> None:
    table = frame([row(reason='a, "b"\nc', model="NA"), row(peak_bytes=None)])
    (tmp_path / "t.csv").write_text(to_csv(table))
    again = read_csv(tmp_path / "t.csv")
    assert to_csv(again) == to_csv(table)
    assert again["model"].iloc[0] == "NA"


TEXTS = [column.name for column in MEASUREMENTS if column.type == "string"]


@pytest.mark.parametrize(
    "text",
    [
        *("3.9e-07", "12345678", "1.20", "0012", "1e5", "inf", "nan", "True", "NULL"),
        *("'x", "'=x", "''=x", "'-5"),
    ],
)
def test_a_text_that_looks_like_another_type_stays_as_it_is(tmp_path: Path, text: str) -> None:
    table = frame([row(**dict.fromkeys(TEXTS, text)), row()])
    (tmp_path / "t.csv").write_text(to_csv(table))
    again = read_csv(tmp_path / "t.csv")
    assert again[TEXTS].iloc[0].to_dict() == dict.fromkeys(TEXTS, text)
    assert again.dtypes.to_dict() == table.dtypes.to_dict()


@pytest.mark.parametrize("value", ["inf", "-inf", "1e999"])
@pytest.mark.parametrize("column", ["total_s", "exec_median_s"])
def test_a_time_that_is_not_finite_is_refused(tmp_path: Path, column: str, value: str) -> None:
    (tmp_path / "t.csv").write_text(
        f"model,method,status,cell_key,{column}\ntiny,encode,ok,k,{value}\n"
    )
    with pytest.raises(RequestError, match=f"{column} is not finite"):
        read_csv(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b'model\n"', b"model,iterations\ntiny,many\n", b"a,b\n1,2\n"]
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(RequestError, match="not a table of measurements") as caught:
        read_csv(tmp_path / "t.csv")
    assert "\n" not in str(caught.value)


def test_publish_sorts_as_a_person_would(tmp_path: Path) -> None:
    rows = [
        row(model=m, precision=p, method=method, iterations=n, cell_key=f"{m}{p}{method}{n}")
        for m in ("small", "tiny", "base")
        for p in ("int8", "bf16")
        for method, n in (("decode", 20), ("decode", 5), ("encode", 1), ("export", None))
    ]
    table = publish([frame(rows)], tmp_path / "t.csv")
    assert list(table["model"].unique()) == ["tiny", "base", "small"]
    assert list(table["precision"].unique()) == ["bf16", "int8"]
    first = table.iloc[:4]
    assert list(first["method"]) == ["export", "encode", "decode", "decode"]
    assert list(first["iterations"].fillna(0)) == [0, 1, 5, 20]


def test_publish_takes_a_cell_from_the_last_run_that_has_it(tmp_path: Path) -> None:
    old = frame(
        [
            row(peak_bytes=1, cell_key="a"),
            row(peak_bytes=1, cell_key="a", repeat=1),
            row(peak_bytes=2, cell_key="b"),
        ]
    )
    new = frame([row(peak_bytes=9, cell_key="a")])
    table = publish([old, new], tmp_path / "t.csv")
    assert sorted(table["peak_bytes"]) == [2, 9]


def test_publish_keeps_other_machines_and_environments(tmp_path: Path) -> None:
    tables = [frame([row(machine=m, build_key=b)]) for m, b in (("a", "1"), ("b", "1"), ("a", "2"))]
    assert len(publish(tables, tmp_path / "t.csv")) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"",
        b'phase,seconds\n"load,1\n',
        b"phase,seconds\nload,1,2,3\n",
        b"phase,seconds\nload,soon\n",
        b"phase,seconds\nload,inf\n",
        b"phase,rss_bytes\nload,1.5\n",
        b"phase,rss_bytes\nload," + b"9" * 400 + b"\n",
    ],
)
def test_a_broken_table_of_phases_is_refused_with_its_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "phases.csv"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=r"phases\.csv: not a table of its kind"):
        read_table(path, PHASES)
