"""Exporter or runtime, on recorded values."""

from __future__ import annotations

from bisect.crossings import cross, effect_words
from bisect.metrics import metric_of
from bisect.rig import same_torch
from bisect.sides import Effect
from pathlib import Path
from typing import Any

import pytest

from tests.bisect.test_session import crossings, measured, session

RELEASES = ("v1.4.1", "v1.5.1")


def crossed(
    tmp_path: Path, records: list[dict[str, Any]], names: tuple[str, ...] = RELEASES
) -> Any:
    rig = session(tmp_path, [], records).rig
    return cross(rig, names, rig.request.bench)


@pytest.mark.parametrize(
    ("exporter", "runtime", "moved"),
    [
        (0, 0, None),
        (30, 0, "exporter"),
        (0, 30, "runtime"),
        (30, 10, "exporter"),
        (-9, 20, "runtime"),
    ],
)
def test_the_side_that_moved_it_more(
    tmp_path: Path, exporter: float, runtime: float, moved: str | None
) -> None:
    found = crossed(tmp_path, crossings(exporter, runtime))
    assert found.moved == moved
    assert found.runtimes == RELEASES
    assert len(found.notes) == 2


def test_the_words_say_from_what_to_what(tmp_path: Path) -> None:
    words = effect_words(
        Effect("exporter", 30e6, (29.9e6, 30.1e6)), RELEASES, metric_of("encode_peak")
    )
    assert words == (
        "Crossed: from v1.4.1 to v1.5.1 the exporter changes encode_peak by +30.0 MB "
        "(95%: +29.9 MB to +30.1 MB)."
    )


def test_runtimes_of_another_torch_are_left_out_and_named(tmp_path: Path) -> None:
    found = crossed(tmp_path, [], ("v1.0.1", "v1.3.1", "v1.4.1"))
    assert (found.runtimes, found.moved) == (("v1.4.1",), None)
    assert found.notes[0].startswith("Runtimes of v1.0.1, v1.3.1 were not crossed: they need ")


def test_one_crossing_that_cannot_run_ends_them_all(tmp_path: Path) -> None:
    records = crossings(30, 0)
    for one in records:
        if one["revision"] == "v1.5.1 on v1.4.1":
            one |= {"status": "failed", "reason": "error 0x20", "events": []}
    found = crossed(tmp_path, records)
    assert found.moved is None
    assert found.notes == ("Not crossed: v1.5.1 on v1.4.1: failed: error 0x20",)


def test_releases_of_no_other_torch_fit() -> None:
    assert same_torch(["v1.2.0", "v1.4.1", "v1.5.1"], "1.4.1") == (RELEASES, ("v1.2.0",))
    assert same_torch(["v1.0.1"], "1.4.1") == (("v1.4.1",), ("v1.0.1",))


def test_crossings_are_measured_in_turn(tmp_path: Path) -> None:
    rig = session(tmp_path, [], crossings(30, 0)).rig
    cross(rig, RELEASES, rig.request.bench)
    (prober,) = rig.probers
    assert {len(records) for records in prober.records.values()} == {3}
    assert measured("crossings", "v1.4.1 on v1.4.1", 100)[0]["stage"] == prober.stage
