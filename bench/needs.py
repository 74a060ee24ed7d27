"""How much memory a measurement will need, where that can be known before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bench.jobs import Job, Plan, as_export, digest, job_id
from bench.values import format_mb

# Bytes of a weight: see et_worker/models/kquant_blocks.py.
_BYTES = {"q4_k": 144 / 256, "q5_k": 176 / 256, "q6_k": 210 / 256}
# Peak of a k-quant export on MLX over the bytes of its weights, after and before pull request
# 21795 (which reports 48.3 and 66.6 GB for 18.8 GB), and what the imports keep.
_LEAST, _MOST = 2.6, 3.6
_IMPORTS = 400_000_000
# Whole peak of an export on XNNPACK, the larger one: so much, and per byte of the weights in fp32.
# Whisper tiny, 150 MB, took 1.1 GB, and small, 970 MB, 3.7 GB.
_EXPORT = (650_000_000, 3.4)
# The same of running a program from elsewhere, per byte of its file: mapped, and packed anew.
_RUN = (400_000_000, 2.0)


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


def memory_need(job: Job, known: Mapping[str, int]) -> int | None:
    """Estimate the whole RSS that a measurement takes at its peak, in bytes.

    Of a run that is the larger one of its own and its export's: where nobody kept the program, the
    process that is to run it exports it first.

    Args:
        job: the measurement.
        known: the highest RSS of each that was measured before (see :func:`peaks`).

    Returns:
        None where nothing is known of it: a user's script that was never measured.
    """
    if job.unsupported:
        return 0
    measured = known.get(job_id(job))
    if job.kind == "run" and job.program is None:
        export = memory_need(as_export(job), known)
        return None if export is None else max(export, measured or 0)
    if measured is not None:
        return measured
    if job.program is not None:
        return _RUN[0] + int(_RUN[1] * job.program.size)
    model = job.request["model"]
    match model["family"]:
        case "kquant":
            weights = kquant_weights(model) * max(_BYTES.values())
            return int(weights * _MOST) + _IMPORTS
        case "gguf":
            tensors = model["tensors"]  # f32 and f16 are stored as bf16, of two bytes
            weights = sum(t["rows"] * t["columns"] * _BYTES.get(t["kind"], 2) for t in tensors)
            return int(weights * _MOST) + _IMPORTS
        case "script":
            return None
    return _EXPORT[0] + int(_EXPORT[1] * _whisper_bytes(model))


def _whisper_bytes(model: Mapping[str, Any]) -> int:
    """Return about how many bytes the weights of a Whisper take in fp32.

    A block of width d has 12 d^2 weights, one of the decoder, which also looks at the audio, 16.
    """
    audio, text = int(model["n_audio_state"]), int(model["n_text_state"])
    blocks = 12 * audio**2 * int(model["n_audio_layer"]) + 16 * text**2 * int(model["n_text_layer"])
    return 4 * (blocks + text * int(model["n_vocab"]))


def peaks(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the highest RSS seen of each measurement in earlier records, by its job id."""
    found: dict[str, int] = {}
    for record in records:
        key = digest([cell["key"] for cell in record["cells"]])
        seen = [event.get("peak_bytes") for event in record["events"]]
        seen += [record.get("sampled_peak_bytes"), record.get("rusage_peak_bytes")]
        if highest := max(filter(None, seen), default=0):
            found[key] = max(highest, found.get(key, 0))
    return found
