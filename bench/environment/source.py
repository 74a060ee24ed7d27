"""Environments of the rung ``source``: a repository's own build of a commit.

What is particular to ExecuTorch is in ``conf/source/``: where it pins its torch, which CMake
options it takes, which commands build it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from bench.environment.commands import Commands, redact
from bench.environment.installer import Installer
from bench.environment.model import Environment, Say
from bench.environment.recipe import Recipe, build_key, recipe_for, releases
from bench.environment.wheel import begin, finish
from bench.errors import BuildError
from bench.git import GIT, git_variables
from bench.machine import usable_cores

CONF = Path(__file__).resolve().parents[2] / "conf" / "source" / "executorch.yaml"
ReadFile = Callable[[str], str | None]
"""Gives the text of a file of the commit; None where there is none."""

_SOURCE = "source"
_PARALLEL = "CMAKE_BUILD_PARALLEL_LEVEL"
# The first complaint of a compiler, of CMake, of the linker: what comes after it follows from it.
_FAILING = (
    re.compile(r"^.*?:\d+(?::\d+)?: (?:fatal )?error: .*", re.MULTILINE),
    re.compile(r"^.*CMake Error.*(?:\n(?:  .*)?){0,3}", re.MULTILINE),
    re.compile(r"^.*(?:undefined reference to|cannot find -l|Undefined symbols).*", re.MULTILINE),
    re.compile(r"^fatal: .*", re.MULTILINE),
    re.compile(r"^\s*(?:[\w.]+Error|[\w.]+Exception): .*", re.MULTILINE),
)
_DECIDING = {
    *("CC", "CXX", "OBJC", "OBJCXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "OBJCFLAGS", "LDFLAGS"),
    *("MACOSX_DEPLOYMENT_TARGET", "SDKROOT", "DEVELOPER_DIR", "CPATH", "LIBRARY_PATH"),
    *("CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "ARCHFLAGS"),
}
_DECIDING_PREFIXES = ("CMAKE_", "EXECUTORCH_")
_NOT_DECIDING = ("_COMPILER_LAUNCHER", "_PARALLEL_LEVEL")  # how fast, not what
# Runs a command in another folder, in place of this process: what is started stays one group.
_ELSEWHERE = "import os, sys; os.chdir(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])"


@dataclass(frozen=True)
class SourceBuild:
    """How a repository is built, as ``conf/source/`` says."""

    submodules: tuple[str, ...]
    torch: tuple[Mapping[str, str], ...]
    requirements: tuple[str, ...]
    environment: Mapping[str, str]
    cmake: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]
    package: str

    @classmethod
    def load(cls, path: Path = CONF) -> SourceBuild:
        """Read it from a file."""
        content: Any = OmegaConf.to_container(OmegaConf.load(path))
        return cls(
            submodules=tuple(map(str, content["submodules"])),
            torch=tuple(content["torch"]),
            requirements=tuple(content["requirements"]),
            environment={key: str(value) for key, value in content["environment"].items()},
            cmake={key: str(value) for key, value in content["cmake"].items()},
            commands=tuple(tuple(map(str, words)) for words in content["commands"]),
            package=content["package"],
        )

    def pinned_torch(self, read: ReadFile) -> str | None:
        """Find the torch that a commit pins."""
        for rule in self.torch:
            match = re.search(rule["pattern"], read(rule["file"]) or "")
            if match:
                return rule["version"].format(*match.groups())
        return None


@dataclass(frozen=True)
class SourceRecipe(Recipe):
    """All that decides the content of an environment of the rung ``source``."""

    sha: str = ""
    git_dir: Path = Path()
    """What holds the clone's ``objects``."""
    build: SourceBuild | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the person's own, those that decide what is built: see :func:`deciding`."""

    @property
    def build_key(self) -> str:
        """Hash what decides the content: not which clone the commit comes from."""
        build = self.build
        kept = {
            name: getattr(self, name) for name in ("rung", "sha", "torch", "python", "platform")
        }
        if build:
            settings = [build.submodules, build.requirements, build.commands]
            kept["build"] = [*settings, dict(build.environment), dict(build.cmake)]
        if self.variables:
            kept["variables"] = dict(self.variables)
        return build_key([kept, self.requirements, self.without_dependencies])

    @property
    def why(self) -> str:
        """Say how it came about."""
        own = "".join(f", {redact(f'{name}={value}')}" for name, value in self.variables.items())
        return f"built from source at {self.sha[:10]} with torch {self.torch or 'as resolved'}{own}"


