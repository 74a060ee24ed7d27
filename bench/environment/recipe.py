"""What an environment is made of, and the key that says when two are the same.

Pure: nothing here looks at the network, the disk (but for the table that ships with
this package) or an installed torch.
"""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.version import InvalidVersion, Version

from bench.errors import RequestError, choices

LAYOUT = 1
"""Raised when the way an environment is built changes what is in it."""

ANY_TORCH = "any"
"""Given as the torch of a release: whatever the resolver picks."""


@dataclass(frozen=True)
class Recipe:
    """All that decides the content of an environment of the rung ``wheel``."""

    rung: str
    release: str
    torch: str | None
    """The pinned version; None leaves it to the resolver."""
    python: str
    """The interpreter's tag, such as ``cp311``."""
    platform: str
    requirements: tuple[str, ...]
    """The worker's own, resolved together with ExecuTorch and torch."""
    without_dependencies: tuple[str, ...]
    """The worker's own, whose declared dependencies are not wanted."""
    note: str = ""
    """Why this is not an ordinary pin, where it isn't; no part of the key."""
    packages: tuple[str, ...] = ()
    """Everything to install, as ``name==version``; empty leaves it to the resolver."""

    @property
    def label(self) -> str:
        """Name it in a folder's name and in messages."""
        return self.release

    @property
    def folder_name(self) -> str:
        """Name the environment's folder."""
        return f"{self.rung}-{self.label}-{self.build_key}"

    @property
    def why(self) -> str:
        """Say in a few words how this environment came to be chosen."""
        torch = f"torch {self.torch}" if self.torch else "the resolver's torch"
        return self.note or f"published release with {torch}"

    @property
    def build_key(self) -> str:
        """Hash everything that decides the environment's content."""
        content = {key: value for key, value in asdict(self).items() if key != "note"}
        if not self.packages:  # so that no other environment's key is another for it
            del content["packages"]
        return build_key(content)


def build_key(content: object) -> str:
    """Give the short hash of the canonical JSON of ``content``."""
    text = json.dumps({"layout": LAYOUT, "content": content}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _data() -> dict[str, dict[str, Any]]:
    text = (files(__package__) / "releases.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def releases() -> dict[str, str]:
    """Give the known releases, oldest first, each with the torch it was built with."""
    table = {release: str(torch) for release, torch in _data()["torch"].items()}
    return dict(sorted(table.items(), key=lambda item: Version(item[0])))


def _worker(field: str) -> tuple[str, ...]:
    return tuple(sorted(_data()["worker"][field]))


def normalise_release(text: str, *, known_only: bool = True) -> str:
    """Give ``v1.4.1`` or ``1.4.1`` as ``1.4.1``; raise RequestError for no release."""
    known = releases()
    try:
        version = Version(text.strip())
    except InvalidVersion:
        raise choices("release", text, list(known)) from None
    if str(version) in known:
        return str(version)
    if not known_only:
        return str(version)
    error = choices("release", text, list(known))
    if version > Version(list(known)[-1]):
        raise RequestError(f"{error} (a newer one needs its torch named: a version, or any)")
    raise error


def is_release(text: str) -> bool:
    """Tell whether ``text`` names a release of the table."""
    try:
        normalise_release(text)
    except RequestError:
        return False
    return True


def recipe_for(release: str, *, torch: str | None = None) -> Recipe:
    """Give the recipe of a release's environment under the current interpreter.

    A release of the table is built with the torch that the table gives, unless
    ``torch`` names another. A release that the table does not know, such as one that
    appeared after this tool, needs ``torch``: a version, or ``any`` to take what the
    resolver picks. So a typing error is found before anything is built or asked of
    the network, and a new release does not have to wait for a new version of the tool.
    """
    name = normalise_release(release, known_only=torch is None)
    usual = releases().get(name)
    pin: str | None
    note = ""
    if torch is None:
        pin = usual
    elif torch == ANY_TORCH:
        pin = None
        note = f"release {name} with the torch that the resolver picks, not one it was built with"
    else:
        pin = _torch_version(torch)
        if pin != usual:
            built = f"built with {usual}" if usual else "not known to this tool"
            note = f"release {name} ({built}) with torch {pin} as asked"
    return Recipe(
        rung="wheel",
        release=name,
        torch=pin,
        python=f"cp{sys.version_info.major}{sys.version_info.minor}",
        platform=sysconfig.get_platform(),
        requirements=_worker("requirements"),
        without_dependencies=_worker("without_dependencies"),
        note=note,
    )


def _torch_version(text: str) -> str:
    try:
        return str(Version(text.strip().removeprefix("v")))
    except InvalidVersion:
        message = f"torch: {text!r} is neither a version, such as 2.13.0, nor {ANY_TORCH!r}"
        raise RequestError(message) from None
