"""From a table alone to a second measurement and its verdict, with real processes for workers."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench import session
from bench.analysis.figures import FLOOR, JUDGED
from bench.config import load
from bench.errors import BuildError, Exit
from bench.packages import packages_hash
from bench.request import Origin
from bench.rerun.__main__ import Judging, main, rerun
from bench.rerun.asked import ask
from bench.rerun.find import find_recorded
from bench.results.__main__ import main as publish
from bench.results.record import list_runs
from tests.binaries import make_binary
from tests.test_session import WORDS, Revisions

LIST = "executorch==1.4.1\nnumpy==2.4.6\n"
SMALL = Path(__file__).parents[1] / "pte" / "small.pte"
SLOWER = "global MB; MB = 1_300_000"


class Known(Revisions):
    """Environments with a list of packages; what was asked for is had, or can't be built."""

    can_install = True

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.origin = Origin()
        self.has(LIST)

    def has(self, packages: str) -> None:
        self.environment.packages.write_text(packages)
        self.environment = replace(self.environment, packages_hash=packages_hash(packages))

    def resolve_all(self, request):
        self.origin = request.origin
        return request

    def get(self, revision, *, needs):
        if self.origin.packages and not self.can_install:
            raise BuildError("there is no numpy 2.4.6")
        if self.origin.packages:
            self.has("".join(f"{line}\n" for line in self.origin.packages.lines))
        return super().get(revision, needs=needs)


@pytest.fixture
def known(tmp_path: Path) -> Known:
    (tmp_path / "environment").mkdir()
    return Known(tmp_path / "environment")


@pytest.fixture
def table(known: Known, tmp_path: Path) -> Path:
    return published(known, tmp_path, *WORDS)


def published(known: Known, tmp_path: Path, *words: str) -> Path:
    """A published table in a folder of its own; the run that it was made of is gone."""
    out = tmp_path / "runs"
    session.run(
        load([*words, f"out={out}"]),
        known,  # type: ignore[arg-type]
        Console(file=io.StringIO()),
        dry=False,
    )
    assert publish(["table", f"out={out}", f"to={tmp_path}/published"]) == 0
    (out / list_runs(out)[0]).rename(tmp_path / "gone")
    return tmp_path / "published/table.csv"


def again(
    table: Path, known: Known, row: str = ":3", *, dry: bool = False, **given: str
) -> tuple[int, str]:
    out = table.parents[1] / "runs"
    recorded = find_recorded(f"{table}{row}", out, table.parent)
    asked = ask(recorded, {"out": str(out)} | given, out)
    text = io.StringIO()
    judging = Judging(JUDGED, FLOOR, ())
    console = Console(file=text, width=100)
    code = rerun(recorded, asked, judging, known, console, dry=dry)  # type: ignore[arg-type]
    return code, text.getvalue()


@pytest.mark.parametrize("row", [":2", ":3"])
def test_the_same_again_agrees(table: Path, known: Known, row: str) -> None:
    code, text = again(table, known, row)
    assert code == Exit.OK
    for words in (
        f"packages={table.parent}/packages/{packages_hash(LIST)}.txt",
        "the same packages",
        "the same program file, bit by bit",
        "recorded",
        "again",
        "agrees within noise: peak ",
    ):
        assert words in text
    assert len(list_runs(table.parents[1] / "runs")) == 1


def test_another_value_differs(table: Path, known: Known) -> None:
    known.behave(SLOWER)
    code, text = again(table, known)
    assert code == Exit.FOUND
    row = next(line for line in text.splitlines() if line.strip().startswith("peak"))
    assert row.split()[1:] == ["50.0", "MB", "125.0", "MB", "+150%", "±2.0%"]
    assert "differs: peak 50.0 MB -> 125.0 MB (+150%)" in text


def test_another_machine_is_undecided_with_both_values(table: Path, known: Known) -> None:
    content = table.read_text()
    machine = next(cell for cell in content.splitlines()[1].split('"') if " cores" in cell)
    table.write_text(content.replace(machine, "a Mac"))
    code, text = again(table, known)
    assert code == Exit.UNDECIDED
    assert "undecided: machine a Mac against " in text
    row = next(line for line in text.splitlines() if line.strip().startswith("peak"))
    assert row.count("50.0 MB") == 2


def test_packages_that_can_not_be_had_are_resolved_anew_and_named(table, known) -> None:
    known.can_install = False
    known.has(LIST.replace("2.4.6", "2.4.7"))
    code, text = again(table, known)
    assert code == Exit.OK
    assert "can't be had, they are resolved anew: there is no numpy 2.4.6" in text
    assert "other packages: numpy 2.4.6 -> 2.4.7" in text
    known.behave(SLOWER)
    code, text = again(table, known)
    assert code == Exit.UNDECIDED
    assert "not all is as it was (other packages: numpy 2.4.6 -> 2.4.7)" in text


