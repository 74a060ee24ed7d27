"""From the command line and ``conf/`` to a checked :class:`Request`."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench import fit
from bench.dimensions import check_dimensions, most_tokens
from bench.errors import RequestError, choices
from bench.ladder import RUNGS
from bench.own import own_model
from bench.pte import Given, check_words, give
from bench.values import parse_int, parse_list, parse_seconds, parse_size

CONF = Path(__file__).resolve().parent.parent / "conf"
GROUPS = ("model", "precision", "backend", "method", "runner")
# The order of a person, small to large, for help and tables alike.
ORDER = (
    *(
        "tiny",
        "base",
        "small",
        "medium",
        "large-v3",
        "kquant",
        "kquant-parts",
        "muse",
        "script",
    ),
    *("fp32", "fp16", "bf16", "int8", "int4", "q6_k", "q5_k", "q4_k", "gguf"),
    *("auto", "xnnpack", "mlx", "portable"),
    *("export", "encode", "decode"),
)
ALLOCATORS = ("default", "fixed")
CHECKS = ("auto", "on", "off")
# Given once, never swept: they describe the run and not a cell of the matrix.
_ORIGIN = ("repo", "rung", "base", "nightly_index")
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
)
_SINGLE = (*_OWN, *_ORIGIN, *_LIMITS, "out", "resume")
_PATHS = ("out", "repo", "nightly_index", "script", "gguf")
_SWEPT = ("commit", "exporter", "runtime", "pte", "samples")
VALUES = (*_SWEPT, "inputs", "iterations", *_SINGLE)
NULL = "null"
"""On the command line as in ``config.yaml``: nothing, of a value that may be nothing."""


@dataclass(frozen=True)
class Limits:
    """What a worker may take before it is ended: seconds, and bytes of its group's total RSS."""

    timeout_s: float
    memory_cap: int | None


@dataclass(frozen=True)
class Origin:
    """Where revisions are looked up, and how their environments are to be made."""

    repo: str | None = None
    """A clone; None is the tool's own of the official repository."""
    rung: str = "auto"
    base: str | None = None
    """The release whose native libraries an overlay is to have."""
    nightly_index: str | None = None


@dataclass(frozen=True)
class Choice:
    """One combination of the groups that need composing: plain dicts as the worker gets them."""

    model: Mapping[str, Any]
    precision: Mapping[str, Any]
    backend: Mapping[str, Any]
    runner: Mapping[str, Any]
    given: Given | None = None
    """A program from elsewhere: nothing is exported then."""
    source: Path | None = None
    """The user's file that the model is made from: a script, or a GGUF file."""


@dataclass(frozen=True)
class Request:
    """A whole, valid request: what to measure, of which revisions, within which limits."""

    choices: tuple[Choice, ...]
    methods: tuple[str, ...]
    exporters: tuple[str, ...]
    """Empty where the programs are from elsewhere."""
    runtimes: tuple[str, ...] | None
    """None: each exporter's programs run on that same revision."""
    iterations: tuple[int, ...]
    samples: tuple[int, ...]
    max_tokens: int
    repeats: int
    seed: int
    allocator: str
    origin: Origin
    limits: Limits
    out: Path
    resume: str | None
    steps: bool = True
    """Whether the delegate's steps within lowering are told apart."""
    memprofile: bool = False
    """Whether MLX's own memory profile is turned on."""
    check: str = "off"
    """Whether exported programs are compared with their models, in processes of their own."""
    overrides: tuple[str, ...] = field(default=())
    """The command line as given, so that a run can be finished or repeated."""


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
    names = {path.stem for path in (conf / group).glob("*.yaml")}
    return sorted(names, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))


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
    given = split_overrides(overrides)
    elsewhere = check_words(given)
    if not elsewhere:
        given = _with_defaults(given, base, conf)
    text = {name: given.get(name, _text(base[name])) for name in VALUES}
    for name in _SINGLE:
        if name not in _PATHS and "," in text[name]:
            raise RequestError(f"{name}: takes one value, not a list ({text[name]!r})")
    find = _given_programs if elsewhere else _combinations
    combos, methods = find(given, base, conf)
    models = [combo.model for combo in combos]
    commits = parse_list("commit", text["commit"])
    exporters = parse_list("exporter", text["exporter"]) if text["exporter"] else commits
    runtimes = None
    if text["runtime"] or text["exporter"] or elsewhere:
        runtimes = parse_list("runtime", text["runtime"]) if text["runtime"] else commits
    if text["allocator"] not in ALLOCATORS:
        raise choices("allocator", text["allocator"], list(ALLOCATORS))
    if text["check"] not in CHECKS:
        raise choices("check", text["check"], list(CHECKS))
    for name in ("steps", "memprofile"):
        if text[name] not in ("on", "off"):
            raise choices(name, text[name], ["on", "off"])
    if text["rung"] not in RUNGS:
        raise choices("rung", text["rung"], list(RUNGS))
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
        origin=Origin(
            text["repo"] or None,
            text["rung"],
            text["base"] or None,
            text["nightly_index"] or None,
        ),
        limits=Limits(
            parse_seconds("timeout_s", text["timeout_s"]),
            None
            if text["memory_cap"] in ("", "none")
            else parse_size("memory_cap", text["memory_cap"]),
        ),
        out=Path(text["out"] or "results/runs").expanduser(),
        resume=text["resume"] or None,
        check=text["check"],
        steps=text["steps"] == "on",
        memprofile=text["memprofile"] == "on",
        overrides=tuple(_lasting(word) for word in overrides if not word.startswith("resume=")),
    )


