"""GGUF files, made here with llama.cpp's own writer: what is read of them, and what is refused."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from bench.config import load
from bench.errors import RequestError
from bench.gguf_file import read_gguf
from bench.plan import make_plan

WIDTH, WIDER, VOCAB, KEYS = 256, 512, 64, 128
SHAPES = {
    "token_embd.weight": (VOCAB, WIDTH),
    "blk.0.attn_q.weight": (WIDTH, WIDTH),
    "blk.0.attn_k.weight": (KEYS, WIDTH),
    "blk.0.ffn_up.weight": (WIDER, WIDTH),
    "blk.0.ffn_down.weight": (WIDTH, WIDER),
}


def write(path: Path, kind: str = "Q8_0", shapes: dict[str, tuple[int, int]] = SHAPES) -> Path:
    """Write a Llama-like file of one block; norms are there, as vectors, as in a real one."""
    writer = gguf.GGUFWriter(path, "llama")
    rng = np.random.default_rng(0)
    quant = gguf.GGMLQuantizationType[kind]
    for name, shape in shapes.items():
        if kind in ("F16", "F32"):
            weights = rng.normal(size=shape).astype(np.float16 if kind == "F16" else np.float32)
            writer.add_tensor(name, weights)
            continue
        weights, size = gguf.GGML_QUANT_SIZES[quant]
        row = shape[1] // weights * size
        data = rng.integers(0, 120, (shape[0], row), dtype=np.uint8)
        blocks = data.reshape(-1, size)  # any quants are valid, but scales are to be of a size
        if kind == "Q4_K":
            blocks[:, :4] = np.array([0.001, 0.0075], "<f2").view(np.uint8)
            blocks[:, 4:16] |= 1  # no scale of 0: ExecuTorch loses the minimum of such a group
        elif kind == "Q6_K":
            blocks[:, -2:] = np.array([0.001], "<f2").view(np.uint8)
        writer.add_tensor(name, data, raw_dtype=quant)
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", ["Q4_K", "Q6_K", "F16"])
def test_the_matrices_are_read_with_type_shape_and_place(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "tiny.gguf", kind)
    file = read_gguf(str(path))
    assert {t.name: (t.rows, t.columns) for t in file.tensors} == SHAPES
    assert {t.kind for t in file.tensors} == {kind.lower()}
    data = path.read_bytes()
    (down,) = (t for t in file.tensors if "ffn_down" in t.name)
    wanted = next(t for t in gguf.GGUFReader(path).tensors if t.name == down.name).data
    assert data[down.offset :].startswith(np.ascontiguousarray(wanted).tobytes())


def test_it_is_one_export_named_by_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf", "Q4_K")
    (job,) = make_plan(load(["model=gguf", f"gguf={path}"]), "linux-x86_64").jobs
    cell = job.cells[0]
    assert (cell.model, cell.precision, cell.backend, cell.method) == (
        "tiny",
        "gguf",
        "mlx",
        "export",
    )
    assert (job.source, job.unsupported, cell.allocator) == (str(path), None, "fixed")
    assert str(tmp_path) not in str(job.request)


@pytest.mark.parametrize(
    ("kind", "shapes", "message"),
    [
        ("Q8_0", SHAPES, "token_embd.weight is Q8_0; ExecuTorch exports Q4_K"),
        ("Q4_K", {"blk.0.attn_q.weight": (WIDTH, WIDTH)}, "has no token_embd.weight"),
    ],
)
def test_what_can_not_be_exported_is_named(
    tmp_path: Path, kind: str, shapes: dict, message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        read_gguf(str(write(tmp_path / "tiny.gguf", kind, shapes)))


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"PK\x03\x04" * 100])
def test_what_is_no_file_of_the_kind_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RequestError, match="gguf: ") as error:
        read_gguf(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=gguf"], "go together"),
        (["gguf={path}"], "go together"),
        (["model=gguf,kquant", "gguf={path}", "precision=gguf"], "not with other models"),
        (["model=gguf", "gguf={path}", "method=encode"], "export"),
        (["model=gguf", "gguf={path}", "precision=q4_k"], "tiny takes gguf, not q4_k"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    path = write(tmp_path / "tiny.gguf", "Q4_K")
    with pytest.raises(RequestError, match=message):
        load([word.format(path=path) for word in words])
