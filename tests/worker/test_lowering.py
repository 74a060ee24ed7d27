"""The names on the row, over stand-ins for torch's modules."""

from types import SimpleNamespace

import pytest
from et_worker.failures import UnsupportedError
from et_worker.lowering import compute_dtype, load_lowering, stored_dtype

FP32 = {"weights": "float32", "compute": "float32", "quantize": None, "group_size": None}


class Weight:
    def __init__(self, dtype: str, count: int, quantized: bool = False) -> None:
        self.dtype, self.count = f"torch.{dtype}", count
        if quantized:
            self.qdata = self

    def numel(self) -> int:
        return self.count

    def element_size(self) -> int:
        return {"float32": 4, "bfloat16": 2, "int8": 1}[self.dtype.removeprefix("torch.")]


def module(*parameters: Weight, buffers: tuple[Weight, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(parameters=lambda: parameters, buffers=lambda: buffers)


def test_a_dtype_with_little_in_it_is_not_named() -> None:
    assert (
        stored_dtype([module(Weight("bfloat16", 1000), Weight("float32", 20))], FP32) == "bfloat16"
    )


def test_quantized_weights_count_as_their_bits() -> None:
    int4 = {**FP32, "quantize": "8da4w", "group_size": 32}
    linear = Weight("float32", 1000, quantized=True)
    assert stored_dtype([module(linear, Weight("float32", 200))], int4) == "float32+int4"
    assert stored_dtype([module(linear, Weight("float32", 100))], int4) == "int4+float32"
    # However little of it there is: it is what was asked for.
    assert stored_dtype([module(linear, Weight("float32", 9000))], int4) == "float32+int4"


def test_a_shared_weight_counts_once() -> None:
    shared = Weight("float32", 100)
    parts = [module(shared), module(shared, buffers=(Weight("bfloat16", 300),))]
    assert stored_dtype(parts, FP32) == "bfloat16+float32"


@pytest.mark.parametrize(
    ("quantize", "compute", "name"),
    [
        (None, "float32", "float32"),
        (None, "bfloat16", "bfloat16"),
        ("8w", "bfloat16", "bfloat16"),
        ("8da8w", "float32", "int8-dynamic+float32"),
        ("8da4w", "float32", "int8-dynamic+float32"),
    ],
)
def test_compute_dtype(quantize: str | None, compute: str, name: str) -> None:
    assert compute_dtype({**FP32, "quantize": quantize, "compute": compute}) == name


def test_what_cannot_be_lowered_is_refused_without_importing_anything() -> None:
    with pytest.raises(ValueError, match="unknown backend 'tpu'; known: xnnpack, mlx, portable"):
        load_lowering("tpu", FP32)
    with pytest.raises(ValueError, match="unknown quantization '3w'"):
        load_lowering("mlx", {**FP32, "quantize": "3w"})
    with pytest.raises(UnsupportedError, match="no quantized linear"):
        load_lowering("portable", {**FP32, "quantize": "8da8w"})
