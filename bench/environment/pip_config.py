"""pip's configuration, read as pip reads it, and said again in uv's words.

uv ignores what pip is configured with. Where a machine's way to its packages (a
mirror, a folder of wheels, a certificate, constraints) is written down for pip, it has
to hold for uv too. Read from pip's documented places rather than by asking pip: the
controller's own environment may have no pip in it.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench.place import expanded


@dataclass(frozen=True)
class PipConfig:
    """The settings of pip that decide what it finds."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    no_index: bool = False
    pre: bool = False
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: str | None = None


@dataclass(frozen=True)
class UvOptions:
    """The same for uv: arguments of ``uv pip install``, and environment variables."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What could not be passed on, one line each."""


def config_files(
    env: Mapping[str, str], *, home: Path, prefix: Path, macos: bool = False
) -> list[Path]:
    """List pip's configuration files, existing or not; a later one overrides."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    if macos:
        shared = [Path("/Library/Application Support/pip/pip.conf")]
        own = home / "Library/Application Support/pip"
        user = own if own.is_dir() else home / ".config/pip"
    else:
        folders = env.get("XDG_CONFIG_DIRS") or "/etc/xdg"
        shared = [Path(folder) / "pip/pip.conf" for folder in folders.split(os.pathsep) if folder]
        shared.append(Path("/etc/pip.conf"))
        user = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "pip"
    files = [*shared]
    if not (named and Path(named).exists()):
        files += [home / ".pip/pip.conf", user / "pip.conf"]
    files.append(prefix / "pip.conf")
    if named:
        files.append(Path(named))
    return files


def effective(texts: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """Merge the files' texts and the environment as ``pip install`` does.

    The section ``install`` overrides ``global``, a later file an earlier one within a
    section, and the environment both.
    """
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for text in texts:
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(text)
        except configparser.Error:
            continue
        for section, values in sections.items():
            if parser.has_section(section):
                values.update({_key(key): value for key, value in parser.items(section)})
    merged = sections["global"] | sections["install"]
    for variable, value in env.items():
        if variable.startswith("PIP_") and value:
            merged[_key(variable.removeprefix("PIP_"))] = value
    return merged


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def parse(settings: Mapping[str, str], base: Path) -> PipConfig:
    """Give ``settings`` their types; relative paths are relative to ``base``."""

    def words(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(settings.get(name, "").split()))

    def flag(name: str) -> bool:
        return settings.get(name, "").strip().lower() in {"1", "true", "yes", "on", "y", "t"}

    def path(name: str) -> str | None:
        value = settings.get(name, "").strip()
        return str(base / expanded(value, f"pip's {name}")) if value else None

    return PipConfig(
        index_url=settings.get("index-url", settings.get("pypi-url", "")).strip() or None,
        extra_index_urls=words("extra-index-url"),
        find_links=tuple(_absolute(value, base) for value in words("find-links")),
        constraints=tuple(_absolute(value, base) for value in words("constraint")),
        trusted_hosts=words("trusted-host"),
        no_index=flag("no-index"),
        pre=flag("pre"),
        cert=path("cert"),
        client_cert=path("client-cert"),
        proxy=settings.get("proxy", "").strip() or None,
        timeout=(settings.get("timeout") or settings.get("default-timeout") or "").strip() or None,
    )


def _absolute(value: str, base: Path) -> str:
    return value if "://" in value or value.startswith("file:") else str(base / value)


def read_pip_config(env: Mapping[str, str] | None = None, *, base: Path | None = None) -> PipConfig:
    """Read the configuration that ``pip install`` would follow here and now."""
    env = os.environ if env is None else env
    places = config_files(
        env, home=Path.home(), prefix=Path(sys.prefix), macos=sys.platform == "darwin"
    )
    texts = []
    for place in places:
        try:
            texts.append(place.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
    return parse(effective(texts, env), base or Path.cwd())


def local_path(location: str) -> Path | None:
    """Give the path that a location means, or None for one that is fetched."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else Path(location)


def uv_options(config: PipConfig, env: Mapping[str, str]) -> UvOptions:
    """Say ``config`` in uv's words; what the user set for uv itself is left alone.

    Addresses of indexes go by the environment, because they may hold a password. A
    local place that does not exist is dropped: pip warns about one, uv stops.
    """
    notes: list[str] = []

    def existing(name: str, locations: Iterable[str]) -> list[str]:
        kept = []
        for location in locations:
            path = local_path(location)
            if path is None or path.exists():
                kept.append(location)
            else:
                notes.append(f"pip's {name} {location} does not exist: left out")
        return kept

    arguments: list[str] = []
    for location in existing("find-links", config.find_links):
        arguments += ["--find-links", location]
    for location in existing("constraint", config.constraints):
        arguments += ["--constraint", location]
    for host in config.trusted_hosts:
        arguments += ["--allow-insecure-host", host]
    if config.no_index:
        arguments.append("--no-index")
    if config.pre:
        arguments += ["--prerelease", "allow"]
    variables: dict[str, str] = {}
    extra = existing("extra-index-url", config.extra_index_urls)
    index = existing("index-url", [config.index_url] if config.index_url else [])
    if not config.no_index:
        if index:
            variables["UV_INDEX_URL"] = index[0]
        if extra:
            variables["UV_EXTRA_INDEX_URL"] = " ".join(extra)
    if extra or index:
        # pip takes the best version of all places; uv by default stops at the first.
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if config.cert and existing("cert", [config.cert]):
        variables["SSL_CERT_FILE"] = config.cert
    if config.client_cert and existing("client-cert", [config.client_cert]):
        variables["SSL_CLIENT_CERT"] = config.client_cert
    if config.timeout:
        variables["UV_HTTP_TIMEOUT"] = config.timeout.partition(".")[0]
    if config.proxy:
        proxy = config.proxy if "://" in config.proxy else f"http://{config.proxy}"
        variables |= {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy}
    taken = {name for name in variables if name.startswith("UV_") and env.get(name)}
    if env.get("UV_DEFAULT_INDEX"):
        taken.add("UV_INDEX_URL")
    if env.get("UV_INDEX"):
        taken.add("UV_EXTRA_INDEX_URL")
    chosen = {name: value for name, value in variables.items() if name not in taken}
    return UvOptions(tuple(arguments), chosen, tuple(notes))
