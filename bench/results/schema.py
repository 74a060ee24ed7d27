"""The columns of the tables, their meaning and their types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "Int64", "float64"]


@dataclass(frozen=True)
class Column:
    """A column of ``measurements.csv`` or ``phases.csv``.

    Attributes:
        name: as in the CSV.
        type: pandas dtype; every type can hold a missing value.
        meaning: one line, with the unit.
        published: whether ``nox -s publish`` keeps it (what changes from run to run of the
            very same measurement is left out, so that two publications diff well).

    """

    name: str
    type: Type
    meaning: str
    published: bool = True


MEASUREMENTS = (
    Column("model", "string", "model of conf/model; or the name of the file, by pte="),
    Column("precision", "string", "precision asked for; unknown of a program from elsewhere"),
    Column("backend", "string", "delegate the program was lowered to"),
    Column("method", "string", "export, or the method run"),
    Column("iterations", "Int64", "executions in this process so far; empty for an export"),
    Column("samples", "Int64", "waveform length, 16 kHz; for an export its upper bound"),
    Column("max_tokens", "Int64", "length of the decoder's static KV cache"),
    Column("seed", "Int64", "of the weights and the inputs"),
    Column("runner", "string", "what executed the program: python, native, executor_runner"),
    Column("exporter", "string", "revision that wrote the program; or `elsewhere`, by pte="),
    Column("exporter_sha", "string", "its commit"),
    Column("runtime", "string", "revision, or NAME@SHA of your own binary, that ran the program"),
    Column("runtime_sha", "string", "its commit"),
    Column("rung", "string", "how the environment was made: wheel, overlay, nightly, source, own"),
    Column("why", "string", "why this rung, and on which base"),
    Column("exporter_rung", "string", "how the exporter's environment was made"),
    Column("exporter_why", "string", "why that rung, and on which base"),
    Column("torch", "string", "torch build of the environment"),
    Column("allocator", "string", "malloc settings of the process"),
    Column("load_mode", "string", "how the program's file was loaded"),
    Column(
        "threads", "Int64", "torch's own, by OMP_NUM_THREADS or the cores; the bare runner has none"
    ),
    Column("stored_dtype", "string", "type the weights are stored in"),
    Column("compute_dtype", "string", "type the linears compute in"),
    Column("status", "string", "ok, failed, timeout, over_memory, unsupported, untestable"),
    Column("reason", "string", "why, where the status is not ok"),
    Column("repeat", "Int64", "number of the fresh process, from 0"),
    Column("baseline_bytes", "Int64", "RSS after the imports, before anything of the model"),
    Column("load_bytes", "Int64", "RSS after loading program and method"),
    Column("first_peak_bytes", "Int64", "peak RSS during the first execution"),
    Column("peak_bytes", "Int64", "peak RSS since the baseline; at least that if over_memory"),
    Column("peak_delta_bytes", "Int64", "peak_bytes above baseline_bytes"),
    Column("steady_bytes", "Int64", "RSS after this many executions"),
    Column("total_s", "float64", "seconds from start to end of the process, inspections aside"),
    Column("exec_median_s", "float64", "median seconds of the executions so far"),
    Column("pte_bytes", "Int64", "size of the program file"),
    Column("pte_sha256", "string", "hash of the program file"),
    Column("planned_bytes", "Int64", "memory-planned buffers: of this method, or of all (export)"),
    Column("delegates", "Int64", "delegate calls: of this method, or of all (export)"),
    Column("delegated_nodes", "Int64", "graph nodes inside delegates"),
    Column("undelegated_nodes", "Int64", "operator calls outside delegates"),
    Column("undelegated_ops", "string", "those operators by name and count"),
    Column("constant_bytes", "Int64", "weights and other constants in the program; for an export"),
    Column("duplicate_bytes", "Int64", "of those, what is stored more than once"),
    Column(
        "check_error",
        "string",
        "largest error of the program's outputs, or of its weights where it can't run here, as a "
        "share of the model's (root mean square); empty where they were not compared",
    ),
    Column(
        "notes",
        "string",
        "what the program's inspection found that costs without being wrong; whether the peak is a "
        "lower bound",
    ),
    Column("output_sha", "string", "hash of the first execution's outputs"),
    Column(
        "crosscheck",
        "string",
        "ok, or how rusage or psutil contradict the peak; on macOS the highest RSS",
    ),
    Column("machine", "string", "system, processor, cores and memory"),
    Column("started_at", "string", "UTC", published=False),
    Column("cell_key", "string", "hash of what was asked for; the environment and machine aside"),
    Column("build_key", "string", "hash of all that decides the environment's content"),
    Column("exporter_build_key", "string", "the same for the environment that exported"),
    Column("packages_hash", "string", "hash of the environment's installed packages"),
)

PROVENANCE = (
    Column("device", "string", "where it was measured, if elsewhere, such as iPhone 16"),
    Column("metric_kind", "string", "total or delta: what the memory is; empty: both are there"),
    Column("measured_by", "string", "rss or footprint, and how; empty: our own high-water marks"),
    Column("source", "string", "address or file the figures come from"),
)
"""What rows from elsewhere have beside :data:`MEASUREMENTS`; our own leave these empty."""

_PROCESS = (
    Column("cell_key", "string", "cell the process measured (its last, for a run)"),
    Column("model", "string", "model of conf/model"),
    Column("precision", "string", "precision asked for"),
    Column("backend", "string", "delegate the program was lowered to"),
    Column("method", "string", "export, or the method run"),
    Column("exporter", "string", "revision that wrote the program"),
    Column("runtime", "string", "revision that ran the program; empty for an export"),
    Column("repeat", "Int64", "number of the fresh process, from 0"),
)

PHASES = (
    *_PROCESS,
    Column("phase", "string", "name of the phase; phase/step for all calls of a step within it"),
    Column(
        "seconds", "float64", "its duration; for a step of all calls, other steps inside included"
    ),
    Column("rss_bytes", "Int64", "RSS at its end; empty for a step"),
    Column("peak_bytes", "Int64", "highest RSS during this phase alone (kernel high-water mark)"),
    Column("calls", "Int64", "how often the step ran; empty for a phase"),
    Column(
        "raised_bytes", "Int64", "by how much the step's calls raised the process's peak so far"
    ),
)

TIMELINE = (
    *_PROCESS,
    Column("t_s", "float64", "seconds since the process was started"),
    Column("rss_bytes", "Int64", "RSS at that moment, seen from outside; only changes have a row"),
    Column("file_bytes", "Int64", "of that, pages of files and shared memory; empty on macOS"),
    Column("phase", "string", "the phase it was in"),
)
