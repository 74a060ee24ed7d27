"""Which row is meant: by key, by line, in tables and runs."""

from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.rerun.find import find_recorded
from bench.results.record import RunFolder
from bench.results.rows import measurement_rows
from bench.results.tables import frame, to_csv
from tests.results.test_rows import CELL, record

KEYS = ("aaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaa2", "bbbbbbbbbbbbbbb1")


def rows(*keys: str, **changes) -> list[dict]:
    cells = [{**CELL, "key": key} for key in keys]
    return [
        row | {"machine": "m", "build_key": "b"} | changes
        for row in measurement_rows(record(cells=cells))
    ]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "one.csv").write_text(to_csv(frame(rows(*KEYS[:2]))))
    return tmp_path


def find(word: str, results: Path):
    return find_recorded(word, results / "runs", results)


def test_a_row_by_its_line_its_key_or_the_key_alone(results: Path) -> None:
    path = results / "one.csv"
    words = [f"{table}{row}" for table in (path, "one", "one.csv") for row in (":3", f"#{KEYS[1]}")]
    words.append(KEYS[1])
    for word in words:
        found = find(word, results)
        assert (found.row["cell_key"], found.place, found.folder) == (KEYS[1], "one:3", results)
        assert found.row["iterations"] == CELL["iterations"]
        assert found.row["device"] is None


def test_a_run_is_a_table_too_and_published_ones_come_first(results: Path) -> None:
    folder = RunFolder.create(results / "runs")
    folder.write("request.json", "{}")
    folder.write("measurements.csv", to_csv(frame(rows(KEYS[0], KEYS[2]))))
    assert find(KEYS[2], results).place == f"{folder.id}:3"
    assert find(KEYS[2][:6], results).folder == folder.path
    assert find(KEYS[0], results).place == "one:2"
    assert find(f"latest#{KEYS[0]}", results).place == f"{folder.id}:2"


def test_the_repeats_of_a_row_are_its_own_only(results: Path) -> None:
    table = rows(KEYS[0]) + rows(KEYS[0], repeat=1) + rows(KEYS[0], machine="other")
    (results / "two.csv").write_text(to_csv(frame(table)))
    assert len(find("two:2", results).table) == 2
    assert len(find("two:4", results).table) == 1
    with pytest.raises(RequestError, match=r"2 measurements in two, .* one of two:2, two:4$"):
        find(f"two#{KEYS[0]}", results)


def test_a_line_is_a_line_of_the_file(results: Path) -> None:
    """A text with a line end in it takes two."""
    table = rows(KEYS[0], reason="one\ntwo") + rows(KEYS[1])
    (results / "two.csv").write_text(to_csv(frame(table)))
    assert find("two:2", results).row["cell_key"] == KEYS[0]
    assert find("two:4", results).row["cell_key"] == KEYS[1]
    with pytest.raises(RequestError, match="two:3 is no row"):
        find("two:3", results)


@pytest.mark.parametrize("blank", ["\n", "  \n", "\r\n", "\n\n"])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_blank_lines_are_counted_and_are_no_rows(results: Path, blank: str, place: int) -> None:
    """Such as a person leaves who edits a table."""
    lines = (results / "one.csv").read_text().splitlines(keepends=True)
    lines.insert(place, blank)
    text = "".join(lines)
    (results / "two.csv").write_text(text, newline="")
    wanted = {}
    for number, line in enumerate(text.splitlines(), 1):
        wanted |= {key: number for key in KEYS[:2] if key in line}
    for key, number in wanted.items():
        assert find(f"two:{number}", results).row["cell_key"] == key
        assert find(f"two#{key}", results).place == f"two:{number}"
    for number in {*range(1, text.count("\n") + 2)} - set(wanted.values()):
        with pytest.raises(RequestError, match=f"two:{number} is no row"):
            find(f"two:{number}", results)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("aaaaaaaaaaaaaaa9", r"is not in one \(near: aaaaaaaaaaaaaaa\d \(tiny fp32"),
        ("aaaaaaaaaa", r"aaaaaaaaaa is of 2 measurements in one.*one:2, one:3"),
        ("ffffffffffffffff", r"\(there are: aaaaaaaaaaaaaaa1"),
        ("one#xyz", "'xyz' is not in one"),
        ("one#", "'' is not in one"),
        ("one:1", r"one:1 is no row \(2 to 3; line 1 is the header\)"),
        ("one:99", r"one:99 is no row \(2 to 3"),
        ("one", r"name a row of it, one#CELL_KEY or one:LINE \(2 to 3\)"),
        ("none.csv:2", "'none.csv' is no run, table or file"),
    ],
)
def test_what_names_no_row_is_one_line_with_what_there_is(results, word, message) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        find(word, results)
    assert "\n" not in str(caught.value)
