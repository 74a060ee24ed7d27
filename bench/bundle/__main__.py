"""``nox -s bundle -- model=small precision=bf16``: a program to run on a phone as on the desktop.

The folder holds the program, each method's inputs as raw bytes (little-endian, row by row), and
manifest.json: types, shapes and checksums of all files, and what the outputs are to be.
`shasum -a 256 -c SHA256SUMS` checks it. `nox -s bench -- pte=FOLDER` runs the same file with the
same inputs here; docs/devices.md says how to measure it on a phone.

Exit code 0: done; 2: wrong request; 3: there can be none, or what a method is to give is not known.

to=FOLDER        where it goes [results/bundles/MODEL-PRECISION-BACKEND-EXPORTER]
replace=yes      write over one that is there
All of nox -s bench that says which program it is: model=, precision=, backend=, commit=, runtime=,
method=, samples=, max_tokens=, seed=, script=, repo=, ... one of each.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from bench import machine
from bench.command import run_command
from bench.compose import host
from bench.config import load
from bench.errors import BuildError, Exit, RequestError
from bench.jobs import Plan
from bench.needs import refuse_too_large
from bench.place import expanded, ours
from bench.plan import make_plan
from bench.request import Request
from bench.results.record import check_out
from bench.values import format_mb

if TYPE_CHECKING:
    from bench.revision import Revisions

_OWN = ("to", "replace")
_NOT_OURS = (
    *("pte", "inputs", "iterations", "repeats", "runner", "resume", "out", "timeline"),
    *("steps", "memprofile"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Make a bundle; return the exit code."""
    return run_command(_main, argv, "interrupted; nothing was written")


def _main(argv: list[str], console: Console) -> int:
    if {"-h", "--help"} & set(argv):
        print(__doc__)
        return Exit.OK
    own, words = _split(argv)
    request = load([*words, "iterations=1"])
    # Only now, the request being right: what follows takes a second to import.
    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    return bundle(request, own, revisions, console)


def bundle(request: Request, own: Mapping[str, str], revisions: Revisions, console: Console) -> int:
    """Make the bundle of a request; return the exit code.

    That is UNDECIDED where a method should have run here and did not: the bundle is there, but
    not what to compare a phone's outputs with.

    Args:
        request: of one program.
        own: ``to`` and ``replace``, where they were given.
        revisions: gives the environments.
        console: where to print.

    Raises:
        UnbundledError: if there can be no program or no inputs; what was there is there still.
        RequestError: if the folder is no place for it.

    """
    from bench.bundle.make import make_bundle

    def say(line: str) -> None:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)

    request = revisions.resolve_all(_one(request))
    plan = _plan(request)
    bundles = ours("results/bundles")
    target = expanded(own["to"], "to") if "to" in own else bundles / _name(plan)
    _check_target(target, replaced=own.get("replace") == "yes")
    words = [word for word in request.overrides if not word.startswith("iterations=")]
    command = shlex.join(["nox", "-s", "bundle", "--", *words])
    try:
        manifest = make_bundle(request, plan, target, command, revisions, say)
    except BuildError as error:
        raise UnbundledError(str(error)) from error
    program = manifest["program"]
    print(f"{target}: {program['file']} ({format_mb(program['bytes'])} MB)")
    print(f"nox -s bench -- pte={target}")
    ends = {method["expected"]["status"] for method in manifest["methods"].values()}
    return Exit.OK if ends <= {"ok", "unsupported"} else Exit.UNDECIDED


class UnbundledError(BuildError):
    """A bundle that could not be made, with the code of what could not be decided."""

    exit_code = Exit.UNDECIDED


def _split(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    own: dict[str, str] = {}
    words: list[str] = []
    for word in argv:
        key, equals, value = word.partition("=")
        if key.partition(".")[0] in _NOT_OURS:
            raise RequestError(f"{key}: of nox -s bench only: a bundle is one program")
        if not (equals and key in _OWN):
            words.append(word)
        elif key in own or not value:
            raise RequestError(f"{key}: {'given twice' if value else 'the value is empty'}")
        else:
            own[key] = value
    if own.get("replace", "yes") != "yes":
        raise RequestError(f"replace: {own['replace']!r} is not yes")
    return own, words


def _one(request: Request) -> Request:
    """Return the request of one program and of the runs of its methods.

    Raises:
        RequestError: if it is of several.

    """
    swept = (request.choices, request.exporters, request.samples, request.runtimes or ("",))
    if any(len(values) != 1 for values in swept):
        raise RequestError("a bundle is one program, run by one runtime: no comma lists")
    runs = tuple(method for method in request.methods if method != "export")
    return replace(request, methods=runs or ("export",))


def _plan(request: Request) -> Plan:
    # A run may be unsupported, such as MLX's here. What can't be exported can be no bundle.
    (export,) = make_plan(replace(request, methods=("export",)), host()).jobs
    if export.unsupported:
        raise RequestError(export.unsupported)
    return refuse_too_large(make_plan(request, host()), machine.memory_bytes())


def _name(plan: Plan) -> str:
    cell = plan.jobs[0].cells[0]
    words = (cell.model, cell.precision, cell.backend, cell.exporter)
    return re.sub(r"[^\w.=-]+", "_", "-".join(filter(None, words))).strip("_.")


def _check_target(target: Path, *, replaced: bool) -> None:
    check_out(target.parent, "to")
    if target.exists() and not replaced:
        raise RequestError(f"to: {target} is there already; give another to=, or replace=yes")
    if target.exists() and not (target / "manifest.json").is_file():
        raise RequestError(f"to: {target} is no bundle: it is not replaced")


if __name__ == "__main__":
    sys.exit(main())
