"""Nightly wheels: what an index holds, and environments of the rung ``nightly``."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import ssl
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from html.parser import HTMLParser
from http.client import HTTPException
from netrc import NetrcParseError, netrc
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.response import addinfourl

from filelock import FileLock
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from bench.disk import FAULTS, DiskError
from bench.environment.commands import Commands, redact
from bench.environment.installer import Installer
from bench.environment.model import Environment, Say
from bench.environment.pip_config import read_pip_config
from bench.environment.recipe import Recipe, build_key, recipe_for, releases
from bench.environment.wheel import begin, finish, git_sha
from bench.errors import BuildError, RequestError
from bench.place import expanded

_VERSION_FILE = "executorch/version.py"
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class NightlyWheel:
    """A wheel of an index that this interpreter could install."""

    version: str
    day: date
    place: str
    """Its path, or its address."""
    sha256: str | None = None
    """The checksum that the index gives it."""


class NightlyIndex:
    """A folder of wheels, or the address of a package index.

    Args:
        location: what ``nightly_index=`` says.
        cache: where wheels of an address are kept, once they were looked into.

    Raises:
        RequestError: where it is neither.

    """

    def __init__(self, location: str, cache: Path) -> None:
        self.location = location
        self.cache = cache
        self.remote = re.match(r"https?://[^\s-]", location) is not None
        self._wheels: list[NightlyWheel] | None = None
        self.folder = None if self.remote else expanded(location, "nightly_index").absolute()
        if self.folder is not None and ("://" in location or not self.folder.is_dir()):
            raise RequestError(
                f"nightly_index: {redact(location)!r} is neither a folder of wheels nor the "
                "https address of an index"
            )

    def wheels(self, day: date) -> list[NightlyWheel]:
        """Give the nightlies of a day that can be installed here, the best first."""
        if self._wheels is None:
            self._wheels = self._list()
        return [wheel for wheel in self._wheels if wheel.day == day]

    def sha(self, wheel: NightlyWheel) -> str | None:
        """Read the commit that a wheel was built from; None where it does not say."""
        place = (
            self.cache / "version" / f"{hashlib.sha256(wheel.place.encode()).hexdigest()[:12]}.py"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(self.file(wheel)) as content:
                place.write_bytes(content.read(_VERSION_FILE))
        except (KeyError, OSError, zipfile.BadZipFile):
            return None
        return git_sha(place)

    def file(self, wheel: NightlyWheel) -> Path:
        """Give the wheel as a file, fetched once where it has an address.

        Raises:
            BuildError: where it can't be had, or is not what the index says.

        """
        if not self.remote:
            return Path(wheel.place)
        # A folder of its address and checksum: two indices may call different files alike.
        key = hashlib.sha256(f"{wheel.place} {wheel.sha256}".encode()).hexdigest()[:12]
        kept = self.cache / key / unquote(wheel.place.rpartition("/")[2])
        kept.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(kept.parent / "lock"):
            if not kept.is_file():
                new = kept.with_name(f"new-{os.getpid()}")
                try:
                    _fetch(wheel, new)
                    new.replace(kept)
                finally:
                    new.unlink(missing_ok=True)
        return kept

    def _list(self) -> list[NightlyWheel]:
        tags = {tag: number for number, tag in enumerate(sys_tags())}
        found = []
        for place in self._places():
            address, fragment = urldefrag(place) if self.remote else (place, "")
            try:
                name, version, _, own = parse_wheel_filename(unquote(Path(address).name))
            except InvalidWheelFilename:
                continue
            rank = min((tags[tag] for tag in own if tag in tags), default=None)
            day = _day(version)
            if name == "executorch" and rank is not None and day:
                kind, _, value = fragment.partition("=")
                checksum = value if kind == "sha256" else None
                wheel = NightlyWheel(str(version), day, address, checksum)
                # The CPU build before others: it is what everything else here uses.
                found.append((version.local not in (None, "cpu"), rank, wheel))
        return [wheel for _, _, wheel in sorted(found, key=lambda item: item[:2])]

    def _places(self) -> Sequence[str]:
        if self.folder is not None:
            return sorted(map(str, self.folder.glob("*.whl")))
        base = self.location.rstrip("/") + "/"
        page = base if base.endswith("/executorch/") else urljoin(base, "executorch/")
        links = _Links(page)
        try:
            with _get(page) as answer:
                links.feed(answer.read().decode("utf-8", errors="replace"))
        except (OSError, HTTPException) as error:  # it came cut short
            raise BuildError(f"nightly_index: {redact(page)} can't be read: {error}") from None
        return links.found


def _fetch(wheel: NightlyWheel, path: Path) -> None:
    """Get a wheel, and refuse what is not all of it, or not it.

    Raises:
        BuildError: for another length or checksum than was said, or no whole zip file.
        DiskError: where the disk is full.

    """
    place = redact(wheel.place)
    try:
        with _get(wheel.place) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
            length = answer.headers["Content-Length"]
    except (OSError, HTTPException) as error:
        if isinstance(error, OSError) and error.errno in FAULTS:
            raise DiskError(f"{error.strerror}: {path.parent}") from error
        raise BuildError(f"{place} can't be fetched: {error}") from None
    if length is not None and path.stat().st_size != int(length):
        raise BuildError(f"{place} came as {path.stat().st_size} of {length} bytes: try again")
    with path.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if wheel.sha256 not in (None, found):
        raise BuildError(f"{place} has another checksum than its index gives")
    try:
        with zipfile.ZipFile(path) as whole:
            broken = whole.testzip()
    except zipfile.BadZipFile as error:
        broken = str(error)
    if broken:
        raise BuildError(f"{place} is no whole wheel ({broken})")


class _Links(HTMLParser):
    """The addresses that a page of an index links to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of every link."""
        self.found += [
            urljoin(self.page, value)
            for name, value in attrs
            if tag == "a" and name == "href" and value
        ]


def _get(address: str) -> addinfourl:
    """Open an http(s) address."""
    context = ssl.create_default_context(cafile=read_pip_config().cert)
    request = urllib.request.Request(address)  # noqa: S310 - http(s) only
    if login := _login(urlsplit(address).hostname or ""):
        request.add_unredirected_header("Authorization", f"Basic {login}")  # to no other host
    try:
        answer: addinfourl = urllib.request.urlopen(  # noqa: S310 - http(s) only
            request, timeout=_PATIENCE_S, context=context
        )
    except (OSError, HTTPException, ValueError) as error:
        raise BuildError(f"nightly_index: {redact(address)} can't be read: {error}") from None
    return answer


def _login(host: str) -> str | None:
    """Look a host's user and password up, as pip does: in ``$NETRC``, or ``~/.netrc``."""
    try:
        found = netrc(os.environ.get("NETRC")).authenticators(host)
    except (OSError, NetrcParseError):
        return None
    return b64encode(f"{found[0]}:{found[2]}".encode()).decode() if found else None


