"""Weights read back from real MLX programs (tests/worker/programs), against their source."""

from pathlib import Path

import numpy as np
import pytest
from et_worker.constants import TOLERANCE, Compared, compare_weights, unpack
from et_worker.models.kquant_blocks import fill_random, pack_scales, row_bytes
from et_worker.program_file import read_program

PROGRAM = Path(__file__).parent / "programs" / "kquant.pte"
PARTS = Path(__file__).parent / "programs" / "parts.pte"
ROWS_OF_PARTS = {"target": 16, "draft": 24, "projector": 32}  # of their embeddings
WIDTH = 256
Weights = dict[str, tuple[str, np.ndarray]]


def made(rng: np.random.Generator, vocab: int, layers: int) -> Weights:
    """The weights as the kquant family makes them: embedding, then linears."""
    weights = {}
    names = [("embedding", vocab), *((f"linears.{n}.weight", WIDTH) for n in range(layers))]
    for name, rows in names:
        raw = np.empty((rows, row_bytes("q4_k", WIDTH)), np.uint8)
        fill_random(raw, "q4_k", WIDTH**-0.5, rng)
        weights[name] = ("q4_k", raw)
    return weights


def source() -> Weights:
    return made(np.random.default_rng(0), 16, 2)


def compare(path: Path, weights: Weights, method: str = "forward") -> Compared:
    return compare_weights(path, read_program(path), method, weights)


def test_every_weight_is_its_source_rounded_to_bf16() -> None:
    found = compare(PROGRAM, source())
    assert found.absent == found.wrong == []
    assert set(found.errors) == set(source())
    assert all(0 < error < TOLERANCE / 2 for error in found.errors.values())


def test_two_weights_that_changed_places_are_both_named() -> None:
    weights = source()
    first, second = "linears.0.weight", "linears.1.weight"
    weights[first], weights[second] = weights[second], weights[first]
    assert compare(PROGRAM, weights).wrong == [first, second]


def test_one_damaged_row_is_seen(tmp_path: Path) -> None:
    data = bytearray(PROGRAM.read_bytes())
    (packed,) = (
        c for c in read_program(PROGRAM).constants if "linears.1" in c.name and "packed" in c.name
    )
    data[packed.offset : packed.offset + WIDTH // 2] = bytes(WIDTH // 2)
    path = tmp_path / "damaged.pte"
    path.write_bytes(data)
    assert compare(path, source()).wrong == ["linears.1.weight"]


def test_a_group_of_scale_zero_that_lost_its_minimum_is_told_from_other_damage(
    tmp_path: Path,
) -> None:
    weights = source()
    blocks = weights["linears.1.weight"][1].copy()
    blocks[:3, 4:16] = pack_scales(np.zeros((3, 8), np.uint8), np.full((3, 8), 9, np.uint8))
    weights["linears.1.weight"] = ("q4_k", blocks)
    data = bytearray(PROGRAM.read_bytes())
    for constant in read_program(PROGRAM).constants:  # as ExecuTorch stores such a group
        if "linears.1" in constant.name and constant.name.endswith(("_scales", "_biases")):
            data[constant.offset : constant.offset + 3 * 8 * 2] = bytes(3 * 8 * 2)
    path = tmp_path / "zeroed.pte"
    path.write_bytes(data)
    found = compare(path, weights)
    assert found.zeroed == {"linears.1.weight": 3 * 8}
    assert found.wrong == ["linears.1.weight"]


def test_each_method_is_compared_with_its_own_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sources = {part: made(rng, rows, 1) for part, rows in ROWS_OF_PARTS.items()}
    packed = [c for c in read_program(PARTS).constants if c.name.endswith("_packed")]
    assert len(packed) == sum(map(len, sources.values()))
    blamed = []
    for constant in packed:  # one damaged weight is one method's
        data = bytearray(PARTS.read_bytes())
        data[constant.offset : constant.offset + WIDTH // 2] = bytes(WIDTH // 2)
        path = tmp_path / "damaged.pte"
        path.write_bytes(data)
        found = {part: compare(path, weights, part) for part, weights in sources.items()}
        assert [each.absent for each in found.values()] == [[], [], []]
        ((part, name),) = [(part, name) for part in found for name in found[part].wrong]
        blamed.append((part, name))
    assert sorted(blamed) == sorted((part, name) for part in sources for name in sources[part])


def test_a_weight_that_is_not_there_is_absent() -> None:
    found = compare(PROGRAM, {"head": source()["embedding"]})
    assert (found.errors, found.absent) == ({}, ["head"])


@pytest.mark.parametrize("bits", [4, 5, 6])
def test_numbers_are_a_little_endian_stream(bits: int) -> None:
    numbers = np.random.default_rng(0).integers(0, 1 << bits, (3, 64), dtype=np.uint8)
    rows = [sum(int(n) << (bits * i) for i, n in enumerate(row)) for row in numbers]
    packed = np.array([list(row.to_bytes(8 * bits, "little")) for row in rows], np.uint8)
    assert np.array_equal(unpack(packed, bits), numbers)
