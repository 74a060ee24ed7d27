import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.design import design
from bench.analysis.effects import effects
from bench.analysis.family import outliers
from bench.analysis.interactions import interactions
from bench.analysis.observations import last_marks, observe
from bench.analysis.program import program
from bench.analysis.shares import method, precision
from tests.rows import MB, matrix, row, table, texts

SIZES = {"tiny": 100, "base": 200, "small": 600}


def observed(value, **axes):
    return last_marks(observe(matrix(value, **axes)))


def runs(change, **axes):
    """Two runtimes over a matrix; `change` is what the second makes of each cell."""
    base = observed(lambda **c: SIZES[c["model"]], model=list(SIZES), runtime=["v1.4.1"], **axes)
    after = matrix(
        lambda **c: SIZES[c["model"]] * change(**c),
        model=list(SIZES),
        runtime=["v1.5.1"],
        exporter=["v1.4.1"],
        **axes,
    )
    return base + last_marks(observe(after))


def test_runtimes_that_agree_are_ruled_out() -> None:
    said = effects(runs(lambda **c: 1.001))
    assert len(texts(said, "rules_out", "runtime")) == 1
    assert "v1.4.1 and v1.5.1 agree within 0.10% in 3 cells" in texts(said, "rules_out")[0]


def test_an_effect_is_found_with_its_range() -> None:
    said = texts(effects(runs(lambda **c: 0.73 if c["model"] == "tiny" else 0.8)), "finding")
    found = [text for text in said if text.startswith("runtime")]
    assert "-27% to -20%" in found[0] and "3 cells" in found[0]


def test_one_cell_that_differs_takes_the_rule_out_away() -> None:
    said = effects(runs(lambda **c: 1.1 if c["model"] == "base" else 1.0))
    assert not texts(said, "rules_out", "runtime")


def test_nothing_is_said_of_axes_that_change_together() -> None:
    """Each runtime on a machine of its own: neither can be told from the other."""
    rows = [row(), row(runtime="v1.5.1", machine="two", peak_delta_bytes=500 * MB)]
    found = last_marks(observe(table(*rows)))
    assert not effects(found)
    # On one machine it is said.
    assert texts(effects(last_marks(observe(table(rows[0], rows[1] | {"machine": "one"})))))


@settings(deadline=None, max_examples=25)
@given(st.floats(1.3, 5), st.floats(1.3, 5))
def test_factors_that_multiply_are_no_interaction(a: float, b: float) -> None:
    found = observed(
        lambda **c: (
            100 * (a if c["model"] == "base" else 1) * (b if c["precision"] == "int8" else 1)
        ),
        model=["tiny", "base"],
        precision=["fp32", "int8"],
    )
    assert not interactions(found)


@settings(deadline=None, max_examples=25)
@given(st.floats(1.5, 10))
def test_a_corner_of_its_own_is_an_interaction(factor: float) -> None:
    def value(**c):
        return 100 * (factor if (c["model"], c["precision"]) == ("base", "int8") else 1)

    said = interactions(observed(value, model=["tiny", "base"], precision=["fp32", "int8"]))
    assert [one.axis for one in said] == ["model*precision"]


def test_precision_that_halves_the_memory_is_no_rule_out() -> None:
    found = observed(
        lambda **c: {"bf16": 900, "int8": 400}[c["precision"]], precision=["bf16", "int8"]
    )
    assert texts(precision(found), "rules_out") == []
    assert "precision matters" in texts(precision(found), "finding")[0]


def test_totals_say_nothing_of_precision_or_method() -> None:
    rows = [
        row(precision=p, method=m, peak_delta_bytes=None, baseline_bytes=None, peak_bytes=v * MB)
        for p, m, v in [("bf16", "encode", 900), ("int8", "encode", 880), ("bf16", "decode", 1)]
    ]
    found = last_marks(observe(table(*rows)))
    assert not precision(found) and not method(found)


def test_methods_that_both_pay_are_a_finding() -> None:
    found = observed(
        lambda **c: {"encode": 900, "decode": 300}[c["method"]], method=["encode", "decode"]
    )
    assert [one.kind for one in method(found)] == ["finding"]


def test_places_that_agree_rule_the_place_out() -> None:
    found = last_marks(observe(table(row(), row(machine="two", peak_delta_bytes=161 * MB))))
    assert [one.axis for one in program(found)] == ["place"]


def test_a_total_above_the_others_delta_orders_nothing() -> None:
    total = row(
        device="Mac", peak_delta_bytes=None, baseline_bytes=None, peak_bytes=200 * MB,
        metric_kind="total",
    )  # fmt: skip
    found = last_marks(observe(table(total, row(device="Phone", peak_delta_bytes=210 * MB))))
    assert not program(found)


def test_an_axis_that_never_changes_alone_is_open_with_the_missing_cells() -> None:
    rows = [row(precision="bf16"), row(precision="int8", backend="mlx")]
    said = design(observe(table(*rows)), table(*rows))
    open_ones = {one.axis: one for one in said if "never with all else equal" in one.text}
    assert set(open_ones) == {"precision", "backend"}
    assert "precision=bf16,int8 backend=xnnpack,mlx" in (open_ones["precision"].command or "")


