"""May two cells be compared, and do their programs do the same work? Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bench.values import format_mb

# Name of the reason (as in force=) and the column that must agree. Both sides must have a value:
# an empty one is unknown, as in rows from elsewhere.
CONTEXT = {
    "rung": "rung",
    "exporter_rung": "exporter_rung",
    "torch": "torch",
    "allocator": "allocator",
    "load_mode": "load_mode",
    "machine": "place",
    "runner": "runner",
    "threads": "threads",
    "kind": "kind",
    "counter": "counter",
    "stored": "stored_dtype",
    "computed": "compute_dtype",
    "outputs": "output_sha",
}
_WORDS = {
    "machine": "machine",
    "kind": "metric kind",
    "counter": "memory counter",
    "stored": "type stored",
    "computed": "type computed in",
    "load_mode": "load mode",
    "torch": "torch build",
    "exporter_rung": "exporter's rung",
}
REASONS = (*CONTEXT, "status")
"""What may be forced."""
# What tells two programs apart, and what stands for a missing value.
_PROGRAM: dict[str, Any] = {
    **dict.fromkeys(("pte_bytes", "delegates", "delegated_nodes", "undelegated_nodes"), 0),
    "undelegated_ops": "",
}


def differences(pairs: pd.DataFrame) -> list[list[tuple[str, str]]]:
    """Return for each pair the reasons not to compare it, as a list of (name, words).

    Args:
        pairs: columns of both sides, named ``before_X`` and ``after_X``.

    """
    found: list[list[tuple[str, str]]] = [[] for _ in range(len(pairs))]
    for reason, column in CONTEXT.items():
        before, after = pairs[f"before_{column}"], pairs[f"after_{column}"]
        differ = (before != after) & (before != "") & (after != "")
        differ &= before.notna() & after.notna()
        for position in differ.to_numpy(dtype=bool).nonzero()[0].tolist():
            word = _WORDS.get(reason, reason)
            said = f"{word} {before.iat[position]} against {after.iat[position]}"
            found[position].append((reason, said))
    for place, (before, after) in enumerate(
        zip(pairs["before_status"], pairs["after_status"], strict=True)
    ):
        bad = [status for status in (before, after) if status != "ok"]
        never = [status for status in bad if status in ("unsupported", "untestable")]
        if never or len(bad) > 1:  # what two failures had got to is no measure of either
            said = f"{' against '.join(dict.fromkeys(never or bad))}: no figure to compare"
            found[place].append(("status", said))
    return found


def program_differs(pairs: pd.DataFrame) -> list[bool]:
    """Tell for each pair whether the two functions below have anything to say of it."""
    differ = np.zeros(len(pairs), dtype=bool)
    for column, none in _PROGRAM.items():
        before, after = (pairs[f"{side}_{column}"].fillna(none) for side in ("before", "after"))
        differ |= (before != after).to_numpy(dtype=bool)
    return differ.tolist()


def lost_delegation(pair: Any) -> str:
    """Say what the program after no longer leaves to its delegate; '' if it lost nothing.

    Fewer nodes inside delegates are no loss by themselves (a pass may have removed them); more
    operators outside, or fewer delegate calls without fewer operators outside, are.
    """
    words = []
    outside = _change(pair.before_undelegated_nodes, pair.after_undelegated_nodes)
    calls = _change(pair.before_delegates, pair.after_delegates)
    inside = _change(pair.before_delegated_nodes, pair.after_delegated_nodes)
    if outside > 0:
        words.append(
            f"operators outside delegates {pair.before_undelegated_nodes:.0f} -> "
            f"{pair.after_undelegated_nodes:.0f}"
        )
    if calls < 0 and outside >= 0 and inside <= 0:
        words.append(f"delegate calls {pair.before_delegates:.0f} -> {pair.after_delegates:.0f}")
    return ", ".join(words)


def program_changes(pair: Any) -> list[str]:
    """Say what else changed in the program: file size, nodes inside delegates."""
    words = []
    size = _change(pair.before_pte_bytes, pair.after_pte_bytes)
    if size:
        words.append(
            f".pte {format_mb(pair.before_pte_bytes)} -> {format_mb(pair.after_pte_bytes)} MB"
            if abs(size) >= 5e4
            else f".pte {size:+.0f} bytes"
        )
    if _change(pair.before_delegated_nodes, pair.after_delegated_nodes):
        words.append(
            f"delegated nodes {pair.before_delegated_nodes:.0f} -> {pair.after_delegated_nodes:.0f}"
        )
    if (pair.before_undelegated_ops or "") != (pair.after_undelegated_ops or ""):
        words.append("other operators outside delegates")
    return words


def _change(before: float | None, after: float | None) -> float:
    return 0.0 if before is None or after is None else after - before
