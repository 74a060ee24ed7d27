"""Which rung, for what, and in what words."""

import pytest

from bench.errors import BuildError, RequestError
from bench.ladder import (
    Choice,
    Means,
    Nightly,
    Subject,
    choose,
    chosen_by,
    order_bases,
    settle,
    torch_to_hold,
)

SHA, OTHER = "a" * 40, "b" * 40
COMMIT = Subject("main@aaaaaaaaaa", "commit", sha=SHA)
TREE = Subject("~/src@aaaaaaaaaa-dirty.12345678", "working_tree")
BASES = ("1.4.1", "1.5.1", "1.3.1")


def release(version, torch="2.13.0", sha=None):
    return Subject(f"v{version}", "release", version, sha, torch)


def rungs(subject, **means):
    means.setdefault("bases", BASES)
    pair = [choose(subject, needs, Means(**means)) for needs in ("export", "run")]
    return [(choice.rung, choice.base) for choice in pair]


def test_a_release_is_its_wheel():
    for rung in ("auto", "wheel"):
        assert rungs(release("1.4.1"), rung=rung) == [("wheel", "1.4.1")] * 2


def test_a_release_runs_a_nightlys_programs_by_its_wheel():
    assert choose(release("1.4.1"), "run", Means(rung="nightly")).rung == "wheel"


@pytest.mark.parametrize("subject", [COMMIT, TREE])
def test_a_commit_is_exported_by_an_overlay_and_run_by_its_base(subject):
    for rung in ("auto", "overlay"):
        assert rungs(subject, rung=rung) == [("overlay", "1.4.1"), ("wheel", "1.4.1")]
    assert rungs(subject, base="1.5.1") == [("overlay", "1.5.1"), ("wheel", "1.5.1")]


def test_a_stand_in_is_said_to_be_one():
    why = choose(COMMIT, "run", Means(bases=BASES)).reason
    assert why == (
        "stands in for main@aaaaaaaaaa, whose own native code was not built (no nightly_index is "
        "configured; rung=source builds it): runtime of 1.4.1, chosen by its branch point"
    )
    assert "as asked" in choose(COMMIT, "run", Means(base="1.5.1")).reason


def test_a_nightly_answers_for_native_code():
    exact, below = Nightly("1.5.0.dev20260801", SHA), Nightly("1.5.0.dev20260801", OTHER)
    assert rungs(COMMIT, nightly=exact) == [("overlay", "1.4.1"), ("nightly", exact.version)]
    over = choose(COMMIT, "run", Means(nightly=below))
    assert (over.rung, over.base, over.over_nightly) == ("overlay", below.version, True)
    assert "made of bbbbbbbbbb" in over.reason
    assert rungs(COMMIT, nightly=exact, rung="nightly") == [("nightly", exact.version)] * 2
    assert rungs(TREE, nightly=exact, rung="nightly") == [("overlay", exact.version)] * 2


def test_source_where_asked():
    assert rungs(COMMIT, rung="source") == [("source", None)] * 2
    assert rungs(release("1.4.1", sha=SHA), rung="source") == [("source", None)] * 2


def test_a_release_over_another():
    asked = {"rung": "overlay", "base": "1.4.1"}
    assert rungs(release("1.2.0"), **asked) == [("overlay", "1.4.1"), ("wheel", "1.2.0")]
    assert rungs(release("1.4.1"), **asked) == [("wheel", "1.4.1")] * 2
    assert rungs(release("1.4.1", sha=SHA), **asked)[0] == ("overlay", "1.4.1")
    assert rungs(release("1.4.1", sha=SHA), rung="overlay")[0] == ("overlay", "1.4.1")
    assert rungs(release("1.2.0"), base="1.4.1")[0] == ("overlay", "1.4.1")


def test_torch_is_held_constant_over_a_crossing():
    old, new, newest = release("1.2.0", "2.11.0"), release("1.4.1"), release("1.5.1")
    assert torch_to_hold(old, [newest, new]) == ("1.4.1", "2.13.0")
    assert torch_to_hold(new, [newest]) is None
    assert torch_to_hold(newest, [old, release("1.3.1", "2.12.0")]) == ("1.3.1", "2.12.0")
    assert torch_to_hold(old, [old, new]) is None
    assert torch_to_hold(old, []) is None
    assert torch_to_hold(old, [COMMIT]) is None
    assert torch_to_hold(COMMIT, [new]) is None
    held = {"hold": ("1.4.1", "2.13.0")}
    assert rungs(old, **held) == [("overlay", "1.4.1"), ("wheel", "1.2.0")]
    assert rungs(newest, **held)[0] == ("wheel", "1.5.1")
    assert "to hold torch 2.13.0 constant" in choose(old, "export", Means(**held)).reason


