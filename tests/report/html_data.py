"""Rows of real plans with made-up figures, for the tests of report.html."""

import pandas as pd

from bench.config import load
from bench.plan import make_plan
from bench.results.schema import PHASES, TIMELINE
from bench.results.tables import frame

PHASE_NAMES = {
    "export": ("import", "build", "torch.export", "lower", "to_executorch", "write"),
    "run": ("import", "load_program", "load_method", "first", "loop"),
}


def rows_of(*words: str, **changes) -> pd.DataFrame:
    """One row per cell and repeat; the figures grow with the cell's place, so all differ."""
    plan = make_plan(load(["backend=xnnpack", *words]), "linux-x86_64")
    rows = []
    for job in plan.jobs:
        for cell in job.cells:
            size = 1_000_000 * (len(rows) + 7)
            row = {name: value for name, value in cell.__dict__.items() if name != "key"}
            row |= {"cell_key": cell.key, "repeat": job.repeat, "status": "ok", "rung": "wheel"}
            row |= {"build_key": cell.runtime or cell.exporter, "machine": "here", "total_s": 9.5}
            row |= {"baseline_bytes": 240_000_000, "peak_bytes": 240_000_000 + size}
            row |= {"peak_delta_bytes": size, "pte_bytes": 50_000_000, "delegated_nodes": 3}
            row |= {"undelegated_nodes": 1}
            if cell.iterations:
                row |= {"steady_bytes": 240_000_000 + size // 2, "exec_median_s": 0.25}
            rows.append(row | changes)
    return frame(rows)


def phases_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Phases for every process: those of a run belong to its last cell."""
    shared = ["model", "precision", "backend", "method", "exporter", "runtime", "repeat"]
    last = rows.drop_duplicates(shared, keep="last")
    found = []
    for row in last.itertuples():
        kind = "export" if row.method == "export" else "run"
        for number, name in enumerate(PHASE_NAMES[kind]):
            rss = row.baseline_bytes + number * row.peak_delta_bytes // 10
            found.append(
                {column: getattr(row, column) for column in (*shared, "cell_key")}
                | {"phase": name, "seconds": 0.5, "rss_bytes": rss, "peak_bytes": rss + 10**6}
            )
    return frame(found, PHASES)


def timeline_of(rows: pd.DataFrame, moments: int = 1000) -> pd.DataFrame:
    """RSS of each process, rising and falling; its highest is in one moment alone."""
    found = []
    for row in rows.drop_duplicates(["method", "precision", "exporter"], keep="last").itertuples():
        for n in range(moments):
            rss = row.baseline_bytes + (n % 7) * 10**6
            moment = {"t_s": n / 100, "file_bytes": 10**7, "phase": "first" if n < 50 else "loop"}
            moment["rss_bytes"] = row.peak_bytes if n == 333 else rss
            known = {"cell_key": row.cell_key, "method": row.method, "repeat": 0}
            found.append(known | moment)
    return frame(found, TIMELINE)


def many(count: int) -> pd.DataFrame:
    """So many cells, of as many commits as it takes."""
    commits = ",".join(f"{number:010x}" for number in range(1, count // 84 + 2))
    axes = ("model=tiny,base,small,medium", "precision=fp32,bf16,int8")
    return rows_of(*axes, f"commit={commits}").head(count)
