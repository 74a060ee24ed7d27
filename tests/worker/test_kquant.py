"""The k-quant blocks, against the dequantiser of llama.cpp's own `gguf` package."""

import numpy as np
import pytest
from et_worker.models import kquant_blocks, load_family, set_switches
from et_worker.models.kquant_blocks import LAYOUTS, dequantise, fill_random, pack_scales, row_bytes

KINDS = sorted(LAYOUTS)
ROWS, COLUMNS = 64, 1024


def blocks(kind: str, seed: int = 0, deviation: float = 0.02, equal_groups: int = 1) -> np.ndarray:
    out = np.empty((ROWS, row_bytes(kind, COLUMNS)), np.uint8)
    fill_random(out, kind, deviation, np.random.default_rng(seed), equal_groups)
    return out


def dequantised(raw: np.ndarray, kind: str) -> np.ndarray:
    gguf = pytest.importorskip("gguf")
    return gguf.dequantize(raw, gguf.GGMLQuantizationType[kind.upper()])


@pytest.mark.parametrize("kind", KINDS)
def test_the_sizes_are_those_of_the_format(kind: str) -> None:
    gguf = pytest.importorskip("gguf")
    weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind.upper()]]
    assert (weights, size) == (kquant_blocks.BLOCK_WEIGHTS, LAYOUTS[kind].block_bytes)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_are_finite_centred_and_as_large_as_asked(kind: str) -> None:
    weights = dequantised(blocks(kind), kind)
    assert weights.shape == (ROWS, COLUMNS)
    assert np.isfinite(weights).all()
    assert abs(weights.mean()) < 0.002
    # d is varied uniformly by half: the deviation grows by sqrt(1 + 1/12).
    assert weights.std() == pytest.approx(0.02 * (13 / 12) ** 0.5, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_even_the_smallest_weights_asked_for_are_not_all_zero(kind: str) -> None:
    weights = dequantised(blocks(kind, deviation=65536**-0.5), kind)
    assert 0.003 < weights.std() < 0.005


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_bytes_and_another_others(kind: str) -> None:
    assert np.array_equal(blocks(kind), blocks(kind))
    assert not np.array_equal(blocks(kind), blocks(kind, seed=1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [1, 2, 8])
def test_neighbouring_groups_are_alike_as_asked(kind: str, equal: int) -> None:
    # With the same quants everywhere, groups are alike exactly where their scales are.
    raw = blocks(kind, equal_groups=equal).reshape(-1, LAYOUTS[kind].block_bytes)
    raw[:, slice(0, 192) if kind == "q6_k" else slice(16, None)] = 0xFF
    groups = LAYOUTS[kind].groups
    weights = dequantised(raw, kind).reshape(len(raw), groups, -1)[..., 0]
    runs = weights.reshape(len(raw), groups // equal, equal)
    assert (runs == runs[..., :1]).all()
    between = weights[:, equal::equal] == weights[:, :-equal:equal]
    assert not between.size or between.mean() < 0.1


def test_scales_are_packed_as_llama_cpp_unpacks_them() -> None:
    quants = pytest.importorskip("gguf.quants")
    rng = np.random.default_rng(0)
    scales, minima = rng.integers(0, 64, (2, 1000, 8), dtype=np.uint8)
    found = quants.Q4_K.get_scale_min(pack_scales(scales, minima))
    assert np.array_equal(found[0], scales)
    assert np.array_equal(found[1], minima)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: row_bytes("q3_k", 256), "unknown k-quant 'q3_k'; known: q4_k, q5_k, q6_k"),
        (lambda: row_bytes("q4_k", 1000), "1000 weights is no multiple of 256"),
        (lambda: blocks("q5_k", equal_groups=3), "8 groups are not runs of 3"),
    ],
)
def test_what_is_no_block_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_switch_overrules_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("ET_MLX_EMIT_DIRECT_GGUF", "1")
    set_switches({"family": "whisper"})
    assert os.environ["ET_MLX_EMIT_DIRECT_GGUF"] == "1"
    set_switches({"family": "kquant", "emit_direct_gguf": False})
    assert os.environ["ET_MLX_EMIT_DIRECT_GGUF"] == "0"


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ValueError, match="known: whisper, kquant"):
        load_family("llama")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal", [1, 4])
def test_our_dequantiser_is_llama_cpps(kind: str, equal: int) -> None:
    raw = blocks(kind, equal_groups=equal)
    assert np.allclose(dequantise(raw, kind), dequantised(raw, kind), rtol=1e-6, atol=1e-9)