def _day(version: Version) -> date | None:
    digits = str(version.dev or "")
    if not re.fullmatch(r"20\d{6}", digits):
        return None
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return None


@dataclass(frozen=True)
class NightlyRecipe(Recipe):
    """All that decides the content of an environment of the rung ``nightly``."""

    wheel: NightlyWheel | None = None
    index: NightlyIndex | None = None

    @property
    def build_key(self) -> str:
        """Hash what decides the content: not where the wheel was found."""
        keep = ("rung", "release", "torch", "python", "platform", "requirements")
        content = {name: getattr(self, name) for name in (*keep, "without_dependencies")}
        return build_key(content)


def nightly_recipe(index: NightlyIndex, wheel: NightlyWheel, torch: str | None) -> NightlyRecipe:
    """Give the recipe of a nightly with the torch that its commit pins."""
    like = recipe_for(list(releases())[-1], torch=torch or "any")
    values = {name: getattr(like, name) for name in Recipe.__dataclass_fields__}
    values |= {"rung": "nightly", "release": wheel.version}
    values["note"] = f"nightly {wheel.version}"
    return replace(NightlyRecipe(**values), wheel=wheel, index=index)


def build_nightly(
    recipe: NightlyRecipe, folder: Path, say: Say, installer: Installer
) -> Environment:
    """Build ``recipe`` in ``folder``."""
    if recipe.index is None or recipe.wheel is None:
        raise BuildError(f"the nightly {recipe.release} is in no index that is configured now")
    commands = Commands(folder)
    say(f"building the environment of the nightly {recipe.release} with {installer.name}")
    python, torch = begin(recipe, commands, installer, say)
    wheel = recipe.index.file(recipe.wheel)
    requirements = [str(wheel), torch.requirement, *recipe.requirements]
    what = f"the nightly {recipe.release}"
    installer.install(commands, python, requirements, what=what, cpu_index=torch.cpu_index)
    return finish(recipe, commands, installer, say)
