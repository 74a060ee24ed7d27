"""What the design of a run can't say, and the cells that would. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import pandas as pd

from bench.analysis.conclusion import Conclusion
from bench.analysis.observations import WHERE, Observation, rank, varies_alone
from bench.order import ORDER
from bench.pte import EXPORTER

# What to add where an axis has one level only; commits and backends: the nearest that tells.
_ALSO = {
    "model": ("tiny", "base", "small"),
    "precision": ("fp32", "bf16", "int8"),
    "backend": ("xnnpack", "mlx"),
    "method": ("export", "encode", "decode"),
    "commit": ("v1.4.1", "v1.5.1"),
}


_FIELD = re.compile(r"\[(\w+)=([^\]]*)\]")
_ONCE = ("allocator", "max_tokens", "seed")  # one command takes one value of these
# Of conditions that are words, those that need no more to be asked for; an app or a binary of the
# user's does.
_OURS = {"runner": ("python", "native"), "allocator": ("default", "fixed")}


def design(found: Sequence[Observation], table: pd.DataFrame) -> list[Conclusion]:
    """Say which axes were not varied, which never alone, and which cells have no figure."""
    said = []
    single = []
    for axis in _ALSO:
        levels = _levels(found, axis)
        if len(levels) == 1:
            single.append((axis, levels[0]))
        elif len(levels) > 1 and not varies_alone(found, axis):
            text = (
                f"{axis}: {', '.join(levels)} were measured, but never with all else equal: what "
                "they differ in can't be told from what else changed (the rung, the torch build, "
                "the type computed in, or how it was measured)"
            )
            evidence = tuple(one.key for one in found)
            said.append(Conclusion("open", axis, text, evidence, command(found, {axis: levels})))
    if single and found:
        listed = ", ".join(f"{axis} ({level})" for axis, level in single)
        more = {axis: _with(level, _ALSO[axis]) for axis, level in single[:2]}
        text = f"not varied, so nothing is said about: {listed}"
        said.append(Conclusion("open", "design", text, (), command(found, more)))
    if found and not any(one.iterations and one.iterations > 1 for one in found):
        runs = [one for one in found if one.method in ("encode", "decode")]
        if runs:
            text = "accumulation: no method was executed more than once in a process"
            line = command(runs, {}, "iterations=1,5,20")
            said.append(Conclusion("open", "iterations", text, (), line))
    return said + _unmeasured(table)


def command(found: Sequence[Observation], levels: dict[str, list[str]], *more: str) -> str | None:
    """Return the command that measures these cells with other levels of some axes.

    None where something of them is not ours to measure, such as a model from elsewhere, or is of
    several kinds that one command can't ask for. The words are quoted for a shell.

    Args:
        found: the cells.
        levels: by axis, what to measure in the place of what they have.
        more: further words, such as ``iterations=1,5,20``.

    """
    words = []
    fields = {tuple(_FIELD.findall(one.model)) for one in found}
    for axis in ("model", "precision", "backend", "method"):
        here = [level for level in _levels(found, axis) if level != "pipeline"]
        values = list(dict.fromkeys(v.partition("[")[0] for v in levels.get(axis) or here))
        if any(value not in ORDER for value in values) or (axis == "model" and len(fields) > 1):
            return None
        if values:
            words.append(f"{axis}={','.join(values)}")
        if axis == "model":
            words += [f"model.{field}={value}" for field, value in next(iter(fields), ())]
    commits = levels.get("commit") or _levels(found, "commit")
    if commits:
        words.append(f"commit={','.join(commits)}")
    else:
        sides = {axis: _levels(found, axis) for axis in ("exporter", "runtime")}
        if EXPORTER in sides["exporter"]:
            return None
        words += [f"{axis}={','.join(names)}" for axis, names in sides.items() if names]
    for name in ("runner", "samples", *_ONCE):
        # An export's samples are the model's own upper bound, and no runner executes it.
        cells = found if name in _ONCE else [one for one in found if one.method != "export"]
        values = list(dict.fromkeys(one.where[WHERE.index(name)] for one in cells))
        values = [v for v in values if v and v in _OURS.get(name, (v,))]
        if name in _ONCE and len(values) > 1:
            return None
        if values:
            words.append(f"{name}={','.join(values)}")
    said = shlex.join(["nox", "-s", "bench", "--", *words, *more])
    return said if said.isprintable() else None


def _levels(found: Sequence[Observation], axis: str) -> list[str]:
    given = dict.fromkeys(str(getattr(one, axis)) for one in found)
    return sorted((level for level in given if level), key=rank)


def _with(level: str, also: Sequence[str]) -> list[str]:
    if level in also or level not in ORDER:
        place = also.index(level) if level in also else 0
        nearest = also[place - 1] if place else also[min(1, len(also) - 1)]
        return sorted({level, nearest}, key=rank)
    return sorted({level, also[0]}, key=rank)


def _unmeasured(table: pd.DataFrame) -> list[Conclusion]:
    bad = table[~table["status"].isin(["ok", "over_memory"])]
    said = []
    for status, group in bad.groupby("status", sort=True):
        axes = ["model", "precision", "backend", "method"]
        names = group[axes].fillna("").drop_duplicates().agg(" ".join, axis=1).tolist()
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        text = f"{status}, so nothing is said about: {', '.join(names[:4])}{more}"
        keys = tuple(dict.fromkeys(group["cell_key"].astype(str)))
        said.append(Conclusion("open", "status", text, keys))
    return said
