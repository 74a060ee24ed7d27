"""What a worker is told of the runner and the inputs of its program, and a record of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench import executor_runner
from bench.environment import Environment
from bench.environment.native import NoRunnerError, native_runner
from bench.jobs import Job
from bench.programs import Program
from bench.pte import read_program


def of_run(job: Job, environment: Environment, program: Program) -> dict[str, Any]:
    """Return what the worker is told of what runs the program, and of what that is fed.

    Raises:
        NoRunnerError: there is no such runner here, or it can't be fed.

    """
    if job.own_runner:
        given = executor_runner.feeding(read_program(str(program.path)), job.request["method"])
        other = executor_runner.changed(job.own_runner)
        if other or isinstance(given, str):
            raise NoRunnerError(other or str(given))
        if job.program:  # which has its inputs in the request: those of a bundle, say
            given.pop("inputs")
        return {"executor_runner": job.own_runner, **given}
    native = job.cells[0].runner == "native"
    binary = {"binary": str(native_runner(environment))} if native else {}
    return {**binary, **inputs(job, program)}


def of_binary(runner: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of the user's binary in the place of an environment."""
    return {
        "rung": "own",
        "why": f"your own binary {runner['label']}, measured from outside, at the largest sizes",
        "torch": None,
        "build_key": runner["sha256"][:12],
        "packages_hash": None,
        "runtime_sha": None,
    }


def inputs(job: Job, program: Program) -> dict[str, Any]:
    """Return what a run is told of its inputs, where only the export knew them.

    And whether its outputs must be finite: of a program from elsewhere they may be what they will,
    as nothing is known of what its inputs mean.
    """
    found = program.info.get("inputs", {}).get(job.request["method"])
    return {"finite": job.program is None, **({"inputs": found} if found else {})}