def deciding(build: SourceBuild, environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables that a build lets through and that change what it makes.

    The compilers and their flags, what CMake reads, and what ExecuTorch's own setup.py does.
    """
    return {
        name: value
        for name, value in sorted(environment.items())
        if value
        and (name in _DECIDING or name.startswith(_DECIDING_PREFIXES))
        and not name.endswith(_NOT_DECIDING)
        and name not in build.environment
    }


def source_recipe(
    git_dir: Path,
    sha: str,
    read: ReadFile,
    build: SourceBuild | None = None,
    environment: Mapping[str, str] = os.environ,
) -> SourceRecipe:
    """Give the recipe of a commit's own build; ``read`` gives files of the commit."""
    build = build or SourceBuild.load()
    own = deciding(build, environment)
    torch = build.pinned_torch(read)
    like = recipe_for(list(releases())[-1], torch=torch or "any")
    values = {name: getattr(like, name) for name in Recipe.__dataclass_fields__}
    values |= {"rung": "source", "release": sha[:10], "note": ""}
    return replace(SourceRecipe(**values), sha=sha, git_dir=git_dir, build=build, variables=own)


def build_source(recipe: SourceRecipe, folder: Path, say: Say, installer: Installer) -> Environment:
    """Build ``recipe`` in ``folder``: tens of minutes, for ExecuTorch."""
    build = recipe.build or SourceBuild.load()
    steps = _Steps(folder, say)
    source = folder / _SOURCE
    _check_out(steps, recipe, build, source)
    say(f"preparing the environment of {recipe.label} with {installer.name}")
    python, torch = begin(recipe, steps.commands, installer, say)
    wanted = [*_build_requirements(source), *build.requirements, *recipe.requirements]
    if recipe.torch:
        wanted.append(torch.requirement)
    what = "the build's requirements"
    installer.install(steps.commands, python, wanted, what=what, cpu_index=torch.cpu_index)
    variables = build_variables(build, os.environ, python)
    steps.commands.note(f"CMAKE_ARGS={variables['CMAKE_ARGS']}")
    for words in build.commands:
        command = [word.format(python=python) for word in words]
        shown = shlex.join(word.format(python="python") for word in words)
        say(f"building {recipe.label} from source: {shown} (log: {steps.commands.log})")
        steps.run(f"building {recipe.label} from source", source, command, variables)
    shutil.rmtree(source)
    environment = finish(recipe, steps.commands, installer, say, build.package)
    return replace(environment, git_sha=recipe.sha)


def build_variables(
    build: SourceBuild, environment: Mapping[str, str], python: Path
) -> dict[str, str]:
    """Give the variables of the build: its CMake options, its tools, ccache where there is one."""
    options = shlex.join(f"-D{name}={value}" for name, value in build.cmake.items())
    given = environment.get("CMAKE_ARGS", "")
    path = os.pathsep.join([str(python.parent), environment.get("PATH", os.defpath)])
    variables = {
        **environment,
        "PATH": path,
        "CMAKE_ARGS": f"{options} {given}".strip(),
        _PARALLEL: environment.get(_PARALLEL) or str(usable_cores()),
        **build.environment,
    }
    ccache = shutil.which("ccache", path=path)
    for language in ("C", "CXX") if ccache else ():
        variables.setdefault(f"CMAKE_{language}_COMPILER_LAUNCHER", str(ccache))
    return variables


class _Steps:
    """The commands of the build, whose failing line is looked for in what they printed."""

    def __init__(self, folder: Path, say: Say) -> None:
        self.commands = Commands(folder)
        self.say = say

    def run(
        self,
        what: str,
        where: Path,
        argv: Sequence[object],
        environment: Mapping[str, str] | None = None,
    ) -> str:
        elsewhere = [sys.executable, "-c", _ELSEWHERE, where, *argv]
        return self.commands.run(what, elsewhere, environment=environment, telling=failing_line)


def failing_line(log: str) -> str | None:
    """Find the line of a build's log that everything after it follows from."""
    for pattern in _FAILING:
        match = pattern.search(log)
        if match:
            return redact(" ".join(match[0].split()))[:400]
    return None


def _check_out(steps: _Steps, recipe: SourceRecipe, build: SourceBuild, source: Path) -> None:
    """Check the commit out with its submodules, sharing the objects of the clone it is in."""
    steps.say(f"checking {recipe.label} out with its submodules")
    folder = source.parent

    def git(*words: object, where: Path = source) -> str:
        return steps.run(f"checking out {recipe.label}", where, [*GIT, *words], git_variables())

    git("init", "--quiet", source, where=folder)
    alternates = source / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{recipe.git_dir.absolute() / 'objects'}\n", encoding="utf-8")
    # Its remote is the clone's own remote: submodules may be relative to that, and a partial
    # clone gets contents from there.
    for key, value in _remote_settings(steps, recipe.git_dir, folder).items():
        git("config", key, value)
    git("checkout", "--quiet", "--detach", recipe.sha)
    if build.submodules and (source / ".gitmodules").is_file():
        # What the clone has of them already need not be fetched.
        shared = (
            "submodule.alternateLocation=superproject",
            "submodule.alternateErrorStrategy=info",
        )
        options = [word for setting in shared for word in ("-c", setting)]
        git(*options, "submodule", "--quiet", "update", *build.submodules)


def _remote_settings(steps: _Steps, git_dir: Path, folder: Path) -> dict[str, str]:
    pattern = r"^(remote\.origin\.(url|promisor|partialclonefilter))$"
    argv = [*GIT, "--git-dir", git_dir, "config", "--get-regexp", pattern]
    try:
        listed = steps.run("reading the clone's remote", folder, argv, git_variables())
    except BuildError:  # it has none
        return {}
    pairs = (line.partition(" ") for line in listed.splitlines())
    found = {key: value for key, _, value in pairs}
    if "remote.origin.promisor" in found:
        found |= {"core.repositoryformatversion": "1", "extensions.partialClone": "origin"}
    return found


def _build_requirements(source: Path) -> list[str]:
    try:
        content = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BuildError(f"the commit has no pyproject.toml to read: {error}") from None
    return [str(word) for word in content.get("build-system", {}).get("requires", [])]
