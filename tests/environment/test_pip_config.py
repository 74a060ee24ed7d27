"""pip's configuration holds for uv too."""

import os
from pathlib import Path

from bench.environment.pip_config import (
    PipConfig,
    config_files,
    effective,
    parse,
    read_pip_config,
    uv_options,
)

HOME = Path("/home/someone")
PREFIX = Path("/venv")


def files(env, **kwargs):
    return config_files(env, home=HOME, prefix=PREFIX, **kwargs)


def test_the_files_are_pips_in_pips_order():
    assert files({}) == [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        HOME / ".pip/pip.conf",
        HOME / ".config/pip/pip.conf",
        PREFIX / "pip.conf",
    ]


def test_xdg_folders_are_followed():
    found = files({"XDG_CONFIG_DIRS": "/a:/b", "XDG_CONFIG_HOME": "/c"})
    assert found[:2] == [Path("/a/pip/pip.conf"), Path("/b/pip/pip.conf")]
    assert Path("/c/pip/pip.conf") in found


def test_a_file_named_by_the_environment_comes_last_and_replaces_the_users(tmp_path):
    named = tmp_path / "pip.conf"
    named.touch()
    found = files({"PIP_CONFIG_FILE": str(named)})
    assert found[-1] == named
    assert not any(HOME in path.parents for path in found)


def test_the_null_device_as_file_means_no_file_at_all():
    assert files({"PIP_CONFIG_FILE": os.devnull}) == []


def test_macos_has_its_own_places(tmp_path):
    own = tmp_path / "Library/Application Support/pip"
    assert tmp_path / ".config/pip/pip.conf" in config_files(
        {}, home=tmp_path, prefix=PREFIX, macos=True
    )
    own.mkdir(parents=True)
    assert own / "pip.conf" in config_files({}, home=tmp_path, prefix=PREFIX, macos=True)


def test_later_files_the_command_and_the_environment_override():
    first = "[global]\ntimeout = 1\nproxy = p\nindex-url = a\n[install]\nindex-url = b\n"
    second = "[global]\nindex-url = c\ntimeout = 2\n[download]\ntimeout = 9\n"
    settings = effective([first, second], {"PIP_TIMEOUT": "3", "PIP_PROXY": "", "PATH": "x"})
    assert settings == {"timeout": "3", "proxy": "p", "index-url": "b"}


def test_names_are_spelled_with_hyphens_or_underscores():
    settings = effective(["[global]\nextra_index_url = a\n"], {"PIP_FIND_LINKS": "/w"})
    assert settings == {"extra-index-url": "a", "find-links": "/w"}


def test_a_broken_file_and_percent_signs_do_no_harm():
    texts = ["no section\n", "[global]\nindex-url = https://example.org/a%20b\n"]
    assert effective(texts, {}) == {"index-url": "https://example.org/a%20b"}


def test_lists_are_split_and_relative_paths_made_absolute():
    settings = {
        "find-links": "/wheels\nmore https://example.org/page file:///local",
        "constraint": "c.txt https://example.org/c.txt",
        "no-index": "true",
        "cert": "ca.pem",
        "default-timeout": "180",
    }
    config = parse(settings, Path("/base"))
    assert config.find_links == (
        "/wheels",
        "/base/more",
        "https://example.org/page",
        "file:///local",
    )
    assert config.constraints == ("/base/c.txt", "https://example.org/c.txt")
    assert config.no_index
    assert config.cert == "/base/ca.pem"
    assert config.timeout == "180"
    assert not config.pre


def test_reading_needs_no_pip(tmp_path):
    conf = tmp_path / "pip.conf"
    conf.write_text("[global]\nfind-links = wheels\n")
    env = {"PIP_CONFIG_FILE": str(conf), "XDG_CONFIG_DIRS": str(tmp_path / "none")}
    config = read_pip_config(env, base=tmp_path)
    assert str(tmp_path / "wheels") in config.find_links


def test_uv_hears_the_same(tmp_path):
    constraint = tmp_path / "c.txt"
    cert = tmp_path / "ca.pem"
    constraint.touch()
    cert.touch()
    config = PipConfig(
        index_url="https://mirror/simple",
        extra_index_urls=("https://user:word@extra/simple",),
        find_links=(str(tmp_path), "https://example.org/page"),
        constraints=(str(constraint),),
        trusted_hosts=("mirror",),
        pre=True,
        cert=str(cert),
        proxy="proxy:3128",
        timeout="180.0",
    )
    options = uv_options(config, {})
    assert options.arguments == (
        *("--find-links", str(tmp_path), "--find-links", "https://example.org/page"),
        *("--constraint", str(constraint)),
        *("--allow-insecure-host", "mirror"),
        *("--prerelease", "allow"),
    )
    assert options.environment == {
        "UV_INDEX_URL": "https://mirror/simple",
        "UV_EXTRA_INDEX_URL": "https://user:word@extra/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": str(cert),
        "UV_HTTP_TIMEOUT": "180",
        "HTTP_PROXY": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    assert options.notes == ()


def test_local_places_that_do_not_exist_are_left_out_with_a_note(tmp_path):
    gone = tmp_path / "gone"
    config = PipConfig(
        find_links=(str(gone), str(tmp_path)),
        extra_index_urls=(f"file://{gone}/simple", f"file://{tmp_path}"),
        constraints=(str(gone),),
    )
    options = uv_options(config, {})
    assert options.arguments == ("--find-links", str(tmp_path))
    assert options.environment["UV_EXTRA_INDEX_URL"] == f"file://{tmp_path}"
    assert len(options.notes) == 3
    assert all("does not exist" in note for note in options.notes)


def test_no_index_leaves_no_index():
    config = PipConfig(index_url="https://a", extra_index_urls=("https://b",), no_index=True)
    options = uv_options(config, {})
    assert options.arguments == ("--no-index",)
    assert "UV_INDEX_URL" not in options.environment
    assert "UV_EXTRA_INDEX_URL" not in options.environment


def test_what_the_user_set_for_uv_itself_is_left_alone():
    config = PipConfig(index_url="https://a", extra_index_urls=("https://b",), timeout="5")
    env = {"UV_DEFAULT_INDEX": "https://mine", "UV_INDEX": "https://mine2", "UV_HTTP_TIMEOUT": "9"}
    assert uv_options(config, env).environment == {"UV_INDEX_STRATEGY": "unsafe-best-match"}


def test_an_empty_configuration_changes_nothing():
    options = uv_options(PipConfig(), {})
    assert (options.arguments, dict(options.environment), options.notes) == ((), {}, ())
