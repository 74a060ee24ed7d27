"""How much memory an export will need, where that can be known before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.plan import Job, Plan
from bench.values import format_mb

# Bytes of a weight: see et_worker/models/kquant_blocks.py.
_BYTES = {"q4_k": 144 / 256, "q5_k": 176 / 256, "q6_k": 210 / 256}
# Peak of a k-quant export on MLX over the bytes of its weights, after and before pull request
# 21795 (which reports 48.3 and 66.6 GB for 18.8 GB), and what the imports keep.
_LEAST, _MOST = 2.6, 3.6
_IMPORTS = 400_000_000


def kquant_weights(model: Mapping[str, Any]) -> int:
    """Return how many weights a k-quant model has, all its parts together."""
    parts = (model.get("parts") or {"forward": model}).values()
    return sum(int(p["width"]) * (p["vocab"] + p["width"] * p["layers"]) for p in parts)


def refuse_too_large(plan: Plan, memory: int) -> Plan:
    """Return the plan with every export that can't fit marked as not to be started."""

    def judged(job: Job) -> Job:
        if job.unsupported or job.kind != "export":
            return job
        return replace(job, unsupported=too_large(job.request, memory))

    return Plan(tuple(judged(job) for job in plan.jobs))


def too_large(request: Mapping[str, Any], memory: int) -> str | None:
    """Say why an export can't be done on a machine with so many bytes; None if it may fit.

    Args:
        request: what the worker is asked for.
        memory: of the machine.

    """
    model = request["model"]
    if model.get("family") != "kquant":
        return None
    weights = kquant_weights(model) * _BYTES[request["precision"]["name"]]
    if weights * _LEAST + _IMPORTS <= memory:
        return None
    least, most = (format_mb(weights * share + _IMPORTS) for share in (_LEAST, _MOST))
    return (
        f"exporting {format_mb(weights)} MB of weights takes about {least} MB of memory, "
        f"{most} before pull request 21795; this machine has {format_mb(memory)}"
    )
