"""GGUF files, made here with llama.cpp's own writer: what is read of them, and what is refused."""

from itertools import permutations
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import load
from bench.errors import RequestError
from bench.gguf_file import Tensor, read_gguf, stacked
from bench.plan import make_plan

WIDTH, WIDER, VOCAB, KEYS, QUERIES = 256, 512, 64, 128, 768
# In the order of files that were converted from safetensors: of a block `ffn_down` comes first.
SHAPES = {
    "token_embd.weight": (VOCAB, WIDTH),
    "blk.0.ffn_down.weight": (WIDTH, WIDER),
    "blk.0.ffn_gate.weight": (WIDER, WIDTH),
    "blk.0.ffn_up.weight": (WIDER, WIDTH),
    "blk.0.attn_k.weight": (KEYS, WIDTH),
    "blk.0.attn_output.weight": (WIDTH, QUERIES),  # as Qwen 3: heads wider than the stream
    "blk.0.attn_q.weight": (QUERIES, WIDTH),
    "blk.0.attn_v.weight": (KEYS, WIDTH),
}
STACK = ("attn_k", "attn_q", "attn_output", "attn_v", "ffn_gate", "ffn_down", "ffn_up")
Shapes = dict[str, tuple[int, ...]]


def linears(blocks: int) -> list[Tensor]:
    """Linears as above, of several blocks."""
    return [
        Tensor(name.replace("blk.0", f"blk.{block}"), "q4_k", *shape, offset=0)
        for block in range(blocks)
        for name, shape in SHAPES.items()
        if name.startswith("blk.")
    ]


def write(path: Path, kind: str = "Q8_0", shapes: Shapes = SHAPES) -> Path:
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
        row = shape[-1] // weights * size
        data = rng.integers(0, 120, (*shape[:-1], row), dtype=np.uint8)
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


@given(st.permutations(linears(12)))
def test_the_stack_is_of_names_and_shapes_whatever_the_files_order(order: list[Tensor]) -> None:
    found = [tensor.name for tensor in stacked(order, WIDTH)]
    assert found == [f"blk.{block}.{name}.weight" for block in range(12) for name in STACK]


def test_a_linear_takes_what_an_earlier_block_gives_where_its_own_does_not() -> None:
    chain = [
        Tensor("blk.0.up", "f16", 3, WIDTH, 0),
        Tensor("blk.1.a", "f16", 5, 3, 0),
        Tensor("blk.1.b", "f16", WIDTH, 5, 0),
    ]
    assert all(stacked(order, WIDTH) == chain for order in permutations(chain))
    with pytest.raises(ValueError, match=r"^blk.1.b takes 5 inputs, which neither"):
        stacked([chain[0], chain[2]], WIDTH)


@pytest.mark.parametrize("head", [{}, {"output.weight": (VOCAB, WIDTH)}])
def test_files_in_any_order_are_one_model(tmp_path: Path, head: Shapes) -> None:
    shapes = {**head, **SHAPES}
    forth, back = (
        read_gguf(str(write(tmp_path / f"{name}.gguf", "F16", dict(order)))).tensors
        for name, order in (("forth", shapes.items()), ("back", reversed(shapes.items())))
    )
    names = [f"blk.0.{name}.weight" for name in STACK]
    assert [tensor.name for tensor in forth] == ["token_embd.weight", *names, *head]
    assert [tensor.name for tensor in back] == [tensor.name for tensor in forth]


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
        (
            "Q4_K",
            {**SHAPES, "blk.0.ffn_down_exps.weight": (8, WIDTH, WIDER)},
            "blk.0.ffn_down_exps.weight is 3-D",
        ),
        (
            "F16",
            {"v.patch_embd.weight": (WIDTH, 3, 14, 14), **SHAPES},
            "v.patch_embd.weight is 4-D",
        ),
        (
            "F16",
            {**SHAPES, "blk.0.other.weight": (WIDTH, 31)},
            "tiny.gguf: blk.0.other.weight takes 31 inputs",
        ),
        ("F16", {**SHAPES, "output.weight": (VOCAB, WIDER)}, "output.weight takes 512 inputs"),
    ],
)
def test_what_can_not_be_exported_is_named(
    tmp_path: Path, kind: str, shapes: Shapes, message: str
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