def test_without_a_list_only_the_hashes_can_be_named(table: Path, known: Known) -> None:
    for path in (table.parent / "packages").iterdir():
        path.unlink()
    known.has(LIST.replace("2.4.6", "2.4.7"))
    code, text = again(table, known)
    assert code == Exit.OK
    assert f"packages {packages_hash(LIST)}, of which no list is here, are " in text


def test_a_cell_that_means_something_else_now_tells_nothing(table: Path, known: Known) -> None:
    content = table.read_text()
    key = content.splitlines()[2].split(",")[-4]
    table.write_text(content.replace(key, "0123456789abcdef"))
    known.behave(SLOWER)
    code, text = again(table, known, "#0123456789abcdef")
    assert code == Exit.UNDECIDED
    assert f"the same words mean another cell now, {key}" in text


def of_program(folder: Path, version: int) -> tuple[list[str], dict[str, str]]:
    path = folder / "own.pte"
    path.write_bytes(SMALL.read_bytes() + bytes(version))
    words = [f"pte={path}", "method=encode", "runtime=v1.4.1", "iterations=1"]
    return words, {"pte": str(path)}


def of_binary(folder: Path, version: int) -> tuple[list[str], dict[str, str]]:
    path = make_binary(folder / "er", takes=version)
    words = [f"pte={SMALL}", "method=encode", "runtime=v1.4.1", "iterations=1"]
    given = {"runner.path": str(path), "pte": str(SMALL)}
    return [*words, "runner=executor_runner", f"runner.path={path}"], given


def of_script(folder: Path, version: int) -> tuple[list[str], dict[str, str]]:
    path = folder / "own.py"
    path.write_text(f"# {version}\ndef build(seed):\n    pass\n")
    words = ["model=script", f"script={path}", "method=export", "backend=xnnpack"]
    return words, {"script": str(path)}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (of_program, r"/own\.pte is another program: [0-9a-f]{12}, recorded was [0-9a-f]{12}$"),
        (of_binary, r"/er is another binary: er@[0-9a-f]{8}, recorded was er@[0-9a-f]{8}$"),
        (of_script, r"mean another cell now, [0-9a-f]{16}: .*/own\.py, conf/ or et-peak changed"),
    ],
)
def test_another_file_of_yours_is_named_before_anything_is_measured(
    known: Known, tmp_path: Path, make, said: str
) -> None:
    words, given = make(tmp_path, 1)
    table = published(known, tmp_path, *words)
    code, text = again(table, known, ":2", **given)
    assert code == Exit.OK
    assert not re.search(said, text, re.MULTILINE)
    make(tmp_path, 2)
    started = len(known.started)
    _, text = again(table, known, ":2", dry=True, **given)
    assert re.search(said, text, re.MULTILINE)
    assert len(known.started) == started
    code, text = again(table, known, ":2", **given)
    named = re.search(said, text, re.MULTILINE)
    assert named
    assert named.start() < text.index(" measurements to take")
    known.behave(SLOWER)
    code, text = again(table, known, ":2", **given)
    assert code == Exit.UNDECIDED


def test_a_dry_run_says_what_it_would_do_and_does_nothing(table: Path, known: Known) -> None:
    before = len(known.started)
    code, text = again(table, known, dry=True)
    assert code == Exit.OK
    assert "again: nox -s bench -- model=tiny" in text
    assert f"packages {packages_hash(LIST)}: list " in text
    assert "environment v1.4.1: ready" in text
    assert len(known.started) == before
    assert not list_runs(table.parents[1] / "runs")


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_the_help_is_on_stdout(words, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert "nox -s rerun" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one row"),
        (["whisper-v1.4.1:3", "metric=rss"], "metric: 'rss' is not one of peak, steady"),
        (["whisper-v1.4.1:3", "floor=x"], "floor: 'x' is not a relative difference"),
        (["whisper-v1.4.1:3", "repeats=0"], "repeats: 0 is out of range"),
        (["whisper-v1.4.1:3", "packages=/none"], "packages: /none: No such file"),
        (["4e65ccd481958e89"], "near: 4e65ccd481958e88 (tiny fp32 xnnpack export)"),
    ],
)
def test_what_is_wrong_is_one_line_exit_2(words, message, capsys) -> None:
    assert main(words) == Exit.BAD_REQUEST
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
