"""Hydra's launchers: which there are, what each needs, and whether the words name one."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.compose import compose_one
from bench.errors import RequestError, choices
from bench.machine import usable_cores

GROUP = "hydra/launcher"
FIELD = "hydra.launcher."
SERIAL = "basic"
"""Hydra's own name of what runs one job after the other, in this process."""


@dataclass(frozen=True)
class Kind:
    """What is to be known of a launcher.

    Attributes:
        extra: of ``pyproject.toml``, which installs it; empty where the controller has it anyway.
        modules: that must be there.
        local: whether all its processes are on this machine.
        shared_disk: whether its nodes see the run's folder.
    """

    extra: str = ""
    modules: tuple[str, ...] = ()
    local: bool = True
    shared_disk: bool = True


KINDS: Mapping[str, Kind] = {
    SERIAL: Kind(),
    "joblib": Kind("", ("joblib", "hydra_plugins.hydra_joblib_launcher")),
    "submitit_local": Kind("submitit", ("submitit", "hydra_plugins.hydra_submitit_launcher")),
    "submitit_slurm": Kind(
        "submitit", ("submitit", "hydra_plugins.hydra_submitit_launcher"), local=False
    ),
    "ray": Kind("ray", ("ray",), local=False, shared_disk=False),
}


def is_launch_word(word: str) -> bool:
    """Say whether a word of the command line is about the launcher."""
    key = word.partition("=")[0].lstrip("+")  # Hydra's sign of a field that is not there yet
    return key == GROUP or key.startswith(FIELD)


def launcher_of(words: Sequence[str]) -> str:
    """Return the launcher that the words name; the serial one where they name none.

    Raises:
        RequestError: if it is none that we know, is not installed, or has no such field.
    """
    given: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in given:
            raise RequestError(f"{key}: given twice ({given[key]!r} and {value!r})")
        given[key] = value
    name = given.get(GROUP, SERIAL)
    if name not in KINDS:
        raise choices(GROUP, name, list(KINDS))
    if name == SERIAL and len(words) > (GROUP in given):
        raise RequestError(f"{words[-1]}: goes with {GROUP}={'|'.join(list(KINDS)[1:])}")
    kind = KINDS[name]
    missing = [module for module in kind.modules if not _is_there(module)]
    if missing:
        what = f"'.[{kind.extra}]'" if kind.extra else "."
        raise RequestError(
            f"{GROUP}={name} is not installed here: pip install -e {what} in et-peak's folder "
            f"(missing: {', '.join(missing)})"
        )
    if words:
        compose_one(list(words))  # which refuses a field that the launcher has not
    return name


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor the package that it would be in
        return False


def width_of(words: Sequence[str]) -> int:
    """Return how many processes a local launcher runs side by side; each core's where not said."""
    asked = compose_one(list(words)).hydra.launcher.get("n_jobs")
    return int(asked) if asked and int(asked) > 0 else usable_cores()
