"""``nox -s perf``; what it measures is measured by running it."""

from pathlib import Path

import pytest

from bench import perf
from bench.environment import store
from bench.errors import BuildError


@pytest.mark.parametrize("words", [["steadiness"], ["environments"]])
def test_a_fresh_cache_is_said_to_be_built(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    def build(_recipe, _folder, say):
        say("installing torch 2.13.0")
        raise BuildError("no network")

    monkeypatch.setenv("ET_PEAK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "default_builders", lambda: {"wheel": build})
    if words == ["environments"]:
        words = [*words, f"repo={Path(__file__).resolve().parent.parent}"]
    assert perf.main(words) != 0
    out, err = capsys.readouterr()
    assert "et-peak: installing torch 2.13.0\n" in err
    assert "no network" in err
    assert "installing" not in out  # which is for the figures
