"""What a cell says of the runner that executes its program. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench import executor_runner
from bench.request import Choice, Request

LARGEST_ONLY = f"{executor_runner.NAME} takes the largest sizes only"


def own_runner(choice: Choice) -> Mapping[str, Any] | None:
    """Return the user's binary, where that is the runner: its path and what it can be told."""
    return choice.runner if choice.runner["name"] == executor_runner.NAME else None


def run_by(request: Request, choice: Choice) -> dict[str, Any]:
    """Return what a run's content says of its runner.

    From outside, the executions of one process can't be told apart: there is one for each count.
    """
    own = own_runner(choice)
    if own:
        return {"marks": list(request.iterations), "runner_sha256": own["sha256"]}
    # The first execution is always told apart.
    marks = sorted({1, *request.iterations})
    return {"marks": marks, "load_mode": choice.runner["load_mode"]}


def runtime_of(choice: Choice, revision: str) -> str:
    """Return what runs the program: a revision, or the user's binary, whatever it was built of."""
    own = own_runner(choice)
    return str(own["label"]) if own else revision


def cannot_feed(choice: Choice, samples: int | None) -> str | None:
    """Say why a runner can't be fed a waveform of that length; None where it can."""
    if own_runner(choice) is None or samples is None:
        return None
    most = choice.model["samples"]["max"]
    if samples == most:
        return None
    return f"{LARGEST_ONLY}: samples={most}"
