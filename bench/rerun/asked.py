"""From a recorded row to the request that measures it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import executor_runner
from bench.compose import group_choices
from bench.config import load
from bench.errors import RequestError, choices
from bench.own import NAMES
from bench.packages import FOLDER, packages_hash
from bench.pte import EXPORTER
from bench.request import Request
from bench.rerun.find import Recorded
from bench.results.reproduce import overrides

EXTRA = (
    *("pte", "inputs", *NAMES, "runner.path"),
    *("repo", "base", "nightly_index", "packages", "repeats", "timeout_s", "memory_cap", "out"),
)
"""Options of ``nox -s bench`` that may be given beside a row; it decides all others."""
_OPTION = re.compile(r"[a-z_]+(\.[a-z_]+)?")


@dataclass(frozen=True)
class Asked:
    """The request of a row.

    Attributes:
        request: what is measured.
        words: it, as on the command line.
        packages: the list of what the row's environment had, where it is known.

    """

    request: Request
    words: tuple[str, ...]
    label: str
    packages: Path | None

    @property
    def command(self) -> str:
        """The command that measures the same."""
        return shlex.join(["nox", "-s", "bench", "--", *self.words])

    def without_packages(self) -> Asked:
        """Return the same of an environment that is resolved anew."""
        words = tuple(word for word in self.words if not word.startswith("packages="))
        return Asked(load(words), words, self.label, self.packages)


def split(words: Sequence[str], keys: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Split the words of the command line into the one row, and values by key.

    Raises:
        RequestError: if there is no row or several, or a key is none of ``keys``.

    """
    rows: list[str] = []
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not _OPTION.fullmatch(key):
            if word.startswith("-"):
                raise RequestError(f"unknown flag {word} (flags: --help, --dry-run)")
            rows.append(word)
        elif key not in keys:
            raise choices("option", key, list(keys))
        elif key in values or not value:
            raise RequestError(f"{key}: {'given twice' if value else 'the value is empty'}")
        else:
            values[key] = value
    if len(rows) != 1:
        raise RequestError(
            f"give one row: a cell key, FILE.csv:LINE or FILE.csv#KEY (given: {len(rows)})"
        )
    return rows[0], values


def ask(recorded: Recorded, given: Mapping[str, str], runs: Path) -> Asked:
    """Make the request of a row.

    Args:
        recorded: the row; nothing else is needed, no run's folder either.
        given: options beside it, of :data:`EXTRA`.
        runs: where lists of packages may lie too.

    Raises:
        RequestError: if it is no row of ours, or needs a file of the user's.

    """
    row = recorded.row
    if row["device"] or row["source"]:
        where = row["device"] or row["source"]
        raise RequestError(f"{recorded.place} was measured elsewhere ({where}): not by et-peak")
    if row["runner"] == executor_runner.NAME and "runner.path" not in given:
        raise RequestError(
            f"{recorded.place} was run by a binary of yours, {row['runtime']}: "
            "give runner.path=FILE"
        )
    packages = _find_packages(row["packages_hash"], recorded.folder, runs)
    words = dict(word.split("=", 1) for word in overrides(row))
    words |= _file_of_yours(recorded, given)
    if packages is not None:
        words["packages"] = str(packages)
    words |= given
    said = tuple(f"{key}={value}" for key, value in words.items())
    parts = (row["model"], row["precision"], row["backend"], row["method"])
    runs_of = f"after {row['iterations']}" if row["iterations"] else ""
    where = " on ".join(dict.fromkeys(filter(None, (row["exporter"], row["runtime"]))))
    label = " ".join(filter(None, (*parts, runs_of, f"@ {where}")))
    return Asked(load(said), said, label, packages)


def _file_of_yours(recorded: Recorded, given: Mapping[str, str]) -> dict[str, str]:
    """Return the model of a row that is about a file of the user's.

    Raises:
        RequestError: if the file was not given.

    """
    row = recorded.row
    if row["exporter"] == EXPORTER:
        if "pte" not in given:
            sha = (row["pte_sha256"] or "")[:12]
            raise RequestError(
                f"{recorded.place} is of a program from elsewhere, {row['model']} ({sha}): "
                "give pte=FILE"
            )
        return {}
    name = str(row["model"]).partition("[")[0]
    if name in group_choices("model") and name not in NAMES:
        return {}
    if not any(own in given for own in NAMES):
        files = " or ".join(f"{own}=FILE" for own in NAMES)
        raise RequestError(f"{recorded.place} is of a model of your own, {name}: give {files}")
    return {"model": next(own for own in NAMES if own in given)}


def _find_packages(wanted: str | None, folder: Path, runs: Path) -> Path | None:
    """Find the list of packages with a hash: beside the table, in its run, in any run."""
    for path in _lists(wanted, folder, runs) if wanted else ():
        try:
            if packages_hash(path.read_text(encoding="utf-8")) == wanted:
                return path.absolute()
        except (OSError, UnicodeDecodeError):
            continue
    return None


def _lists(wanted: str, folder: Path, runs: Path) -> Iterator[Path]:
    yield folder / FOLDER / f"{wanted}.txt"
    yield from folder.glob("packages-*.txt")
    yield from runs.glob("*/packages-*.txt")
