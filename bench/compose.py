"""What ``conf/`` says, composed by Hydra: groups, their choices and every combination of them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench import executor_runner, fit
from bench.dimensions import check_dimensions
from bench.errors import RequestError, choices
from bench.order import ORDER
from bench.own import own_model
from bench.pte import give
from bench.request import Choice
from bench.values import parse_list

CONF = Path(__file__).resolve().parent.parent / "conf"
GROUPS = ("model", "precision", "backend", "method", "runner")


def host_backend(system: str = sys.platform, machine: str = "") -> str:
    """Return what ``backend=auto`` means here: mlx on macOS arm64, xnnpack elsewhere."""
    return "mlx" if host(system, machine) == "darwin-arm64" else "xnnpack"


def host(system: str = sys.platform, machine: str = "") -> str:
    """Return the host as ``linux-x86_64`` or ``darwin-arm64``, the form of ``runs_on``."""
    return f"{system}-{(machine or platform.machine()).lower()}"


def default_commit(conf: Path = CONF) -> str:
    """Return the release that stands wherever none is named: ``commit`` of ``config.yaml``."""
    return str(OmegaConf.select(OmegaConf.load(conf / "config.yaml"), "commit"))


def group_choices(group: str, conf: Path = CONF) -> list[str]:
    """Return the names that ``group=`` takes, in the order of a person (small to large)."""
    # One that begins with _ is what others have in common.
    names = {path.stem for path in (conf / group).glob("[!_]*.yaml")}
    return sorted(names, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))


def compose_one(overrides: Sequence[str], conf: Path = CONF) -> DictConfig:
    """Compose ``conf/config.yaml`` with Hydra; the answer is read-only, and one for equal words.

    Raises:
        RequestError: with the first line of what Hydra said.

    """
    try:
        return _composed(tuple(overrides), conf.resolve())
    except (HydraException, OmegaConfBaseException) as error:
        words = " ".join(str(error).split())
        raise RequestError(f"{' '.join(overrides)}: {words[:200]}") from None


@cache  # a request composes the same words several times, at a tenth of a second each
def _composed(overrides: tuple[str, ...], conf: Path) -> DictConfig:
    with initialize_config_dir(str(conf), version_base="1.3"):
        config = compose("config", overrides=list(overrides), return_hydra_config=True)
    OmegaConf.set_readonly(config, True)
    return config


def with_defaults(
    given: Mapping[str, str], values: Mapping[str, str], base: DictConfig, conf: Path
) -> dict[str, str]:
    """Add to what was given what the chosen models mean by default.

    Args:
        given: the words of the command line.
        values: the default of every option that is no group, as text.
        base: see :func:`compose_one`.
        conf: the folder of the groups.

    Raises:
        RequestError: an unknown model, or models whose defaults differ.

    """
    names = _group_values("model", given, base, conf)
    models: list[Any] = [
        OmegaConf.to_container(compose_one([f"model={name}"], conf).model) for name in names
    ]
    usual = {**values} | {name: ",".join(_group_values(name, {}, base, conf)) for name in GROUPS}
    return {**fit.common_defaults(models, given, usual), **given}


def _group_values(group: str, given: Mapping[str, str], base: DictConfig, conf: Path) -> list[str]:
    valid = group_choices(group, conf)
    swept = base.hydra.sweeper.params or {}
    values = parse_list(group, given.get(group, swept.get(group, base[group].name)))
    for value in values:
        if value not in valid:
            raise choices(group, value, valid)
    if group == "backend":
        values = list(dict.fromkeys(host_backend() if v == "auto" else v for v in values))
    return values


def combinations(
    given: Mapping[str, str], base: DictConfig, conf: Path
) -> tuple[list[Choice], list[str]]:
    """Return every combination of the groups, and the methods asked for."""
    own = own_model(given, _group_values("model", given, base, conf))
    groups = [group for group in GROUPS if not (own and own.methods and group == "method")]
    axes = {group: _group_values(group, given, base, conf) for group in groups}
    names = ("model", "precision", "backend")
    fields = {key: value for key, value in given.items() if not key.startswith("runner.")}
    runners = _runners(axes["runner"], given, conf)
    combos = [
        Choice(**_composed_parts(dict(zip(names, combo, strict=True)), fields, conf), runner=runner)
        for combo in product(*(axes[name] for name in names))
        for runner in runners.values()
    ]
    if own:
        combos = [replace(c, source=own.path, model=own.fields(c.model)) for c in combos]
        if own.methods:
            axes["method"] = parse_list("method", given.get("method", ",".join(own.methods)))
    models = [combo.model for combo in combos]
    for combo in combos:
        check_dimensions(combo.model, combo.backend["precisions"].get(combo.precision["name"]))
    fit.check_methods(models, axes["method"])
    fit.check_precisions(models, {combo.precision["name"]: combo.precision for combo in combos})
    return combos, axes["method"]


def given_programs(
    given: Mapping[str, str], base: DictConfig, conf: Path
) -> tuple[list[Choice], list[str]]:
    """Return every combination of programs and runners, and the methods of all programs."""
    programs = give(given["pte"], given.get("method"), given.get("inputs"))
    runners = _runners(_group_values("runner", given, base, conf), given, conf).values()
    combos = [
        Choice({"name": each.label}, {"name": ""}, {"name": each.program.backend}, runner, each)
        for each, runner in product(programs, runners)
    ]
    return combos, list(dict.fromkeys(name for each in programs for name in each.inputs))


def _runners(
    names: Sequence[str], given: Mapping[str, str], conf: Path
) -> dict[str, dict[str, Any]]:
    """Compose the runners by name; the user's own binary is looked at.

    A field of one that another one lacks is no mistake where both are asked for.
    """
    fields = {name: set(OmegaConf.load(conf / "runner" / f"{name}.yaml")) for name in names}
    known = set().union(*fields.values())
    found = {}
    for name in names:
        own = {
            key: value
            for key, value in given.items()
            if key.startswith("runner.") and key.partition(".")[2] not in known - fields[name]
        }
        found[name] = _composed_parts({"runner": name}, own, conf)["runner"]
    if executor_runner.NAME in found:
        runner = found[executor_runner.NAME]
        runner |= executor_runner.probe(runner["path"]).fields
    return found


def _composed_parts(
    picked: Mapping[str, str], given: Mapping[str, str], conf: Path
) -> dict[str, Any]:
    """Compose the groups picked from, and change in them the fields that were given."""
    config = compose_one([f"{name}={value}" for name, value in picked.items()], conf)
    if changes := {key: value for key, value in given.items() if "." in key}:
        config = config.copy()
        OmegaConf.set_readonly(config, False)
        for key, value in changes.items():
            _change(config, key, value)
    return {name: OmegaConf.to_container(config[name], resolve=True) for name in picked}


def _change(config: DictConfig, key: str, value: str) -> None:
    """Set one dotted key to a value of the type it has, and say so in the model's name.

    A `tiny` with other dimensions is no `tiny`: no table may show it as one.
    """
    group, _, leaf = key.partition(".")
    if group not in ("model", "runner"):
        # Nothing in a table would tell such a cell from the plain one.
        raise RequestError(f"{key}: fields of model and runner can be changed, not of {group}")
    part: Any = OmegaConf.to_container(config[group])
    if leaf not in (valid := fit.fields(part)):
        raise choices(group, leaf, valid)
    OmegaConf.update(config, key, fit.field_value(key, OmegaConf.select(config, key), value))
    if group == "model":
        config.model.name = f"{config.model.name}[{leaf}={value}]"


def as_text(value: Any) -> str:
    """Return a value of the configuration as a person would type it."""
    if value is None:
        return ""
    if OmegaConf.is_list(value):
        return ",".join(map(str, value))
    return str(value)
