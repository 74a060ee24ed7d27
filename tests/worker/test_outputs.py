"""Outputs that can't be right are an error that counts them."""

from types import SimpleNamespace

import pytest
from et_worker.failures import OutputError, describe
from et_worker.outputs import OutputSummary, check_finite


def output(finite: int, count: int) -> tuple[SimpleNamespace, OutputSummary]:
    tensor = SimpleNamespace(
        numel=lambda: count, isfinite=lambda: SimpleNamespace(sum=lambda: finite)
    )
    return tensor, OutputSummary("float32", [count], finite == count, 0.0, 0.0)


def test_finite_outputs_pass() -> None:
    tensor, summary = output(6, 6)
    check_finite("encode", [tensor], [summary])


def test_the_first_output_that_is_not_finite_is_named() -> None:
    good, bad = output(6, 6), output(3, 7)
    with pytest.raises(OutputError) as caught:
        check_finite("decode", [good[0], bad[0]], [good[1], bad[1]])
    assert describe(caught.value, "loop") == (
        "output",
        "decode output 1: 4 of 7 values are not finite",
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_plain_value_that_is_not_finite_is_named_too(value: float) -> None:
    plain = OutputSummary("float", [], False, 0.0, 0.0)
    with pytest.raises(OutputError, match=f"score output 0 is {value}"):
        check_finite("score", [value], [plain])


def test_no_output_is_no_result() -> None:
    with pytest.raises(OutputError, match="encode returned nothing"):
        check_finite("encode", [], [])
