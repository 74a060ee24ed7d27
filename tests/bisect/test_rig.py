"""What a bisection measures with."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import BuildError
from tests.bisect.test_session import session


def test_an_environment_of_bad_that_cannot_be_built_is_noted(tmp_path: Path) -> None:
    rig = session(tmp_path, [], []).rig
    rig.replaying = False

    def fails(name: str, **needs: object) -> None:
        raise BuildError(f"{name} does not build")

    rig.revisions.get = fails  # type: ignore[method-assign, assignment]
    bench, note = rig.on_base_of(rig.request.bench, "v1.5.1")
    assert bench == rig.request.bench
    assert note == "The environment of bad (v1.5.1) could not be built: v1.5.1 does not build"


def test_releases_are_laid_over_one_base(tmp_path: Path) -> None:
    for words, base in (([], "1.4.1"), (["base=v1.5.1"], "1.5.1")):
        rig = session(tmp_path, words, []).rig
        origin = rig.on_base(rig.request.bench).origin
        assert (origin.rung, origin.base) == ("overlay", base)


@pytest.mark.parametrize(
    ("words", "launcher"),
    [
        ([], None),
        (["hydra/launcher=basic"], None),
        (["parallel=3"], "joblib"),
        (["parallel=3", "hydra/launcher=submitit_local"], "submitit_local"),
        (["hydra/launcher=joblib"], "joblib"),
    ],
)
def test_several_at_a_time_need_a_launcher_and_a_replay_none(
    tmp_path: Path, words: list[str], launcher: str | None
) -> None:
    rig = session(tmp_path, words, []).rig
    ends = ("v1.4.1", "v1.5.1")
    listener = rig.listener(ends)
    assert rig._fleet(rig.request.bench, listener, ends) is None  # the session is a replay
    rig.replaying = False
    found = rig._fleet(rig.request.bench, listener, ends)
    assert (found and found.words[0]) == (launcher and f"hydra/launcher={launcher}")
    if found:
        assert found.width == rig.request.settings.parallel
        assert found.apart and not found.timed
        assert found.request.exporters == ends