@pytest.mark.parametrize(
    ("subject", "means", "message"),
    [
        (COMMIT, {"rung": "wheel"}, "wheel is for releases"),
        (COMMIT, {"rung": "nightly"}, "no nightly for main@aaaaaaaaaa: no nightly_index"),
        (release("1.4.1"), {"rung": "nightly"}, "a nightly is made of a commit, and v1.4.1 is a"),
        (COMMIT, {"bases": ()}, "give base="),
        (TREE, {"rung": "source"}, "commit there"),
        (release("1.2.0"), {"rung": "overlay"}, "needs base="),
        (release("1.2.0"), {"rung": "source"}, "needs repo="),
    ],
)
def test_what_cannot_be_had_is_one_line_with_the_mend(subject, means, message):
    with pytest.raises(RequestError, match=message):
        choose(subject, "export", Means(**{"bases": BASES, **means}))


def test_bases_go_outwards_from_the_nearest_below():
    known = ["1.2.0", "1.3.1", "1.4.0", "1.4.1", "1.5.0", "1.5.1"]
    assert order_bases(known, "1.4.0") == ("1.4.1", "1.5.1", "1.3.1", "1.2.0")
    assert order_bases(known, "1.5.1") == ("1.5.1", "1.4.1", "1.3.1", "1.2.0")
    assert order_bases(known, "")[0] == "1.2.0"
    assert order_bases(known, None)[0] == "1.5.1"
    assert order_bases([], None) == ()


@pytest.mark.parametrize(
    ("unknown", "nearest", "said"),
    [
        ([], "1.4.1", None),
        (["1.5.1"], "1.4.1", None),  # 1.5.0 branched off where it did
        (["1.5.1", "1.5.0"], "1.4.1", "1.5.1"),
        (["1.6.0", "1.5.1", "1.5.0"], "1.4.1", "1.5.1, 1.6.0"),
        (["1.6.0"], "1.4.1", None),  # it branched off above 1.5, which did above the commit
        (["1.3.1"], "1.4.1", None),
        ([], "", None),
        (["1.3.1", "1.4.1"], "", "1.3.1, 1.4.1"),
        (["1.5.1", "1.5.0"], "", None),
    ],
)
def test_what_was_not_known_of_branch_points_is_said(unknown, nearest, said):
    releases = ["1.6.0", "1.5.1", "1.5.0", "1.4.1", "1.3.1"]
    points = {release: release not in unknown for release in releases}
    how = "by its branch point"
    if said:
        how += f", that of {said} being unknown to its repository (git fetch --tags)"
    assert chosen_by(points, nearest) == how
    for needs in ("export", "run"):
        choice = choose(COMMIT, needs, Means(bases=BASES, nearest=how))
        assert f"1.4.1, chosen {how}" in choice.reason


def test_without_any_branch_point_the_newest_is_taken_and_said_to_be():
    assert chosen_by({"1.5.1": False, "1.4.1": False}, None).startswith("as the newest, its ")


OVER = Choice("overlay", "Python of x over {base}", BASES)


def test_the_first_base_that_imports_everything_is_taken():
    asked = []
    found = settle(OVER, "x", lambda base: asked.append(base) or {})
    assert (found.bases, found.reason, asked) == (("1.4.1",), "Python of x over 1.4.1", ["1.4.1"])
    failing = {"1.4.1": {"": "no module m"}}
    found = settle(OVER, "x", lambda base: failing.get(base, {}))
    assert found.reason == "Python of x over 1.5.1 (not over 1.4.1: no module m)"


def test_a_base_that_lacks_only_a_backend_is_better_than_none():
    failing = {
        "1.4.1": {"": "no"},
        "1.5.1": {"mlx": "gone", "xnnpack": "gone"},
        "1.3.1": {"mlx": "gone"},
    }
    found = settle(OVER, "x", failing.__getitem__)
    assert found.reason == "Python of x over 1.3.1 (but mlx: gone)"


def test_nothing_imports_it():
    with pytest.raises(BuildError, match=r"x can't be imported over 1\.4\.1: no; over 1\.5\.1: no"):
        settle(OVER, "x", lambda base: {"": "no"})
    own = Choice("wheel", "published release", ("1.2.0",))
    found = settle(Choice("overlay", "", ("1.4.1",), fallback=own), "x", lambda base: {"": "no"})
    assert (found.rung, found.base) == ("wheel", "1.2.0")
    assert found.reason == "published release, as over 1.4.1: no"
