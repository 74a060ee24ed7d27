import pytest

from bench.statistics import t_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.3027), (4, 2.7764), (10, 2.2281), (100, 1.9840), (1e7, 1.95996)],
)
def test_t_quantile(freedom: float, expected: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(expected, rel=1e-3)
    assert t_quantile(0.025, freedom) == -t_quantile(0.975, freedom)
