"""The commands that settle what is open: they ask for the very cells, and are safe to paste."""

import shlex

import pytest

from bench.analysis.accumulation import accumulation
from bench.analysis.attribution import attribute
from bench.analysis.design import _OURS, command
from bench.analysis.observations import observe
from bench.config import ALLOCATORS, load
from bench.plan import make_plan
from tests.rows import MB, row, table

HOSTILE = "gemma 12b; rm -rf ~ $(id) 'a' \"b\" `c`"
PROBED = {
    "model": "tiny[n_audio_layer=1][n_vocab=2000]",
    **{"runner": "native", "samples": 16000, "max_tokens": 32, "seed": 7, "allocator": "fixed"},
}


def unclear(**changes):
    """Two marks that leave a growth open, so that a command is given."""
    rows = [
        row(iterations=n, steady_bytes=round((240 + v) * MB), **changes)
        for n, v in ((1, 140), (5, 141.8))
    ]
    return observe(table(*rows))


def words(found) -> list[str]:
    (one,) = accumulation(found)
    assert one.command is not None
    return shlex.split(one.command)


@pytest.mark.parametrize(
    ("changes", "revision"),
    [
        ({}, ["commit=v1.4.1"]),
        ({"exporter": "v1.4.1", "runtime": "v1.5.1"}, ["exporter=v1.4.1", "runtime=v1.5.1"]),
    ],
)
def test_accumulation_asks_for_the_very_cell_at_more_executions(changes, revision) -> None:
    said = words(unclear(**(PROBED | changes)))
    assert said[:4] == ["nox", "-s", "bench", "--"] and set(revision) <= set(said)
    cells = make_plan(load(said[4:]), "linux-x86_64").cells
    assert {cell.iterations for cell in cells} == {1, 5, 20, 100}
    wanted = ("encode", "fp32", "xnnpack", *(PROBED[name] for name in PROBED))
    for cell in cells:
        got = (cell.method, cell.precision, cell.backend, *(getattr(cell, name) for name in PROBED))
        assert got == wanted


@pytest.mark.parametrize("axis", ["model", "precision", "backend", "method"])
def test_what_is_not_ours_to_measure_has_no_command(axis) -> None:
    (one,) = accumulation(unclear(**{axis: HOSTILE}))
    assert one.kind == "open" and one.command is None


@pytest.mark.parametrize("axis", ["exporter", "runtime"])
def test_any_revision_is_one_word_of_a_shell(axis) -> None:
    assert f"{axis}={HOSTILE}" in words(unclear(**{axis: HOSTILE}))


def test_any_device_is_one_word_of_a_shell() -> None:
    total = row(device=HOSTILE, peak_delta_bytes=None, peak_bytes=100 * MB, baseline_bytes=None)
    delta = row(device="Mac", peak_delta_bytes=900 * MB, measured_by="footprint")
    said = [shlex.split(one.command) for one in attribute(table(total, delta)) if one.command]
    assert any(f"device={HOSTILE}" in line for line in said)


def test_a_line_end_is_in_no_command() -> None:
    assert command(unclear(exporter="a\nb", runtime="a\nb"), {}) is None


def test_several_values_of_what_is_given_once_are_no_command() -> None:
    assert command([*unclear(), *unclear(allocator="fixed")], {}) is None


def test_the_allocators_are_those_that_can_be_asked_for() -> None:
    assert _OURS["allocator"] == ALLOCATORS
