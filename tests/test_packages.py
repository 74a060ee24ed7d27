"""Lists of packages: read, hashed as in the tables, compared."""

from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.packages import FOLDER, differences, packages_hash, read_packages, versions
from bench.results.tables import read_csv

RESULTS = Path(__file__).resolve().parent.parent / "results"


def test_a_list_names_its_release(tmp_path: Path) -> None:
    path = tmp_path / "packages.txt"
    path.write_text("executorch==1.4.1\ntorch==2.13.0+cpu\n")
    found = read_packages(str(path))
    assert found.release == "1.4.1"
    assert found.lines == ("executorch==1.4.1", "torch==2.13.0+cpu")
    assert found.hash == packages_hash(path.read_text())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("", "has no executorch"),
        ("torch==2.13.0\n", "has no executorch"),
        ("executorch==1.4.1\nnumpy\n", "line 2: 'numpy' is no name==version"),
        ("executorch @ file:///w/executorch.whl\n", "line 1: 'executorch @ file"),
        ("executorch==1.4.1\n--index-url=x\n", "line 2: '--index-url=x'"),
        (b"\xff\xfe", "not text"),
    ],
)
def test_what_can_not_be_installed_from_is_one_line(tmp_path: Path, text, message) -> None:
    path = tmp_path / "packages.txt"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RequestError, match="packages: ") as caught:
        read_packages(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lists_are_compared_by_name() -> None:
    before, after = "a==1\nb==2\nc==3\n", "a==1\nb==2.1\nd==4\n"
    assert differences(before, after) == ["b 2 -> 2.1", "c 3 -> none", "d none -> 4"]
    assert differences(before, before) == []


def test_every_published_row_has_the_list_of_its_packages() -> None:
    """What a row has the hash of can be had again by who has nothing but this repository."""
    for table in sorted(RESULTS.glob("*.csv")):
        for wanted in read_csv(table)["packages_hash"].dropna().unique():
            path = RESULTS / FOLDER / f"{wanted}.txt"
            assert read_packages(str(path)).hash == wanted
            assert versions(path.read_text())["executorch"]
