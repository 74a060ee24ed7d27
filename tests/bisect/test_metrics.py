from bisect.metrics import METRICS, metric_of, metrics_of, parts_of, watched_until

import pytest

from bench.errors import RequestError
from tests.results.test_rows import CELL, record

EXPORT = {**CELL, "method": "export", "iterations": None, "runtime": None, "load_mode": ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encode_peak", 60.0),
        ("encode_peak.load", 10.0),
        ("encode_peak.first", 60.0),
        ("encode_peak.steady", 59.0),
        ("encode_time", 0.5),
    ],
)
def test_memory_is_above_the_baseline_at_the_last_mark(name: str, value: float) -> None:
    assert metric_of(name).value(record()) == value


@pytest.mark.parametrize("name", [*METRICS, "export_peak.lower", "encode_peak.first"])
def test_what_another_method_measured_is_no_value(name: str) -> None:
    metric = metric_of(name)
    others = {"export", "encode", "decode"} - {metric.method}
    for other in others:
        cell = EXPORT if other == "export" else CELL | {"method": other}
        assert metric.value(record(cells=[cell])) is None


def test_an_export_phase_is_its_own_high_water_mark() -> None:
    phases = [
        {"event": "phase", "name": n, "seconds": 1.0, "rss_bytes": 60, "peak_bytes": p}
        for n, p in (("build", 70), ("lower", 95))
    ]
    events = [{"event": "baseline", "rss_bytes": 50, "peak_bytes": 51}, *phases]
    events.append({"event": "result", "peak_bytes": 95})
    export = record(cells=[EXPORT], events=events)
    assert metric_of("export_peak").value(export) == 45
    assert metric_of("export_peak.build").value(export) == 20
    assert metric_of("export_peak.lower").value(export) == 45
    assert metric_of("export_peak.quantize").value(export) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("pte_size", 100), ("planned", 8), ("delegates", 3), ("undelegated", 4), ("export_time", 3.0)],
)
def test_what_an_export_says_of_its_program(name: str, value: float) -> None:
    assert metric_of(name).value(record(cells=[EXPORT])) == value


@pytest.mark.parametrize("status", ["failed", "timeout", "unsupported", "untestable"])
def test_no_value_without_a_measurement(status: str) -> None:
    broken = record(status=status, events=[], cells=[EXPORT], reason="x")
    assert all(metric.value(broken) is None for metric in METRICS.values())


@pytest.mark.parametrize(
    ("name", "difference", "said"),
    [
        ("export_peak", -640.0, "-0.0 MB (95%: -0.0 MB to +0.0 MB)"),
        ("export_peak", -30.8e6, "-30.8 MB (95%: -30.8 MB to +0.0 MB)"),
        ("pte_size", -640.0, "-640 bytes"),
        ("pte_size", 5_888.0, "+5,888 bytes"),
        ("planned", 30.8e6, "+30.8 MB"),
        ("delegates", -2.0, "-2"),
        ("undelegated", 0.0, "0"),
    ],
)
def test_an_exact_difference_is_said_to_the_byte_and_without_an_interval(
    name: str, difference: float, said: str
) -> None:
    assert metric_of(name).estimate(difference, (difference, 640.0)) == said


def test_every_phase_that_is_listed_is_a_metric() -> None:
    for metric in METRICS.values():
        for part in parts_of(metric):
            assert metric_of(f"{metric.name}.{part}").method == metric.method


def test_a_phase_is_watched_to_its_end() -> None:
    names = ("export_peak", "export_peak.lower", "encode_peak.first", "decode_peak")
    assert [watched_until(metric_of(name)) for name in names] == [None, "lower", "first", None]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("encode_peek", "did you mean encode_peak"),
        ("export_peak.loop", "is not one of import, build"),
        ("encode_peak.lower", "is not one of load, first, steady"),
        ("pte_size.lower", "pte_size has no phases"),
        ("", "is not one of export_peak"),
    ],
)
def test_refusals(name: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        metric_of(name)


def test_a_users_methods_are_metrics_beside_those_of_the_export() -> None:
    mine = metrics_of(["vocode"])
    assert {"vocode_peak", "vocode_time", "export_peak", "pte_size"} <= set(mine)
    assert not any("code_" in name for name in set(mine) - {"vocode_peak", "vocode_time"})
    peak = metric_of("vocode_peak.first", mine)
    assert (peak.method, peak.column, peak.unit) == ("vocode", "first_peak_bytes", "bytes")
    assert "vocode only" in mine["vocode_peak"].meaning
    with pytest.raises(RequestError, match="vocode_peak"):
        metric_of("encode_peak", mine)
