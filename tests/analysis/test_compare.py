import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.compare import compare
from bench.analysis.figures import FLOOR
from tests.rows import MB, matrix, row, table


def whole(factor=lambda **cell: 1.0):
    base = {"tiny": 160, "base": 240}
    return matrix(
        lambda **cell: base[cell["model"]] * factor(**cell),
        model=["tiny", "base"],
        precision=["fp32", "int8"],
        method=["encode", "decode"],
        iterations=[1, 5, 20],
    )


def verdicts(comparison):
    return [line.verdict for line in comparison.lines]


def one(before=None, after=None, **options):
    result = compare(table(row(**(before or {}))), table(row(**(after or {}))), **options)
    assert len(result.lines) == 1
    return result.lines[0]


def test_two_identical_runs_are_all_same() -> None:
    result = compare(whole(), whole())
    assert set(verdicts(result)) == {"same"} and len(result.lines) == 24


@pytest.mark.parametrize(("factor", "verdict"), [(1.03, "regressed"), (0.97, "improved")])
def test_three_percent_in_one_encode_is_seen_there_alone(factor: float, verdict: str) -> None:
    def hit(cell):
        return cell == {
            "model": "base",
            "precision": "int8",
            "method": "encode",
            "iterations": 5,
        }

    result = compare(whole(), whole(lambda **cell: factor if hit(cell) else 1.0))
    changed = [line.pair for line in result.lines if line.verdict != "same"]
    assert [line.verdict for line in result.lines if line.verdict != "same"] == [verdict]
    assert (changed[0].before_model, changed[0].before_iterations) == ("base", 5)


@settings(deadline=None, max_examples=25)
@given(st.floats(-0.0016, 0.0016))
def test_what_repeats_show_is_same_even_without_a_floor(change: float) -> None:
    line = one(after={"peak_delta_bytes": round(160 * MB * (1 + change))}, floor=0)
    assert line.verdict == "same"


def test_the_floor_is_the_users() -> None:
    after = {"peak_delta_bytes": round(160 * MB * 1.03)}
    assert one(after=after, floor=0.05).verdict == "same"
    assert one(after=after, floor=0.005).verdict == "regressed"


def test_noisy_repeats_make_a_difference_noisy() -> None:
    deltas = [100, 130, 80, 120, 90, 140]
    rows = [row(repeat=n, peak_delta_bytes=d * MB) for n, d in enumerate(deltas)]
    higher = [{**r, "peak_delta_bytes": round(r["peak_delta_bytes"] * 1.1)} for r in rows]
    result = compare(table(*rows), table(*higher))
    assert verdicts(result) == ["noisy"]


def test_steady_repeats_show_a_difference_that_one_run_would_not() -> None:
    def runs(base):
        values = [base, base * 1.0001, base * 0.9999, base * 1.0002, base]
        return table(
            *(
                row(
                    method="export", backend="mlx", precision="int8", iterations=None, runtime=None,
                    output_sha=None, repeat=n, peak_delta_bytes=round(v * MB),
                )
                for n, v in enumerate(values * 4)
            )
        )  # fmt: skip

    before, after = runs(500), runs(512)
    assert verdicts(compare(before[:1], after[:1], floor=0)) == ["same"]
    assert verdicts(compare(before, after, floor=0)) == ["regressed"]


def test_an_export_by_xnnpack_depends_on_the_heap_of_its_environment() -> None:
    export = {"method": "export", "iterations": None, "runtime": None, "output_sha": None}
    higher = {**export, "peak_delta_bytes": 173 * MB}
    assert one(export, higher).verdict == "noisy"
    fixed = {"allocator": "fixed"}
    assert one(export | fixed, higher | fixed).verdict == "regressed"


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("rung", {"rung": "overlay"}),
        ("torch", {"torch": "2.13.0+cu130"}),
        ("allocator", {"allocator": "fixed"}),
        ("load_mode", {"load_mode": "mlock"}),
        ("machine", {"machine": "two"}),
        ("threads", {"threads": 1}),
        ("machine", {"device": "iPhone 16"}),
        ("kind", {"metric_kind": "total", "peak_delta_bytes": None, "peak_bytes": 100 * MB}),
        ("counter", {"measured_by": "footprint, sampled"}),
        ("computed", {"compute_dtype": "float32"}),
        ("outputs", {"output_sha": "bb"}),
    ],
)
def test_what_can_not_be_compared_is_refused_by_name_or_forced(reason: str, change) -> None:
    before = {"threads": 2} | ({"compute_dtype": "bfloat16"} if reason == "computed" else {})
    after = {"peak_delta_bytes": 100 * MB, "threads": 2} | change
    refused = one(before, after)
    assert refused.verdict == "incomparable"
    assert all(figure.verdict is None for figure in refused.figures.values())
    assert str(next(iter(change.values()))).split(",")[0] in refused.reasons[0]
    forced = one(before, after, force=[reason])
    assert forced.verdict in ("improved", "same") and forced.forced
    assert one(before, after, force=["all"]).forced == forced.forced


