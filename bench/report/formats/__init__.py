"""Tables for other systems: what each of them reads. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.report.formats import github_action_benchmark, pytorch, rows

Format = Callable[[pd.DataFrame, Sequence[Conclusion]], str]

FORMATS: Mapping[str, Format] = {
    "csv": rows.to_csv,
    "json": rows.to_json,
    "pytorch": pytorch.to_json,
    "github-action-benchmark": github_action_benchmark.to_json,
}
"""By the name given to ``format=``; ``table`` and ``markdown`` are the report itself."""
