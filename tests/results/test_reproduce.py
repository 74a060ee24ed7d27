import shlex

import pytest

from bench.config import load
from bench.plan import make_plan
from bench.results.reproduce import command

REQUESTS = (
    "precision=fp32,int8 backend=xnnpack iterations=1,20 samples=16000",
    "model=tiny model.n_audio_layer=1 model.n_vocab=2000 backend=mlx precision=bf16",
    "model=kquant model.layers=4 precision=q4_k,q6_k commit=4753d75e2b,main~3",
    "model=kquant model.layers=4 precision=q4_k steps=off memprofile=on",
    "exporter=v1.2.0 runtime=v1.4.1,v1.5.1 backend=xnnpack seed=7 max_tokens=32 allocator=fixed",
)


@pytest.mark.parametrize("words", REQUESTS)
def test_a_command_asks_for_the_very_cell(words: str) -> None:
    cells = make_plan(load(words.split()), "linux-x86_64").cells
    assert cells
    # Hydra takes a second for each, so two cells that differ as much as any stand for all.
    for cell in {cells[0].key: cells[0], cells[-1].key: cells[-1]}.values():
        said = shlex.split(command(cell.__dict__))
        assert said[:4] == ["nox", "-s", "bench", "--"]
        again = make_plan(load(said[4:]), "linux-x86_64").cells
        assert [c.key for c in again] == [cell.key]


def test_a_path_with_spaces_is_one_word() -> None:
    row = {"model": "tiny", "method": "export", "exporter": "/a b/c"}
    assert "'commit=/a b/c'" in command(row)


@pytest.mark.parametrize(
    ("rung", "exporter", "said"),
    [
        ("wheel", "v1.4.1", False),
        ("overlay", "4753d75e2b", False),
        ("overlay", "v1.4.1", True),
        ("source", "main", True),
        ("nightly", "main", True),
    ],
)
def test_the_rung_is_said_where_it_is_not_the_usual_one(rung, exporter, said) -> None:
    row = {"model": "tiny", "method": "export", "exporter": exporter, "rung": rung}
    assert (f"rung={rung}" in command(row)) is said
