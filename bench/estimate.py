"""How long a plan will take: from earlier runs where they have the job, else a rough rule. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.jobs import Job, Plan, as_export, digest, job_id
from bench.needs import kquant_weights
from bench.values import format_seconds

# Seconds of an export: fixed + per transformer block. Rough, from 2 x86-64 cores; a plan that
# was measured before uses what it took then.
_EXPORT = {"xnnpack": (20.0, 8.0), "mlx": (12.0, 1.5), "portable": (12.0, 1.0)}
# A backend that nobody has timed yet is taken for the slowest to export.
_EXPORT_OTHER = _EXPORT["xnnpack"]
# Seconds per execution and million encoder parameters; a portable kernel is no GEMM library.
_EXECUTE = {"xnnpack": 0.03, "mlx": 0.01, "portable": 5.0}
_EXECUTE_OTHER = _EXECUTE["xnnpack"]
_START_S = 6.0
# Seconds per execution of a program from elsewhere, and GB of its file: XNNPACK's 1.4 for the
# encoder of Whisper tiny in fp32.
_EXECUTE_GIVEN = 1.4
# Seconds of one process of a user's model, of which nothing is known before it was measured once.
_SCRIPT_S = 20.0
# Seconds of a k-quant export: fixed + per million weights; older revisions repack them four times.
_EXPORT_KQUANT = (9.0, 0.015)


@dataclass(frozen=True)
class Estimate:
    """How long a plan takes.

    Attributes:
        seconds: for its jobs.
        jobs: how many they are.
        from_history: how many of them were measured before.
        programs: how many programs are no job of the plan, but are exported where the store has
            none.
        programs_s: the seconds of all these exports.
    """

    seconds: float
    jobs: int
    from_history: int
    programs: int
    programs_s: float


def history(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the median seconds of each measurement in earlier records, by :func:`job_id`."""
    took: dict[str, list[float]] = {}
    for record in records:
        if record["status"] == "ok":
            keys = [cell["key"] for cell in record["cells"]]
            took.setdefault(digest(keys), []).append(record["total_s"])
    return {key: median(values) for key, values in took.items()}


def seconds_of(job: Job, known: Mapping[str, float]) -> float:
    """Estimate one job's seconds."""
    if job.unsupported:
        return 0.0
    measured = known.get(job_id(job))
    if measured is not None:
        return measured
    if job.program is not None:
        executions = int(max(job.request["marks"]))
        return _START_S + executions * _EXECUTE_GIVEN * job.program.size / 1e9
    model = job.request["model"]
    backend = job.cells[0].backend
    if model["family"] == "gguf":
        weights = sum(int(each["rows"]) * int(each["columns"]) for each in model["tensors"])
        return _EXPORT_KQUANT[0] + _EXPORT_KQUANT[1] * weights / 1e6
    if model["family"] == "script":
        return _SCRIPT_S
    if model["family"] == "kquant":
        return _EXPORT_KQUANT[0] + _EXPORT_KQUANT[1] * kquant_weights(model) / 1e6
    if job.kind == "export":
        fixed, per_block = _EXPORT.get(backend, _EXPORT_OTHER)
        blocks = int(model["n_audio_layer"]) + int(model["n_text_layer"])
        return fixed + per_block * blocks
    # Millions of encoder parameters: 12 d^2 per block.
    width, layers = int(model["n_audio_state"]), int(model["n_audio_layer"])
    per_execution = 0.4 + _EXECUTE.get(backend, _EXECUTE_OTHER) * 12e-6 * width * width * layers
    executions = int(max(job.request["marks"]))
    share = 1.0 if job.cells[0].method == "encode" else 0.25
    return _START_S + share * executions * per_execution


def exports_first(jobs: Iterable[Job], met: Collection[str] = ()) -> list[Job]:
    """Return the exports that run jobs bring along where the store lacks their program.

    Args:
        jobs: in their order.
        met: export keys of which the program is there, or known not to be had.
    """
    there = set(met)
    found = []
    for job in jobs:
        needed = job.kind == "run" and job.program is None and job.unsupported is None
        if needed and job.export_key not in there:
            found.append(as_export(job))
        there.add(job.export_key)
    return found


def seconds_left(jobs: Iterable[Job], known: Mapping[str, float], met: Collection[str]) -> float:
    """Estimate the jobs, with the exports that they may bring along; ``met`` as above."""
    jobs = list(jobs)
    return sum(seconds_of(job, known) for job in [*jobs, *exports_first(jobs, met)])


def estimate(plan: Plan, known: Mapping[str, float], met: Collection[str] = ()) -> Estimate:
    """Estimate a whole plan; ``met`` as above."""
    first = exports_first(plan.jobs, met)
    return Estimate(
        sum(seconds_of(job, known) for job in plan.jobs),
        len(plan.jobs),
        sum(job_id(job) in known for job in plan.jobs),
        len(first),
        sum(seconds_of(job, known) for job in first),
    )


def programs_first(estimate: Estimate) -> str:
    """Say what exports may come on top of an estimate; empty where none do."""
    if not estimate.programs:
        return ""
    programs = "program" if estimate.programs == 1 else f"{estimate.programs} programs"
    return (
        f", and up to {format_seconds(estimate.programs_s)} to export the {programs} "
        "where not stored yet"
    )
