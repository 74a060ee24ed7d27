"""From the command line and ``conf/`` to a checked :class:`Request`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import executor_runner, fit
from bench.compose import (
    CONF,
    GROUPS,
    as_text,
    combinations,
    compose_one,
    given_programs,
    with_defaults,
)
from bench.dimensions import most_tokens
from bench.errors import RequestError, choices
from bench.ladder import RUNGS
from bench.launch.kinds import is_launch_word, launcher_of
from bench.packages import read_packages
from bench.place import expanded, lasting, ours
from bench.pte import check_words
from bench.request import Limits, Origin, Request
from bench.values import parse_int, parse_list, parse_seconds, parse_size

ALLOCATORS = ("default", "fixed")
CHECKS = ("auto", "on", "off")
_SWITCH = ("on", "off")
_CHOICES: Mapping[str, Sequence[str]] = {
    "allocator": ALLOCATORS,
    "check": CHECKS,
    "steps": _SWITCH,
    "memprofile": _SWITCH,
    "timeline": _SWITCH,
    "timing": _SWITCH,
    "rung": RUNGS,
}
# Given once, never swept: they describe the run and not a cell of the matrix.
_ORIGIN = ("repo", "rung", "base", "nightly_index", "packages")
_LIMITS = ("timeout_s", "memory_cap")
_OWN = (
    "script",
    "gguf",
    "max_tokens",
    "repeats",
    "seed",
    "allocator",
    "check",
    "steps",
    "memprofile",
    "timeline",
    "timing",
    "memory_budget",
)
_SINGLE = (*_OWN, *_ORIGIN, *_LIMITS, "out", "resume")
_PATHS = ("out", "repo", "nightly_index", "packages", "script", "gguf", "runner.path")
_SWEPT = ("commit", "exporter", "runtime", "pte", "samples")
VALUES = (*_SWEPT, "inputs", "iterations", *_SINGLE)
NULL = "null"
"""On the command line as in ``config.yaml``: nothing, of a value that may be nothing."""


def split_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """Split ``key=value`` words into a dict, checking that each key exists.

    Raises:
        RequestError: on a word without ``=``, an unknown key, or a key given twice.

    """
    given: dict[str, str] = {}
    for word in overrides:
        key, equals, value = word.partition("=")
        if not equals:
            raise RequestError(f"{word!r} is not key=value; --help lists the keys")
        if key in given:
            raise RequestError(f"{key}: given twice ({given[key]!r} and {value!r})")
        if is_launch_word(word):
            given[key] = value
            continue
        root, dot, _ = key.partition(".")
        if root not in (*GROUPS, *VALUES) or (dot and root not in GROUPS):
            raise choices("option", key, [*GROUPS, *VALUES])
        given[key] = value
    return given


def without_nulls(overrides: Sequence[str], base: Mapping[str, Any]) -> list[str]:
    """Leave out each ``key=null`` whose default is null: it asks for what is there anyway."""
    none = {f"{name}={NULL}" for name in VALUES if base[name] is None}
    return [word for word in overrides if word.strip() not in none]


def load(overrides: Sequence[str], conf: Path = CONF) -> Request:
    """Check the overrides and compose the configuration of every combination.

    Raises:
        RequestError: on anything wrong, in one line that names the valid choices.

    """
    split_overrides(overrides)  # as they were typed: a key given twice is wrong, null or not
    base = compose_one([], conf)
    overrides = without_nulls(overrides, base)
    launch = tuple(word for word in overrides if is_launch_word(word))
    launcher_of(launch)
    given = split_overrides([word for word in overrides if word not in launch])
    kept = tuple(lasting_word(word) for word in overrides if not word.startswith("resume="))
    elsewhere = check_words(given)
    usual = {name: as_text(base[name]) for name in VALUES}
    if not elsewhere:
        given = with_defaults(given, usual, base, conf)
    text = {name: given.get(name, usual[name]) for name in VALUES}
    for name in _SINGLE:
        if name not in _PATHS and "," in text[name]:
            raise RequestError(f"{name}: takes one value, not a list ({text[name]!r})")
    find = given_programs if elsewhere else combinations
    combos, methods = find(given, base, conf)
    models = [combo.model for combo in combos]
    commits = parse_list("commit", text["commit"])
    exporters = parse_list("exporter", text["exporter"]) if text["exporter"] else commits
    runtimes = None
    if text["runtime"] or text["exporter"] or elsewhere:
        runtimes = parse_list("runtime", text["runtime"]) if text["runtime"] else commits
    for name, known in _CHOICES.items():
        if text[name] not in known:
            raise choices(name, text[name], list(known))
    own = [combo.runner["name"] for combo in combos if combo.runner["name"] == executor_runner.NAME]
    if own and text["timeline"] == "on":
        raise RequestError(f"timeline: not of runner={own[0]}, which is watched by another process")
    iterations = [
        parse_int("iterations", v, 1) for v in parse_list("iterations", text["iterations"])
    ]
    low, high = fit.sample_bounds(models, given="samples" in given)
    return Request(
        choices=tuple(combos),
        methods=tuple(methods),
        exporters=() if elsewhere else tuple(exporters),
        runtimes=tuple(runtimes) if runtimes is not None else None,
        iterations=tuple(sorted(set(iterations))),
        samples=tuple(
            dict.fromkeys(
                parse_int("samples", v, low, high) for v in parse_list("samples", text["samples"])
            )
        ),
        max_tokens=parse_int("max_tokens", text["max_tokens"], 2, most_tokens(models)),
        repeats=parse_int("repeats", text["repeats"], 1, 1000),
        seed=parse_int("seed", text["seed"], 0),
        allocator=text["allocator"],
        origin=_origin(text),
        limits=_limits(text),
        out=expanded(given["out"]) if given.get("out") else ours(str(base["out"])),
        resume=text["resume"] or None,
        check=text["check"],
        steps=text["steps"] == "on",
        memprofile=text["memprofile"] == "on",
        timeline=text["timeline"] == "on",
        timing=text["timing"] == "on",
        memory_budget=parse_size("memory_budget", text["memory_budget"])
        if text["memory_budget"]
        else None,
        launch=launch,
        overrides=kept,
    )


def _origin(text: Mapping[str, str]) -> Origin:
    return Origin(
        text["repo"] or None,
        text["rung"],
        text["base"] or None,
        text["nightly_index"] or None,
        read_packages(text["packages"]) if text["packages"] else None,
    )


def _limits(text: Mapping[str, str]) -> Limits:
    cap = text["memory_cap"]
    return Limits(
        parse_seconds("timeout_s", text["timeout_s"]),
        None if cap in ("", "none") else parse_size("memory_cap", cap),
    )


def lasting_word(word: str) -> str:
    """Return a word that means the same when the run is resumed from another folder."""
    key, _, value = word.partition("=")
    if key == "pte":
        return f"{key}={','.join(lasting(path, key) for path in parse_list(key, value))}"
    return f"{key}={lasting(value, key)}" if key in _PATHS else word
