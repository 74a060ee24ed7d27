"""``nox -s relevant -- A..B run=ID``: the commits that can have changed what a run measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.command import Parser, run_command
from bench.environment import Store
from bench.errors import Exit, RequestError
from bench.place import expanded, ours
from bench.repository import commit_info, first_parent_range, paths_changed
from bench.results.record import RunFolder
from bench.revision.relevance import files_read, native_mapped, touched
from bench.revision.revisions import Revisions
from bench.words import split

_HELP = """\
List the commits between two revisions that change a file which the processes of a run read.

    nox -s relevant -- v1.4.1..main run=latest repo=~/src/executorch
    nox -s relevant -- cd380e7aef..cff6f4dd32 run=20261130-174732-d913 method=encode backend=mlx

The others can't have changed what was measured, but for native code: in an overlay that is the
release's own, whatever the commit. Commits are those of the main line (first parents).

run=      id of a run [latest]      out=   where runs are [results/runs]
repo=     clone of ExecuTorch       model= precision= backend= method= exporter= runtime=
          [the tool's own]                 only measurements of these"""
_FILTERS = ("model", "precision", "backend", "method", "exporter", "runtime")
_KEYS = ("run", "out", "repo", *_FILTERS)
_SHOWN = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (see :class:`bench.errors.Exit`)."""
    return run_command(_main, argv)


def _main(argv: list[str], console: Console) -> int:
    parser = Parser("A..B run=ID repo=PATH; --help")
    parser.add_argument("words", nargs="*")
    given = parser.parse_intermixed_args(argv)
    if given.help:
        console.print(_HELP, markup=False, highlight=False)
        return Exit.OK
    asked = split(given.words, _KEYS)
    wanted, words = " ".join(asked.names), asked.values
    ends = re.fullmatch(r"(\S+?)\.\.(\S+)", wanted)
    if not ends:
        raise RequestError(f"{wanted or 'nothing given'}: give two revisions as A..B")
    out = expanded(words["out"], "out") if "out" in words else ours("results/runs")
    folder = RunFolder.find(out, words.get("run", "latest"))
    records = _chosen(folder, words)
    revisions = Revisions(Store(), words.get("repo"))
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    repository = revisions.repository()
    shas = [repository.resolve(_tag(name)) for name in ends.groups()]
    found = first_parent_range(repository, *shas)
    read = files_read(records)
    changes = paths_changed(repository, found.start, shas[1])
    matter = {sha: paths for sha in found.commits if (paths := touched(changes[sha], read))}
    for sha, paths in matter.items():
        commit = commit_info(repository, sha)
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        _say(console, f"{sha[:10]} {commit.date:%Y-%m-%d} {commit.subject}")
        _say(console, f"           {', '.join(paths[:_SHOWN])}{more}")
    since = f", from {found.start[:10]}, where they parted" if found.from_fork else ""
    _say(
        console,
        f"{len(matter)} of {len(found.commits)} commits of {wanted}{since} change one of "
        f"{len(read)} files that {len(records)} processes of run {folder.id} read",
    )
    if native := native_mapped(records):
        names = ", ".join(sorted(Path(name).name for name in native))
        _say(console, f"native code was mapped, of which this says nothing: {names}")
    return Exit.OK


def _chosen(folder: RunFolder, words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the run's records that have a trace, of the measurements asked for.

    Raises:
        RequestError: if there are none.

    """
    wanted = {key: value.split(",") for key, value in words.items() if key in _FILTERS}
    found = [
        record
        for record in folder.records()
        if any(event["event"] == "trace" for event in record["events"])
        and all(str(record["cells"][0].get(key)) in values for key, values in wanted.items())
    ]
    if not found:
        asked = " ".join(f"{key}={words[key]}" for key in wanted)
        raise RequestError(f"run {folder.id} has no finished measurement{asked and ' of '}{asked}")
    return found


def _tag(name: str) -> str:
    """Return a release as its tag: it is the commits of a repository that are asked about."""
    return (
        f"refs/tags/v{name.removeprefix('v')}" if re.fullmatch(r"v?\d+\.\d+\.\d+", name) else name
    )


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
