"""The command line of ``python -m bench``: measure a matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from bench.command import Parser, run_command
from bench.compose import CONF
from bench.config import load
from bench.errors import Exit
from bench.experiment import WORD, Experiment, load_experiment, resolved
from bench.report import help as help_text
from bench.request import composed
from bench.results.record import check_out


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (see :class:`bench.errors.Exit`)."""
    return run_command(_main, argv)


def _main(argv: list[str], console: Console) -> int:
    parser = Parser("flags: --help, --cfg job, --dry-run, key=value")
    parser.add_argument("--cfg", choices=["job"])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(argv)
    if given.help:
        console.print(help_text.text(CONF), markup=False, highlight=False, soft_wrap=True)
        return Exit.OK
    experiment = _experiment(given.overrides)
    request = experiment.requests[0] if experiment else load(given.overrides)
    if given.cfg:
        print(composed(request), end="")
        return Exit.OK
    check_out(request.out)
    # Only now, the request being right: what follows takes a second to import.
    from bench.environment import Store
    from bench.revision import Revisions

    revisions = Revisions(Store())
    revisions.say = lambda line: print(f"et-peak: {line}", file=sys.stderr)
    from bench.session import run

    if experiment:
        experiment = resolved(experiment, revisions.resolve_all)
        request = experiment.requests[0]
    else:
        request = revisions.resolve_all(request)
    return run(request, revisions, console, dry=given.dry_run, experiment=experiment)


def _experiment(words: Sequence[str]) -> Experiment | None:
    names = [word.removeprefix(WORD) for word in words if word.startswith(WORD)]
    if not names:
        return None
    return load_experiment(names[-1], [word for word in words if not word.startswith(WORD)])
