"""Every exception becomes a kind and one line."""

import runpy
from pathlib import Path

import pytest
from et_worker.failures import OutputError, UnsupportedError, WorkerError, describe


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (UnsupportedError("no MLX here"), "unsupported", "no MLX here"),
        (
            OutputError("2 of 3 values are not finite"),
            "output",
            "2 of 3 values are not finite",
        ),
        (WorkerError("there is no program at x"), "exception", "there is no program at x"),
        (MemoryError(), "memory", "lower: MemoryError()"),
        (KeyError("weights"), "exception", "lower: KeyError: 'weights'"),
        (RuntimeError("\n  first\nsecond\n"), "exception", "lower: RuntimeError: first"),
    ],
)
def test_describe(error: Exception, kind: str, reason: str) -> None:
    assert describe(error, "lower") == (kind, reason)


def test_the_line_of_a_script_that_led_to_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def outer(f):\n    return inner(f)\n\ndef inner(f):\n    return f()\n")
    outer = runpy.run_path(str(path))["outer"]
    with pytest.raises(ValueError) as caught:
        outer(lambda: int("x"))  # its innermost line is not the last of all
    said = "ValueError: invalid literal for int() with base 10: 'x'"
    _, reason = describe(caught.value, "torch.export", str(path))
    assert reason == f"torch.export: mine.py, line 5: {said}"
    for other in (str(tmp_path / "other.py"), None):
        assert describe(caught.value, "torch.export", other)[1] == f"torch.export: {said}"


@pytest.mark.parametrize(
    "text",
    [
        "[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 9 bytes. Error code 12 (Cannot allocate memory)",
        "Failed to load method encode, error: 0x21",
        "loading method encode failed with error 0x21",
        "method->execute() failed with error code: 0x21",
    ],
)
def test_allocators_that_raise_something_else_are_out_of_memory(text: str) -> None:
    assert describe(RuntimeError(text), None)[0] == "memory"


def test_0x21_inside_another_number_is_not_out_of_memory() -> None:
    assert describe(RuntimeError("bad pointer at 0x21fe"), None)[0] == "exception"


def test_a_long_reason_is_cut() -> None:
    _, reason = describe(ValueError("x" * 10_000), "build")
    assert len(reason) == 400
    assert reason.endswith("…")


def test_a_message_of_executorchs_that_says_little_is_explained_and_kept() -> None:
    error = ValueError("Duplicate key 473e/linears.0.weight with different data. Existing size: 1")
    _, reason = describe(error, "lower")
    assert reason.startswith("lower: ValueError: methods of equal graphs and other weights")
    assert "473e/linears.0.weight" in reason
