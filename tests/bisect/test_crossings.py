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
        Effect("exporter", 30e6, (29.9e6, 30.1e6), (30e6, 30e6), interacts=False),
        RELEASES,
        metric_of("encode_peak"),
    )
    assert words == (
        "Crossed: from v1.4.1 to v1.5.1 the exporter changes encode_peak by +30.0 MB "
        "(95%: +29.9 MB to +30.1 MB)."
    )


@pytest.mark.parametrize(
    ("exporter", "runtime", "against"),
    [
        (0, 0, ""),
        (30, -40, ""),  # the exporter moved it as was asked: it is searched
        (0, -30, "from v1.4.1 to v1.5.1 the runtime changes it by -30.0 MB"),
        (-40, -30, "from v1.4.1 to v1.5.1 the exporter changes it by -40.0 MB"),
    ],
)
def test_what_moved_it_the_other_way_is_not_left_unsaid(
    tmp_path: Path, exporter: float, runtime: float, against: str
) -> None:
    found = crossed(tmp_path, crossings(exporter, runtime))
    assert found.against == (f"{against}, which direction=any follows" if against else "")


def test_runtimes_of_another_torch_are_left_out_and_named(tmp_path: Path) -> None:
    found = crossed(tmp_path, [], ("v1.0.1", "v1.3.1", "v1.4.1"))
    assert (found.runtimes, found.moved) == (("v1.4.1",), None)
    assert found.notes[0].startswith("Runtimes of v1.0.1, v1.3.1 were not crossed: they need ")


@pytest.mark.parametrize(
    ("broken", "held"),
    [
        (["v1.5.1 on v1.4.1"], "v1.5.1"),
        (["v1.4.1 on v1.5.1"], "v1.4.1"),
        (["v1.5.1 on v1.5.1"], "v1.4.1"),
        (["v1.4.1 on v1.4.1", "v1.4.1 on v1.5.1"], "v1.5.1"),
    ],
)
def test_where_crossings_cannot_run_the_newest_runtime_that_ran_both_ends_is_held(
    tmp_path: Path, broken: list[str], held: str
) -> None:
    records = crossings(30, 0)
    for one in records:
        if one["revision"] in broken:
            one |= {"status": "failed", "reason": "error 0x20", "events": []}
    found = crossed(tmp_path, records)
    assert (found.moved, found.held) == (None, held)
    assert found.notes == tuple(f"Not crossed: {name}: failed: error 0x20" for name in broken)
    # What was measured is kept, and asked of each crossing once only.
    assert {pair: len(runs) for pair, runs in found.records.items()} == {
        (e, r): 1 for e in RELEASES for r in RELEASES
    }


def test_sides_that_act_against_each_other_are_not_said_to_do_nothing(tmp_path: Path) -> None:
    records = [
        one
        for name, peak in {
            "v1.4.1 on v1.4.1": 100,
            "v1.4.1 on v1.5.1": 130,
            "v1.5.1 on v1.4.1": 130,
            "v1.5.1 on v1.5.1": 100,
        }.items()
        for one in measured("crossings", name, peak)
    ]
    assert crossed(tmp_path, records).notes[-1] == (
        "The two act together: the exporter's change is +30.0 MB on the runtime of v1.4.1 and "
        "-30.0 MB on that of v1.5.1; the figures above are means of both."
    )


def test_releases_of_no_other_torch_fit() -> None:
    assert same_torch(["v1.2.0", "v1.4.1", "v1.5.1"], "1.4.1") == (RELEASES, ("v1.2.0",))
    assert same_torch(["v1.0.1"], "1.4.1") == (("v1.4.1",), ("v1.0.1",))


def test_crossings_are_measured_in_turn(tmp_path: Path) -> None:
    rig = session(tmp_path, [], crossings(30, 0)).rig
    order: list[int] = []
    make = rig.prober

    def listening(*args: Any, **more: Any) -> Any:
        prober = make(*args, **more)
        measure = prober.measure
        prober.measure = lambda indices: (order.extend(indices), measure(indices))[1]  # type: ignore[method-assign]
        return prober

    rig.prober = listening  # type: ignore[method-assign]
    cross(rig, RELEASES, rig.request.bench)
    assert order == [0, 1, 2, 3] * 3
