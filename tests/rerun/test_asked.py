"""A row alone is enough to ask for the same again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench.compose import host
from bench.errors import RequestError
from bench.plan import make_plan
from bench.rerun.asked import EXTRA, ask, split
from bench.rerun.find import Recorded, find_recorded

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"


def published(word: str) -> Recorded:
    return find_recorded(word, RESULTS / "runs", RESULTS)


@pytest.mark.parametrize("line", [2, 4, 8, 16])
def test_a_published_row_asks_for_its_own_cell_with_its_own_packages(line: int, tmp_path) -> None:
    recorded = published(f"whisper-v1.4.1:{line}")
    asked = ask(recorded, {}, tmp_path)
    (cell,) = make_plan(asked.request, host()).cells
    assert cell.key == recorded.row["cell_key"]
    assert asked.request.origin.packages
    assert asked.request.origin.packages.hash == recorded.row["packages_hash"]
    assert "packages=" in asked.command
    assert asked.without_packages().request.origin.packages is None


def test_without_a_list_the_packages_are_left_to_be_resolved(tmp_path: Path) -> None:
    recorded = replace(published("whisper-v1.4.1:2"), folder=tmp_path)
    assert ask(recorded, {}, tmp_path).packages is None
    run = tmp_path / "20260101-000000-aaaa"
    run.mkdir()
    name = f"{recorded.row['packages_hash']}.txt"
    shutil.copyfile(RESULTS / "packages" / name, run / "packages-abc.txt")
    assert ask(recorded, {}, tmp_path).packages == run / "packages-abc.txt"
    (run / "packages-abc.txt").write_text("executorch==1.4.1\n")  # another hash
    assert ask(recorded, {}, tmp_path).packages is None


def test_what_is_given_beside_the_row_is_taken(tmp_path: Path) -> None:
    asked = ask(published("whisper-v1.4.1:2"), {"repeats": "3", "out": str(tmp_path)}, tmp_path)
    assert asked.request.repeats == 3
    assert asked.request.out == tmp_path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "iPhone 16"}, "was measured elsewhere \\(iPhone 16\\)"),
        ({"exporter": "elsewhere", "model": "m", "pte_sha256": "abc" * 20}, "give pte=FILE"),
        ({"model": "vocoder"}, "a model of your own, vocoder: give script=FILE or gguf=FILE"),
    ],
)
def test_what_the_row_can_not_give_is_asked_for(tmp_path, changes, message) -> None:
    recorded = published("whisper-v1.4.1:3")
    with pytest.raises(RequestError, match=message):
        ask(replace(recorded, row={**recorded.row, **changes}), {}, tmp_path)


def test_a_file_of_yours_goes_with_the_row(tmp_path: Path) -> None:
    row = {**published("whisper-v1.4.1:3").row, "method": "encode", "samples": None}
    row |= {"model": "small", "precision": None, "exporter": "elsewhere", "max_tokens": None}
    recorded = replace(published("whisper-v1.4.1:3"), row=row)
    pte = ROOT / "tests/pte/small.pte"
    asked = ask(recorded, {"pte": str(pte)}, tmp_path)
    assert asked.request.choices[0].given
    assert asked.request.exporters == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one row"),
        (["a", "b"], "give one row"),
        (["a", "model=tiny"], "option: 'model' is not one of"),
        (["a", "out=x", "out=y"], "out: given twice"),
        (["a", "out="], "out: the value is empty"),
        (["a", "--slow"], "unknown flag --slow"),
    ],
)
def test_wrong_words(words: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        split(words, EXTRA)
