import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.accumulation import accumulation, slope_of
from bench.analysis.observations import observe
from tests.rows import MB, row, table, texts


def marks(values, counts=(1, 5, 20), **changes):
    return observe(
        table(
            *(
                row(iterations=n, steady_bytes=round((240 + v) * MB), **changes)
                for n, v in zip(counts, values, strict=True)
            )
        )
    )


def test_flat_is_ruled_out_with_its_interval() -> None:
    said = accumulation(marks([140, 140, 140]))
    assert [one.kind for one in said] == ["rules_out"]
    assert "flat at 1, 5 and 20 executions" in said[0].text and "95% interval" in said[0].text


def test_the_step_of_the_first_execution_is_no_accumulation() -> None:
    assert [one.kind for one in accumulation(marks([140, 145, 145]))] == ["rules_out"]


def test_growth_is_found_with_its_size() -> None:
    said = accumulation(marks([140, 145, 175]))
    assert [one.kind for one in said] == ["finding"]
    assert "+2.00 MB per execution" in said[0].text or "2.0 MB per execution" in said[0].text


def test_one_growing_cell_takes_the_sentence_away() -> None:
    flat = marks([140, 140, 140], precision="int8")
    assert "rules_out" not in [one.kind for one in accumulation(flat + marks([140, 145, 175]))]


def test_two_marks_that_differ_leave_it_open_with_a_command() -> None:
    said = accumulation(marks([140, 141.8], counts=(1, 5)))
    assert [one.kind for one in said] == ["open"]
    assert "iterations=1,5,20,100" in (said[0].command or "")


@settings(deadline=None, max_examples=25)
@given(
    st.floats(50, 5000), st.floats(-1, 1),
    st.lists(st.integers(2, 200), min_size=2, max_size=6, unique=True),
)  # fmt: skip
def test_the_slope_of_a_line_is_found_and_inside_its_interval(level, slope, counts) -> None:
    counts = sorted(counts)
    values = [level + slope * n for n in counts]
    if min(values) <= 1:
        return
    found = slope_of(marks(values, counts=counts))
    assert found is not None
    assert found.slope == pytest.approx(slope * MB, abs=2)  # whole bytes
    assert found.low <= slope * MB + 2 and found.high >= slope * MB - 2


def test_nothing_is_said_without_counts() -> None:
    assert texts(accumulation(observe(table(row(iterations=None))))) == []


def test_marks_of_one_count_have_no_slope() -> None:
    assert slope_of(marks([140, 150], counts=(5, 5))) is None
    rows = [row(iterations=5, build_key=key) for key in "ab"]
    assert not accumulation(observe(table(*rows)))


def test_each_cell_is_flat_at_its_own_counts_only() -> None:
    found = marks([140, 140], counts=(1, 5)) + marks([140, 140], counts=(1, 20), model="base")
    assert "flat at 1 and 5, or at 1 and 20 executions" in accumulation(found)[0].text
