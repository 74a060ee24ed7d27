"""``python -m bench.environment``: build, list and remove environments."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rich.console import Console

from bench.command import Parser, run_command
from bench.environment.installer import INSTALLERS
from bench.environment.model import StoredEnvironment
from bench.environment.recipe import recipe_for, releases
from bench.environment.store import Store, default_builders, default_root
from bench.errors import BuildError, EtPeakError, Exit, RequestError
from bench.values import parse_size

DEFAULT_AGE = "30d"
_UNITS_S = {"h": 3600, "d": 86400, "w": 604800}


def _parser() -> Parser:
    parser = Parser(
        "see --help",
        prog="nox -s env --",
        description="Build, list and remove the isolated environments of ExecuTorch releases.",
        epilog=f"Releases: {', '.join(releases())}. Environments are kept in {default_root()}; "
        "ET_PEAK_CACHE moves them.",
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="such as v1.4.1")
    parser.add_argument(
        "--torch",
        metavar="VERSION",
        help="instead of the torch the release was built with; 'any' is what the resolver takes. "
        "A release not listed below needs one of them",
    )
    parser.add_argument(
        "--installer",
        choices=INSTALLERS,
        default="auto",
        help="auto is uv where there is one, else pip",
    )
    parser.add_argument("--list", action="store_true", help="list what is built")
    parser.add_argument(
        "--prune",
        action="store_true",
        help=f"remove what was not used for {DEFAULT_AGE}, unless a limit below says otherwise, "
        "and what interrupted builds left; never one that is in use",
    )
    parser.add_argument("--older-than", metavar="AGE", help="not used for so long: 12h, 30d, 8w")
    parser.add_argument("--keep", metavar="N", help="all but the N used last")
    parser.add_argument("--max-size", metavar="SIZE", help="the oldest beyond so much: 20GB")
    parser.add_argument("--all", action="store_true", help="all that is not in use")
    return parser


def parse_age(text: str) -> timedelta:
    """Read an age such as ``12h``, ``30d`` or ``8w``."""
    match = re.fullmatch(r"(\d{1,6})([hdw])", text)
    if not match:
        raise RequestError(f"--older-than: {text!r} is no age, such as 12h, 30d or 8w")
    return timedelta(seconds=int(match[1]) * _UNITS_S[match[2]])


def format_list(items: Sequence[StoredEnvironment], now: datetime) -> list[str]:
    """Lay out a list of environments in aligned columns."""
    head = ("RUNG", "REVISION", "BASE", "TORCH", "SIZE", "LAST USED", "BUILD KEY", "")
    rows = [head, *(_row(item, now) for item in items)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(item: StoredEnvironment, now: datetime) -> tuple[str, ...]:
    return (
        item.rung,
        item.release,
        item.base.rpartition("-")[0],
        item.torch,
        f"{item.size_bytes / 10**6:,.0f} MB",
        _ago(now - item.last_used),
        item.build_key,
        "in use" if item.in_use else "",
    )


def _ago(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


def _say(line: str) -> None:
    print(line, flush=True)


def _build(store: Store, names: Sequence[str], torch: str | None) -> Exit:
    code = Exit.OK
    # All are looked at before the first is built.
    for recipe in [recipe_for(name, torch=torch) for name in names]:
        try:
            environment = store.ensure(recipe, _say)
        except BuildError as error:
            _complain(error)
            code = error.exit_code
            continue
        _say(f"{recipe.release}: {environment.python}")
    return code


def _prune(store: Store, options: argparse.Namespace) -> None:
    if options.keep is not None and not options.keep.isdecimal():
        raise RequestError(f"--keep: {options.keep!r} is no number")
    limited = options.older_than or options.keep or options.max_size or options.all
    if options.max_size and options.max_size.isdecimal():  # bytes, that is nothing is left
        raise RequestError(f"--max-size: {options.max_size!r} has no unit: 500MB, 20GB or 1TB")
    age = options.older_than or (None if limited else DEFAULT_AGE)
    removed = store.prune(
        keep_newest=0 if options.all else int(options.keep) if options.keep else None,
        max_bytes=parse_size("--max-size", options.max_size) if options.max_size else None,
        older_than=parse_age(age) if age else None,
    )
    for item in removed:
        _say(f"removed {item.rung} {item.release} {item.build_key}")
    kept = store.list()
    busy = sum(item.in_use for item in kept)
    _say(f"{len(removed)} removed, {len(kept)} kept, {busy} of them in use")


def _run(argv: list[str], _console: Console) -> int:
    options = _parser().parse_args(argv)
    limits = options.older_than or options.keep or options.max_size or options.all
    if limits and not options.prune:
        raise RequestError("--older-than, --keep, --max-size and --all belong to --prune")
    if not (options.releases or options.list or options.prune):
        raise RequestError("nothing to do: name a release, or give --list or --prune (see --help)")
    store = Store(builders=default_builders(options.installer))
    code = _build(store, options.releases, options.torch)
    if options.prune:
        _prune(store, options)
    if options.list:
        for line in format_list(store.list(), datetime.now(UTC)):
            _say(line)
    return code


def _complain(error: EtPeakError) -> None:
    print(f"et-peak: {error}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code."""
    return run_command(_run, argv, "interrupted; an unfinished build starts again")
