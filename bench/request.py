"""A whole, valid request: what to measure, of which revisions, within which limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from bench.errors import RequestError
from bench.packages import PackageList
from bench.pte import Given

# Of http(s) the user alone may be a token.
_SECRET = re.compile(r"https?://[^/@\s]+@|://[^/@:\s]*:[^/@\s]+@", re.IGNORECASE)


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
    packages: PackageList | None = None
    """What a release's environment is to have installed, where that is not to be resolved."""

    def __post_init__(self) -> None:
        """Refuse a password: what is asked for is written into runs, tables and reports."""
        for name in ("repo", "nightly_index"):
            if _SECRET.search(getattr(self, name) or ""):
                raise RequestError(
                    f"{name}: an address with a password would be kept with every run: leave it "
                    "out, and put it into ~/.netrc (for git, also a credential helper)"
                )


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
    timeline: bool = False
    """Whether the RSS of each process is sampled against time."""
    check: str = "off"
    """Whether exported programs are compared with their models, in processes of their own."""
    timing: bool = True
    """Whether times are kept: what runs side by side on one machine has none."""
    memory_budget: int | None = None
    """Bytes for what runs side by side on one machine, together; None: by what is free."""
    launch: tuple[str, ...] = ()
    """Words of the command line about the launcher; empty where all runs here, one by one."""
    overrides: tuple[str, ...] = field(default=())
    """The command line as given, so that a run can be finished or repeated."""


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
        "timeline": request.timeline,
        "timing": request.timing,
        "memory_budget": request.memory_budget,
        "launch": list(request.launch),
        **asdict(request.origin),
        "packages": request.origin.packages.hash if request.origin.packages else None,
        "timeout_s": request.limits.timeout_s,
        "memory_cap": request.limits.memory_cap,
        "out": str(request.out),
    }
    return OmegaConf.to_yaml(OmegaConf.create(content))
