"""What the user's binary is told: by the flags that it has."""

from pathlib import Path

import pytest
from et_worker.executor_runner import command
from et_worker.failures import UnsupportedError

FILES = [Path("/w/0.bin"), Path("/w/1.bin")]
ALL = ["model_path", "num_executions", "method_name", "inputs", "output_file", "print_output"]


def request(flags: list[str], method: str = "decode") -> dict:
    runner = {"path": "/b/er", "flags": flags}
    return {"executor_runner": runner, "program": "/p.pte", "method": method, "first": "encode"}


def test_the_newest_is_told_all() -> None:
    assert command(request(ALL), FILES) == [
        *("/b/er", "--model_path=/p.pte", "--method_name=decode"),
        *("--inputs=/w/0.bin,/w/1.bin", "--print_output=none"),
    ]


def test_without_a_flag_for_the_method_only_the_first_can_be_run() -> None:
    old = ["model_path", "num_executions", "inputs", "output_file"]
    assert command(request(old, "encode"), FILES[:1]) == [
        *("/b/er", "--model_path=/p.pte", "--inputs=/w/0.bin"),
    ]
    with pytest.raises(UnsupportedError, match=r"has no --method_name and runs .* encode"):
        command(request(old), FILES)


def test_what_cannot_be_fed() -> None:
    with pytest.raises(UnsupportedError, match="no --inputs"):
        command(request(["model_path", "num_executions", "method_name"]), FILES)
    assert len(command(request(["model_path", "num_executions", "method_name"]), [])) == 3