@pytest.mark.parametrize(
    "change",
    [
        {"torch": "2.12.0+cu130"}, {"rung": "source"}, {"exporter_rung": "source"}, {"seed": 7},
        {"max_tokens": 9}, {"compute_dtype": "float32"}, {"stored_dtype": "float32"},
    ],
)  # fmt: skip
def test_what_compare_refuses_is_no_effect_but_open(change) -> None:
    other = {"exporter": "main", "runtime": "main", "build_key": "c", "peak_delta_bytes": 320 * MB}
    plain = table(row(), row(**other))
    assert texts(effects(last_marks(observe(plain))), "finding", "commit")
    mixed = table(row(), row(**other, **change))
    assert not effects(last_marks(observe(mixed)))
    assert "never with all else equal" in texts(design(observe(mixed), mixed), "open", "commit")[0]


def test_two_builds_of_a_cell_are_two_observations() -> None:
    for change in ({"torch": "2.12.0", "build_key": "c"}, {"build_key": "c"}):
        assert len(last_marks(observe(table(row(), row(**change))))) == 2


EXPORT = {"method": "export", "iterations": None, "runtime": None, "output_sha": None}


def test_what_the_noise_hides_is_open_and_not_ruled_out() -> None:
    rows = [row(**EXPORT), row(**EXPORT, exporter="main", peak_delta_bytes=175 * MB)]
    said = effects(last_marks(observe(table(*rows))))
    assert texts(said, "open", "commit") and not texts(said, "rules_out", "commit")


def test_revisions_have_one_order_whatever_the_order_of_the_rows() -> None:
    a, b = {"exporter": "A", "runtime": "A"}, {"exporter": "B", "runtime": "B"}
    high = {"peak_delta_bytes": 320 * MB}
    rows = [row(**a), row(**b, **high), row(model="base", **b, **high), row(model="base", **a)]
    said = texts(effects(last_marks(observe(table(*rows)))), "finding", "commit")
    assert len(said) == 1 and "from A to B" in said[0] and "2 cells" in said[0]


def phones(*sizes, **changes):
    rows = [row(device=f"P{n}", peak_delta_bytes=size, **changes) for n, size in enumerate(sizes)]
    return last_marks(observe(table(*rows)))


@pytest.mark.parametrize(
    ("sizes", "axis"), [((0, 0), "place"), ((0, 4096), "place"), ((0, 50 * MB), "program")]
)
def test_places_are_compared_where_the_lower_is_nothing(sizes, axis) -> None:
    assert axis in [one.axis for one in program(phones(*sizes))]


@pytest.mark.parametrize(
    ("rss", "other", "blind"),
    [
        ({"metric_kind": "delta", "peak_delta_bytes": 100 * MB}, "total", False),
        ({"metric_kind": "total", "peak_bytes": 100 * MB, "peak_delta_bytes": None}, "delta", True),
        ({"metric_kind": "total", "peak_bytes": 100 * MB, "peak_delta_bytes": None}, "total", True),
        ({"metric_kind": "total", "peak_bytes": 0, "peak_delta_bytes": None}, "total", True),
    ],
)
def test_a_counter_is_blind_only_where_the_kinds_prove_it(rss, other, blind) -> None:
    figures = (
        {"peak_delta_bytes": 300 * MB}
        if other == "delta"
        else {"peak_bytes": 300 * MB, "peak_delta_bytes": None}
    )
    rows = [
        row(device="P", measured_by="rss", **rss),
        row(device="P", measured_by="footprint", metric_kind=other, **figures),
    ]
    said = texts(program(last_marks(observe(table(*rows)))), "finding", "counter")
    assert bool(said) is blind


ENDED = {"status": "over_memory", "reason": "cap"}


def test_a_bound_is_no_share() -> None:
    rows = [row(precision=p, peak_delta_bytes=8000 * MB, **ENDED) for p in ("bf16", "int8")]
    said = precision(last_marks(observe(table(*rows))))
    assert [one.kind for one in said] == ["open"]
    rows[1] |= {"status": "ok", "peak_delta_bytes": 400 * MB}
    said = precision(last_marks(observe(table(*rows))))
    assert [one.kind for one in said] == ["finding"]


def test_a_method_that_was_ended_anywhere_is_not_free() -> None:
    rows = [
        row(precision="bf16", method="decode", peak_delta_bytes=1),
        row(precision="int8", method="decode", peak_delta_bytes=8 * MB, **ENDED),
        *(row(precision=p, peak_delta_bytes=9000 * MB) for p in ("bf16", "int8")),
    ]
    assert not texts(method(last_marks(observe(table(*rows)))), "rules_out")


FAMILY = dict(zip(("tiny", "base", "small", "medium"), (80, 81, 82, 83), strict=True))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "stay under 1.5x"),
        ({"allocator": "fixed"}, ""),
        ({"runner": "native"}, ""),
        (ENDED, ""),
    ],
)
def test_an_outlier_is_one_of_cells_measured_alike_without_bounds(change, said) -> None:
    rows = [row(model=m, peak_delta_bytes=d * MB) for m, d in FAMILY.items()]
    rows[2] |= change
    rows.append(row(model="large-v3", peak_delta_bytes=800 * MB))
    found = texts(outliers(last_marks(observe(table(*rows)))))
    assert said in found[0] if said else not found
