from bisect.holders import ARENAS, NATIVE, SMALLER, Held, compare
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

MB = 10**6


def site(
    size: int, *frames: str, leaf: str = "", native: str = "", line: int = 1
) -> dict[str, Any]:
    told = [[name, f"executorch/{name}.py", line] for name in frames]
    inner = [leaf, "torch/x.py", line] if leaf else (told[0] if told else None)
    return {"bytes": size, "native": native, "leaf": inner, "frames": told}


def held(*sites: dict[str, Any], rest: int = 0) -> Held:
    total = sum(one["bytes"] for one in sites) + rest
    return Held.of({"total_bytes": total, "sites": list(sites)})


names = st.sampled_from(["repack", "emit", "copy", "lower"])
sites = st.lists(
    st.builds(
        lambda size, frames, leaf, native, line: site(
            size, *frames, leaf=leaf, native=native, line=line
        ),
        st.integers(1, 500 * MB),
        st.lists(names, max_size=4),
        st.sampled_from(["", "deepcopy", "cat"]),
        st.sampled_from(["", "torch::autograd::THPVariable_clone", "bytes_repeat"]),
        st.integers(1, 999),
    ),
    max_size=12,
)
sides = st.builds(lambda found, rest: (found, rest), sites, st.integers(0, MB))


@given(sides, sides)
def test_the_differences_together_are_the_whole_one(before: Any, after: Any) -> None:
    found = compare(*(held(*side[0], rest=side[1]) for side in (before, after)))
    assert sum(one.before for one in found.differences) == found.before
    assert sum(one.after for one in found.differences) == found.after
    assert sum(one.change for one in found.differences) == found.change
    sizes = [abs(one.change) for one in found.differences]
    assert sizes == sorted(sizes, reverse=True)
    assert found.share(found.differences) == (1 if found.change else None)


@given(sides, sides)
def test_exchanged_sides_are_the_same_table_with_the_other_sign(before: Any, after: Any) -> None:
    there, back = (
        compare(*(held(*side[0], rest=side[1]) for side in pair))
        for pair in ((before, after), (after, before))
    )
    assert {(d.holder, d.change) for d in there.differences} == {
        (d.holder, -d.change) for d in back.differences
    }


@given(sites, st.data())
def test_shifted_lines_and_another_order_are_no_difference(found: Any, data: st.DataObject) -> None:
    moved = [
        {**one, "frames": [[f, file, line + 40] for f, file, line in one["frames"]]}
        for one in data.draw(st.permutations(found))
    ]
    assert not compare(held(*found), held(*moved)).largest()


@given(sides, sides, st.integers(1, 5))
def test_what_is_shown_is_named_changed_and_little(before: Any, after: Any, most: int) -> None:
    found = compare(*(held(*side[0], rest=side[1]) for side in (before, after)))
    shown = found.largest(most)
    assert len(shown) <= most
    assert all(one.change and one.holder != SMALLER for one in shown)
    left = [one for one in found.differences if one not in shown and one.holder != SMALLER]
    assert max((abs(d.change) for d in left), default=0) <= max(
        [abs(shown[-1].change)] if shown else [0]
    )


def test_a_function_is_named_by_what_it_called_and_who_called_it() -> None:
    clone = "torch::autograd::THPVariable_clone"
    before = [
        site(40 * MB, "copy", "copy", "lower", "lower_all", "x", leaf="deepcopy", native=clone),
        site(5 * MB, "copy", "else", native="bytes_repeat"),
    ]
    after = [
        site(9 * MB, "copy", "lower", "lower_all", leaf="deepcopy", native=clone),
        site(5 * MB, "copy", "else", native="bytes_repeat"),
    ]
    (one,) = compare(held(*before), held(*after)).largest()
    assert one.holder == ("copy", "executorch/copy.py")
    assert (one.before, one.after) == (45 * MB, 14 * MB)
    assert one.through == "deepcopy > THPVariable_clone"
    assert [name for name, _ in one.callers] == ["lower", "lower_all"]


def test_what_never_ran_python_has_a_name_too() -> None:
    (one,) = compare(held(), held(site(2 * MB, native="mkl_blas"))).largest()
    assert (one.holder, one.through) == (NATIVE, "mkl_blas")


def test_differences_that_are_a_fiftieth_of_the_largest_are_left_to_everything_else() -> None:
    after = held(site(100 * MB, "repack"), site(MB, "emit"), site(3 * MB, "copy"))
    found = compare(held(), after)
    assert [one.holder[0] for one in found.largest()] == ["repack", "copy"]
    assert found.share(found.largest()) == 103 / 104


def test_arenas_are_nobodys() -> None:
    before = held(site(MB, "repack", native="_PyObject_ArenaMmap"))
    after = held(site(MB, "emit", "lower", native="_PyObject_ArenaMmap"))
    assert compare(before, after).largest() == ()
    assert compare(held(), after).largest()[0].holder == ARENAS


def test_the_files_of_the_largest_differences_come_first() -> None:
    before = held(site(90 * MB, "repack", "emit"), site(10 * MB, "copy"))
    after = held(site(90 * MB, "repack", "emit"), site(20 * MB, "copy"))
    files = [f"executorch/{name}.py" for name in ("copy", "emit", "repack")]
    found = compare(before, after).files
    assert (found[0], sorted(found)) == (files[0], files)