def compose_one(overrides: Sequence[str], conf: Path = CONF) -> DictConfig:
    """Compose ``conf/config.yaml`` with Hydra.

    Raises:
        RequestError: with the first line of what Hydra said.

    """
    try:
        with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            return compose("config", overrides=list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException) as error:
        words = " ".join(str(error).split())
        raise RequestError(f"{' '.join(overrides)}: {words[:200]}") from None


def _with_defaults(given: Mapping[str, str], base: DictConfig, conf: Path) -> dict[str, str]:
    """Add to what was given what the chosen models mean by default."""
    names = _group_values("model", given, base, conf)
    models: list[Any] = [
        OmegaConf.to_container(OmegaConf.load(conf / "model" / f"{name}.yaml")) for name in names
    ]
    usual = {name: _text(base[name]) for name in VALUES}
    usual |= {name: ",".join(_group_values(name, {}, base, conf)) for name in GROUPS}
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


def _combinations(
    given: Mapping[str, str], base: DictConfig, conf: Path
) -> tuple[list[Choice], list[str]]:
    """Return every combination of the groups, and the methods asked for."""
    own = own_model(given, _group_values("model", given, base, conf))
    groups = [group for group in GROUPS if not (own and own.methods and group == "method")]
    axes = {group: _group_values(group, given, base, conf) for group in groups}
    names = ("model", "precision", "backend", "runner")
    combos = [
        Choice(**_composed_parts(dict(zip(names, combo, strict=True)), given, conf))
        for combo in product(*(axes[name] for name in names))
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


def _given_programs(
    given: Mapping[str, str], base: DictConfig, conf: Path
) -> tuple[list[Choice], list[str]]:
    """Return every combination of programs and runners, and the methods of all programs."""
    programs = give(given["pte"], given.get("method"), given.get("inputs"))
    runners = [
        _composed_parts({"runner": name}, given, conf)["runner"]
        for name in _group_values("runner", given, base, conf)
    ]
    combos = [
        Choice({"name": each.label}, {"name": ""}, {"name": each.program.backend}, runner, each)
        for each, runner in product(programs, runners)
    ]
    return combos, list(dict.fromkeys(name for each in programs for name in each.inputs))


def _composed_parts(
    picked: Mapping[str, str], given: Mapping[str, str], conf: Path
) -> dict[str, Any]:
    """Compose the groups picked from, and change in them the fields that were given."""
    config = compose_one([f"{name}={value}" for name, value in picked.items()], conf)
    for key, value in given.items():
        if "." in key:
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
    old = OmegaConf.select(config, key)
    if old is None or leaf == "name" or OmegaConf.is_config(old):
        valid = [k for k, v in config[group].items() if k != "name" and not OmegaConf.is_config(v)]
        raise choices(group, leaf, [str(k) for k in valid])
    OmegaConf.update(config, key, fit.field_value(key, old, value))
    if group == "model":
        config.model.name = f"{config.model.name}[{leaf}={value}]"


def _lasting(word: str) -> str:
    """Return a word that means the same when the run is resumed from another folder."""
    key, _, value = word.partition("=")
    if key not in ("pte", "script", "gguf"):
        return word
    return f"{key}={','.join(str(Path(p).expanduser().absolute()) for p in parse_list(key, value))}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if OmegaConf.is_list(value):
        return ",".join(map(str, value))
    return str(value)


def composed(request: Request) -> str:
    """Return the request as YAML: what ``--cfg job`` prints and ``config.yaml`` keeps."""
    content = {
        "choices": [
            {
                part: dict(getattr(choice, part))
                for part in ("model", "precision", "backend", "runner")
            }
            | (choice.given.described if choice.given else {})
            for choice in request.choices
        ],
        "method": list(request.methods),
        "exporter": list(request.exporters),
        "runtime": list(request.runtimes) if request.runtimes else "each exporter's own",
        "iterations": list(request.iterations),
        "samples": list(request.samples),
        "max_tokens": request.max_tokens,
        "repeats": request.repeats,
        "seed": request.seed,
        "allocator": request.allocator,
        "check": request.check,
        "steps": request.steps,
        "memprofile": request.memprofile,
        **asdict(request.origin),
        "timeout_s": request.limits.timeout_s,
        "memory_cap": request.limits.memory_cap,
        "out": str(request.out),
    }
    return OmegaConf.to_yaml(OmegaConf.create(content))
