from bisect.metrics import METRICS
from bisect.request import load_bisect

import pytest

from bench.errors import RequestError


@pytest.mark.parametrize("metric", METRICS)
def test_a_bare_metric_is_a_useful_request(metric: str) -> None:
    request = load_bisect(metric, [])
    assert request.bench.methods == (METRICS[metric].method,)
    assert len(request.bench.choices) == 1
    assert request.settings.floor > 0


def test_the_command_line_goes_before_the_defaults() -> None:
    words = ["good=v1.2.0", "bad=v1.4.1", "floor=5MB", "direction=any", "iterations=1", "repeats=4"]
    request = load_bisect("encode_peak", [*words, "model=small", "precision=int8"])
    assert (request.good, request.bad) == ("v1.2.0", "v1.4.1")
    assert request.settings.floor == 5_000_000
    assert request.settings.direction == "any"
    assert request.settings.repeats == 4
    assert request.bench.iterations == (1,)
    assert request.bench.choices[0].model["name"] == "small"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["good=v1.2.0"], "bad: give both good= and bad="),
        (["model=tiny,base"], "measures one cell"),
        (["samples=401,480000"], "measures one cell"),
        (["direction=up"], "direction: 'up' is not one of"),
        (["relevance=maybe"], "relevance: 'maybe' is not one of on, off"),
        (["confidence=2"], "confidence: '2' is not a number from 0.5"),
        (["share=0"], "share: '0' is not a number"),
        (["floor=lots"], "floor: 'lots' is not a size"),
        (["method=decode"], "method: the metric and good=/bad= decide it"),
        (["commit=v1.2.0"], "commit: the metric and good=/bad= decide it"),
        (["goood=x"], "option: 'goood' is not one of"),
        (["floor=1MB", "floor=2MB"], "floor: given twice"),
    ],
)
def test_refusals_are_one_line(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        load_bisect("encode_peak", words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