def test_a_cheaper_program_that_lost_delegation_is_no_improvement() -> None:
    cheap = {"peak_delta_bytes": 80 * MB}
    assert one(after=cheap).verdict == "improved"
    for loss in ({"undelegated_nodes": 17}, {"delegates": 12}):
        line = one(after=cheap | loss)
        assert line.verdict == "regressed"
        assert "->" in line.reasons[0]


def test_fewer_and_larger_delegates_are_no_loss() -> None:
    after = {"peak_delta_bytes": 80 * MB, "delegates": 3, "undelegated_nodes": 4}
    assert one(after=after | {"delegated_nodes": 130}).verdict == "improved"


def test_a_cell_that_broke_regressed_and_one_that_was_mended_improved() -> None:
    broken = {"status": "over_memory", "reason": "cap", "peak_delta_bytes": 10 * MB}
    assert one(after=broken).verdict == "regressed"
    assert one(before=broken).verdict == "improved"
    assert one(before=broken, after=broken).verdict == "incomparable"


def test_time_is_judged_only_where_asked() -> None:
    slow = {"exec_median_s": 4.0}
    assert one(after=slow).verdict == "same"
    assert one(after=slow, judged=["peak", "time"]).verdict == "regressed"


def test_cells_without_counterpart_are_named_not_dropped() -> None:
    result = compare(table(row(), row(model="base")), table(row(), row(model="small")))
    assert list(result.pairing.only_before["model"]) == ["base"]
    assert list(result.pairing.only_after["model"]) == ["small"]


def test_two_revisions_are_paired_though_their_keys_differ() -> None:
    line = one(after={"exporter": "main", "runtime": "main", "build_key": "c"})
    assert line.verdict == "same"


def test_cells_that_look_alike_are_paired_with_none() -> None:
    twins = table(row(cell_key="x", build_key="1"), row(cell_key="y", build_key="2"))
    result = compare(twins, table(row(cell_key="z")))
    assert not result.lines and len(result.pairing.ambiguous) == 2


def test_allocators_within_a_run_are_paired_with_their_own() -> None:
    both = table(row(), row(allocator="fixed", peak_delta_bytes=100 * MB, cell_key="f"))
    assert verdicts(compare(both, both)) == ["same", "same"]


@settings(deadline=None, max_examples=25)
@given(st.floats(-0.5, 0.5), st.sampled_from([0.0, 0.01, FLOOR, 0.1]))
def test_swapping_the_sides_swaps_the_verdict(change: float, floor: float) -> None:
    a, b = {}, {"peak_delta_bytes": round(160 * MB * (1 + change))}
    opposite = {"regressed": "improved", "improved": "regressed"}
    there, back = one(a, b, floor=floor).verdict, one(b, a, floor=floor).verdict
    # The difference is relative to before, so at the very edge only one of them may see it.
    assert back == opposite.get(there, there) or {there, back} & {"same", "noisy"}
    assert {there, back} not in ({"regressed"}, {"improved"})


@pytest.mark.parametrize("before", ["failed", "timeout", "over_memory"])
@pytest.mark.parametrize("after", ["failed", "timeout", "over_memory"])
def test_two_cells_that_broke_are_incomparable_however_they_did(before: str, after: str) -> None:
    there = {"status": before, "reason": "x", "peak_delta_bytes": 8000 * MB}
    here = {"status": after, "reason": "y", "peak_delta_bytes": 10 * MB}
    for line in (one(there, here), one(here, there)):
        assert line.verdict == "incomparable"
        assert before in line.reasons[0] and after in line.reasons[0]


@pytest.mark.parametrize(("before", "after"), [(0, 4096), (60_000, 64_096), (0, 900_000)])
def test_bytes_that_are_a_page_or_an_arena_are_no_difference(before: int, after: int) -> None:
    line = one({"peak_delta_bytes": before}, {"peak_delta_bytes": after})
    assert line.verdict == "same"
    assert one({"peak_delta_bytes": before}, {"peak_delta_bytes": 2 * MB}).verdict == "regressed"


def test_a_smaller_floor_sees_fewer_bytes() -> None:
    before, after = {"peak_delta_bytes": 10 * MB}, {"peak_delta_bytes": 10 * MB + 400_000}
    assert one(before, after).verdict == "same"
    assert one(before, after, floor=0.005).verdict == "regressed"


def test_nothing_stands_in_for_the_time_of_an_execution() -> None:
    line = one({"exec_median_s": None}, judged=["time"])
    assert line.verdict == "incomparable" and line.figures["time"].before is None
