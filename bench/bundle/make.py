"""Make a bundle: the program, its inputs written by a worker, what the program gives here."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.bundle.manifest import FORMAT, NAME, OUTPUT_SHA, SUMS, sums_text
from bench.disk import writing
from bench.errors import BuildError
from bench.jobs import Job, Plan, as_export
from bench.measurer import Measurer
from bench.programs import Program, ProgramStore
from bench.progress import Unwatched
from bench.request import Request
from bench.results.record import RunFolder, write_whole
from bench.revision import Revisions


def make_bundle(
    request: Request,
    plan: Plan,
    target: Path,
    command: str,
    revisions: Revisions,
    say: Callable[[str], None],
) -> Mapping[str, Any]:
    """Make the bundle of a request in ``target``; return its manifest.

    Args:
        request: of one program.
        plan: the runs of its methods, and its export where it has none.
        target: the folder; it appears whole, in the place of what is there, or not at all.
        command: that makes it again.
        revisions: gives the environments.
        say: tells the user one line.

    Raises:
        BuildError: if there can be no program or no inputs, with the reason.
        DiskError: if a disk is full.

    """
    programs = revisions.programs()
    revisions.say = say
    with writing(target), tempfile.TemporaryDirectory() as scratch:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(Path(scratch))
        measurer = Measurer(
            folder, revisions, programs, request.limits, Unwatched(say), check=request.check
        )
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        partial.mkdir()
        try:
            content = _filled(partial, plan, measurer, programs, say)
            manifest = {**content, "command": command}
            write_whole(partial / NAME, json.dumps(manifest, indent=2) + "\n")
            write_whole(partial / SUMS, sums_text(manifest))
            before = target.with_name(f".{target.name}.replaced.{os.getpid()}")
            if target.exists():
                target.rename(before)
            partial.rename(target)
            shutil.rmtree(before, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _filled(
    folder: Path, plan: Plan, measurer: Measurer, programs: ProgramStore, say: Callable[[str], None]
) -> dict[str, Any]:
    """Put the files into a folder; return all of the manifest but how it was made."""
    first = plan.jobs[0]
    export = first if first.kind == "export" else as_export(first)
    record = measurer.program(export)
    if record["status"] != "ok":
        raise BuildError(f"no program to bundle: {record['status']}: {record['reason']}")
    info, cell = record["program"], export.cells[0]
    program = Program(programs.root / f"{info['pte_sha256']}.pte", info)
    name = f"{file_name(cell.model)}-{cell.precision}-{cell.backend}.pte"
    shutil.copyfile(program.path, folder / name)
    methods = {}
    for job in plan.jobs:
        if job.kind == "run":
            method = job.cells[0].method
            inputs = _inputs(measurer, job, program, folder)
            say(f"{method}: {len(inputs)} input{'s' * (len(inputs) != 1)}")
            expected = _expected(measurer, job)
            if expected["status"] != "ok":
                say(f"{method}: outputs are not known: {expected['status']}: {expected['reason']}")
            methods[method] = {"inputs": inputs, "expected": expected}
    return {
        "format": FORMAT,
        "model": cell.model,
        "precision": cell.precision,
        "backend": cell.backend,
        "exporter": cell.exporter,
        "exporter_sha": record["exporter_sha"],
        "torch": record["torch"],
        "seed": cell.seed,
        "stored_dtype": info.get("stored_dtype"),
        "compute_dtype": info.get("compute_dtype"),
        "program": {"file": name, "bytes": info["pte_bytes"], "sha256": info["pte_sha256"]},
        "methods": methods,
        "output_sha": OUTPUT_SHA,
    }


def file_name(model: str) -> str:
    """Return a model's name with nothing that a shell or a phone takes amiss.

    >>> file_name("tiny[n_text_layer=1]")
    'tiny-n_text_layer-1'
    """
    return re.sub(r"[^\w.]+", "-", model, flags=re.ASCII).strip("-")


def _inputs(measurer: Measurer, job: Job, program: Program, folder: Path) -> list[dict[str, Any]]:
    outcome = measurer.write_inputs(job, program, folder)
    if outcome.status != "ok":
        raise BuildError(f"no inputs of {job.label}: {outcome.reason}")
    result = next(event for event in outcome.events if event["event"] == "result")
    found = []
    for each in result["inputs"]:
        content = (folder / each["file"]).read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        found.append({**each, "bytes": len(content), "sha256": sha256})
    return found


def _expected(measurer: Measurer, job: Job) -> dict[str, Any]:
    """Return what the method gives here; where it did not run to its end, why not."""
    record = measurer.measure(job)
    if record["status"] != "ok":
        return {"status": record["status"], "reason": record["reason"]}
    result = next(event for event in reversed(record["events"]) if event["event"] == "result")
    return {
        "status": "ok",
        "runtime": job.cells[0].runtime,
        "machine": record["machine"],
        "output_sha": result["output_sha"],
        "outputs": result.get("outputs", []),
    }
