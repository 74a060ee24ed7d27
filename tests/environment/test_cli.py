"""``python -m bench.environment``."""

from datetime import UTC, datetime, timedelta

import pytest

from bench.environment import cli
from bench.environment.model import StoredEnvironment
from bench.errors import BuildError, RequestError
from tests.environment.fakes import fake_environment


@pytest.fixture
def built(monkeypatch, tmp_path):
    """Build in no time into a cache of its own, and keep what was built."""
    releases = []

    def build(recipe, folder, say):
        releases.append((recipe.release, recipe.torch))
        if recipe.release == "1.0.0":
            raise BuildError("no luck")
        return fake_environment(recipe, folder)

    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path))
    monkeypatch.setattr(cli, "default_builders", lambda installer: {"wheel": build})
    return releases


def test_releases_are_built_and_their_interpreters_shown(built, capsys):
    assert cli.main(["v1.4.1", "1.5.1"]) == 0
    assert built == [("1.4.1", "2.13.0"), ("1.5.1", "2.13.0")]
    out = capsys.readouterr().out
    assert "1.4.1: " in out
    assert "venv/bin/python" in out


def test_a_torch_can_be_named(built):
    assert cli.main(["v1.99.0", "--torch", "2.20.0"]) == 0
    assert built == [("1.99.0", "2.20.0")]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["v9.9.9"],
        ["v1.4.1", "v9.9.9"],
        ["--upload-pack=x"],
        ["--keep", "3"],
        ["--prune", "--keep", "some"],
        ["--prune", "--older-than", "soon"],
        ["--prune", "--max-size", "big"],
        ["v1.4.1", "--installer", "conda"],
        ["v1.4.1", "--torch", "newest"],
    ],
)
def test_a_wrong_request_is_one_line_and_builds_nothing(built, capsys, argv):
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("et-peak: ")
    assert err.count("\n") == 1
    assert built == []


def test_a_failed_build_does_not_keep_the_others_from_being_built(built, capsys):
    assert cli.main(["1.0.0", "1.4.1"]) == 125
    out, err = capsys.readouterr()
    assert err == "et-peak: no luck\n"
    assert "1.4.1: " in out


def test_an_interrupt_is_one_line(built, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    assert cli.main(["1.4.1"]) == 130
    assert capsys.readouterr().err.startswith("et-peak: interrupted")


def test_the_list_and_the_pruning_of_what_is_not_in_use(built, capsys):
    cli.main(["1.4.1"])
    capsys.readouterr()
    # This process built it and lives: it holds it.
    assert cli.main(["--list", "--prune", "--all"]) == 0
    out = capsys.readouterr().out
    assert "0 removed, 1 kept, 1 of them in use" in out
    assert "1.4.1" in out


def test_the_list_is_aligned(tmp_path):
    now = datetime(2026, 1, 31, tzinfo=UTC)
    item = StoredEnvironment(
        root=tmp_path,
        rung="wheel",
        release="1.4.1",
        torch="2.13.0+cpu",
        size_bytes=1_552_237_730,
        last_used=now - timedelta(days=3),
        build_key="443ff5d44fb8",
        in_use=True,
    )
    assert cli.format_list([item], now) == [
        "RUNG   REVISION  BASE  TORCH       SIZE      LAST USED   BUILD KEY",
        "wheel  1.4.1           2.13.0+cpu  1,552 MB  3 days ago  443ff5d44fb8  in use",
    ]


def test_an_overlay_is_listed_with_its_base(tmp_path):
    now = datetime(2026, 1, 31, tzinfo=UTC)
    item = StoredEnvironment(
        root=tmp_path,
        rung="overlay",
        release="4753d75e2b",
        torch="2.13.0+cpu",
        size_bytes=3_000_000,
        last_used=now,
        build_key="c29820983a84",
        in_use=False,
        base="wheel-1.4.1-443ff5d44fb8",
    )
    row = cli.format_list([item], now)[1]
    assert row == "overlay  4753d75e2b  wheel-1.4.1  2.13.0+cpu  3 MB  now        c29820983a84"


@pytest.mark.parametrize(
    ("text", "age"),
    [("12h", timedelta(hours=12)), ("30d", timedelta(days=30)), ("8w", timedelta(weeks=8))],
)
def test_ages(text, age):
    assert cli.parse_age(text) == age


@pytest.mark.parametrize("text", ["30", "d", "-1d", "1.5d", "30 d", "99999999d"])
def test_what_is_no_age(text):
    with pytest.raises(RequestError, match="no age"):
        cli.parse_age(text)


def test_a_size_without_unit_removes_nothing(built, capsys):
    assert cli.main(["--prune", "--max-size", "20"]) == 2
    assert "has no unit" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["1.5TB", "20gb", "500 MiB"])
def test_a_size_is_given_as_everywhere(built, size):
    assert cli.main(["--prune", "--max-size", size]) == 0


def test_help_names_the_releases_and_the_cache(built, capsys, tmp_path):
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    out = "".join(capsys.readouterr().out.split())
    assert "1.5.1" in out
    assert "ET_PEAK_CACHE" in out
