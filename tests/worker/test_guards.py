"""The guards, on real programs as they are and damaged on purpose (tests/worker/programs)."""

import shutil
from pathlib import Path

import pytest
from et_worker.delegation import Delegation
from et_worker.guards import Findings, ProgramError, check, inspect_program, too_small
from et_worker.program_file import read_program

PROGRAMS = Path(__file__).parent / "programs"
WHOLE = {"kquant": ("mlx", Delegation(1, 20, 0)), "tied": ("xnnpack", Delegation(1, 1, 1))}
PACKED = "linears.0.parametrizations.weight.original0_q4k_packed"


def found(path: Path, name: str, lowered: Delegation | None = None) -> Findings:
    backend, counts = WHOLE[name]
    return inspect_program(path, {"forward": lowered or counts}, backend, {640 * 32 * 4: "weight"})


def damaged(tmp_path: Path, name: str, old: bytes, new: bytes, count: int = 1) -> Path:
    """Copy a program with the first occurrences of some bytes replaced, none of them moved."""
    data = (PROGRAMS / f"{name}.pte").read_bytes()
    assert len(old) == len(new)
    assert data.count(old) >= count
    path = tmp_path / "damaged.pte"
    path.write_bytes(data.replace(old, new, count))
    return path


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_whole_program_has_no_errors(name: str) -> None:
    findings = found(PROGRAMS / f"{name}.pte", name)
    assert findings.errors == []
    check(findings)


def test_the_constants_are_accounted_for_to_the_byte() -> None:
    # Two linears of 256 x 256 in 4 bits with bf16 scale and bias per 32, the embedding of 16 rows,
    # and norms of ones, which share one piece.
    findings = found(PROGRAMS / "kquant.pte", "kquant")
    weights = (2 * 256 + 16) * 256
    assert findings.constant_bytes == weights // 2 + 2 * 2 * weights // 32 + 2 * 256
    assert findings.duplicate_bytes == 0
    assert findings.notes == []
    assert any(PACKED in name and size == 256 * 128 for name, size in findings.largest.items())


def test_a_weight_that_the_graph_names_and_the_file_lacks_is_named(tmp_path: Path) -> None:
    # Its key is in the program's table first and in the delegate's graph after that.
    path = damaged(tmp_path, "kquant", PACKED.encode(), PACKED.replace("packed", "pocked").encode())
    findings = found(path, "kquant")
    with pytest.raises(ProgramError, match=rf"forward: the program lacks \w+/{PACKED}"):
        check(findings)


def test_a_weight_without_bytes_is_missing_too(tmp_path: Path) -> None:
    path = tmp_path / "damaged.pte"
    shutil.copy(PROGRAMS / "kquant.pte", path)
    (lost,) = (c for c in read_program(path).constants if PACKED in c.name)
    data = path.read_bytes()
    base = int.from_bytes(data[24:32], "little")
    segment = lost.size.to_bytes(8, "little") + (lost.offset - base).to_bytes(8, "little")
    assert data.count(segment) == 1  # the table of the segment
    path.write_bytes(data.replace(segment, bytes(8) + segment[8:]))
    with pytest.raises(ProgramError, match=PACKED):
        check(found(path, "kquant"))


def test_a_delegate_that_was_lowered_and_not_written_is_counted() -> None:
    findings = found(PROGRAMS / "kquant.pte", "kquant", Delegation(2, 20, 0))
    with pytest.raises(ProgramError, match="2 delegate calls were lowered, 1 are in the program"):
        check(findings)


def test_a_method_that_is_not_there_is_named() -> None:
    findings = inspect_program(PROGRAMS / "kquant.pte", {"encode": Delegation(1, 20, 0)}, "mlx", {})
    with pytest.raises(ProgramError, match="the program lacks the method encode"):
        check(findings)


@pytest.mark.parametrize(
    ("name", "lowered", "note"),
    [
        ("kquant", Delegation(1, 17, 3, {"aten.rms_norm.default": 3}), "aten.rms_norm.default x3"),
        ("kquant", Delegation(0, 0, 20), "nothing was delegated to mlx"),
        ("tied", Delegation(0, 0, 2), "nothing was delegated to xnnpack"),
    ],
)
def test_what_the_backend_did_not_take_is_a_note(name: str, lowered, note: str) -> None:
    findings = found(PROGRAMS / f"{name}.pte", name, lowered)
    assert findings.errors == []
    assert any(note in line for line in findings.notes)


def test_a_tied_weight_that_is_stored_twice_is_a_note_with_its_name() -> None:
    findings = found(PROGRAMS / "tied.pte", "tied")
    (note,) = findings.notes
    assert note.startswith("weight (")
    assert "[640, 32]" in note
    assert f"stored 2 times, {640 * 32 * 4} too many" in note
    assert findings.duplicate_bytes == 640 * 32 * 4


def test_two_weights_of_one_content_under_two_names_are_both_named(tmp_path: Path) -> None:
    path = tmp_path / "twice.pte"
    data = bytearray((PROGRAMS / "kquant.pte").read_bytes())
    first, second = (
        next(c for c in read_program(PROGRAMS / "kquant.pte").constants if name in c.name)
        for name in (PACKED, PACKED.replace("linears.0", "linears.1"))
    )
    content = data[first.offset : first.offset + first.size]
    data[second.offset : second.offset + second.size] = content
    path.write_bytes(data)
    findings = found(path, "kquant")
    assert findings.duplicate_bytes == 256 * 128
    assert findings.notes == []  # 32 kB is not worth a line; the count is kept all the same


@pytest.mark.parametrize(("name", "lost"), [("kquant", "linears.1"), ("tied", "constant 1")])
def test_a_weight_that_is_cut_off_by_the_end_of_the_file_is_named(
    tmp_path: Path, name: str, lost: str
) -> None:
    path = tmp_path / "torn.pte"
    path.write_bytes((PROGRAMS / f"{name}.pte").read_bytes()[:80_000])
    with pytest.raises(ProgramError, match=lost):
        check(found(path, name))


def test_an_input_that_is_planned_for_less_than_was_exported_is_named() -> None:
    largest = [{"name": "mel", "shape": (1, 80, 512)}, {"name": "gain", "shape": ()}]
    wanted = {"vocode": largest}
    assert too_small({"vocode": [[1, 80, 512], []]}, wanted) == []
    (note,) = too_small({"vocode": [[1, 80, 160], []], "other": [[1]]}, wanted)
    assert note.startswith("vocode: mel is planned for [1, 80, 160], not for [1, 80, 512]")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip file", b"\xff" * 64])
def test_what_is_no_program_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.pte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no program"):
        read_program(path)


@pytest.mark.parametrize("keep", [0.01, 0.02])
def test_a_torn_program_is_an_error_and_no_crash(tmp_path: Path, keep: float) -> None:
    data = (PROGRAMS / "kquant.pte").read_bytes()
    path = tmp_path / "torn.pte"
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(ValueError, match="FlatBuffer"):
        read_program(path)
