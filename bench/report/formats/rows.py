"""The rows as they are, bytes and seconds: CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.results import tables


def to_csv(table: pd.DataFrame, _conclusions: Sequence[Conclusion]) -> str:
    """Build CSV of the columns in which anything is said; no cell is a formula."""
    return tables.to_csv(table.dropna(axis="columns", how="all"))


def to_json(table: pd.DataFrame, conclusions: Sequence[Conclusion]) -> str:
    """Build JSON: ``rows`` without their empty cells, and ``conclusions``."""
    content = {"rows": records(table), "conclusions": [asdict(one) for one in conclusions]}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain dicts of what they have."""
    columns = {
        str(name): table[name].astype("object").where(table[name].notna(), None).tolist()
        for name in table.columns
    }
    return [
        {name: values[row] for name, values in columns.items() if values[row] is not None}
        for row in range(len(table))
    ]
