from bisect.metrics import METRICS
from bisect.request import load_bisect
from pathlib import Path

import pytest

from bench.errors import RequestError
from tests.binaries import make_binary


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
        (["packages=x"], "packages: of nox -s bench only: a bisection has many environments"),
        (["model=tiny,base"], "measures one cell"),
        (["samples=401,480000"], "measures one cell"),
        (["direction=up"], "direction: 'up' is not one of"),
        (["relevance=maybe"], "relevance: 'maybe' is not one of on, off"),
        (["parallel=0"], "parallel: "),
        (["parallel=17"], "parallel: "),
        (["explain=heap"], "explain: 'heap' is not one of memray, off"),
        (["confidence=2"], "confidence: '2' is not a number from 0.5"),
        (["share=0"], "share: '0' is not a number"),
        (["floor=lots"], "floor: 'lots' is not a size"),
        (["method=decode"], "method: the metric and good=/bad= decide it"),
        (["commit=v1.2.0"], "commit: the metric and good=/bad= decide it"),
        (["pte=x.pte"], "pte: of nox -s bench only"),
        (["resume=latest"], "resume: goes first and alone"),
        (["out=x"], "out: not of a bisection"),
        (["runtime=v1.4.1,v1.5.1"], "runtime: a bisection holds one runtime still"),
        (["goood=x"], "option: 'goood' is not one of"),
        (["floor=1MB", "floor=2MB"], "floor: given twice"),
    ],
)
def test_refusals_are_one_line(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        load_bisect("encode_peak", words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_null_is_nothing_here_too() -> None:
    words = ["runtime=null", "repo=null", "memory_cap=null", "model=tiny"]
    request = load_bisect("encode_peak", words)
    assert request.words == ("model=tiny",)
    assert request.bench.runtimes is None


def test_an_export_metric_has_no_runtime() -> None:
    with pytest.raises(RequestError, match="runtime: export_peak is measured in the export"):
        load_bisect("export_peak", ["runtime=v1.4.1"])


def test_who_held_the_memory_is_asked_of_peaks_only() -> None:
    assert load_bisect("encode_peak", ["explain=memray"]).explain
    assert not load_bisect("pte_size", ["explain=off"]).explain
    for metric in ("pte_size", "export_time", "encode_peak.steady", "export_peak.import"):
        with pytest.raises(RequestError, match="explain: memray tells who held a peak; "):
            load_bisect(metric, ["explain=memray"])


def test_what_is_written_down_means_the_same_tomorrow_and_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ["good=old", "bad=main", "repo=clone", "model=tiny", "runtime=1.4.1"]
    pinned = load_bisect("encode_peak", words).pinned(lambda name: f"{name}@c0ffee0000")
    assert pinned.words == (
        *("good=old@c0ffee0000", "bad=main@c0ffee0000"),
        *(f"repo={tmp_path}/clone", "model=tiny", "runtime=1.4.1@c0ffee0000"),
    )
    assert (pinned.good, pinned.bad) == ("old@c0ffee0000", "main@c0ffee0000")
    assert pinned.bench.runtimes == ("1.4.1@c0ffee0000",)
    assert pinned.bench.origin.repo == f"{tmp_path}/clone"
    again = load_bisect("encode_peak", pinned.words)
    assert (again.good, again.bad, again.words) == (pinned.good, pinned.bad, pinned.words)
    address = "https://example.org/executorch.git"
    assert load_bisect("export_peak", [f"repo={address}"]).bench.origin.repo == address


def test_a_users_script_brings_its_own_metrics() -> None:
    script = Path(__file__).resolve().parents[2] / "examples" / "vocoder.py"
    words = ["model=script", f"script={script}", "good=v1.0.1", "bad=v1.2.0"]
    request = load_bisect("vocode_peak", words)
    assert request.bench.methods == ("vocode",)
    assert request.settings.floor > 0
    with pytest.raises(RequestError, match="vocode_peak"):
        load_bisect("encode_peak", words)


def test_times_are_measured_one_by_one() -> None:
    assert load_bisect("export_peak", ["parallel=4"]).settings.parallel == 4
    assert load_bisect("export_time", ["parallel=1"]).settings.parallel == 1
    with pytest.raises(RequestError, match="parallel: export_time is a time"):
        load_bisect("export_time", ["parallel=2"])
    assert load_bisect("export_time", ["hydra/launcher=joblib"]).bench.launch
    with pytest.raises(RequestError, match="hydra/launcher: export_time is a time"):
        load_bisect("export_time", ["hydra/launcher=submitit_slurm"])


def test_a_binary_of_the_users_is_the_same_at_every_revision(tmp_path: Path) -> None:
    words = ["runner=executor_runner", f"runner.path={make_binary(tmp_path / 'er')}"]
    with pytest.raises(RequestError, match="bisect with runner=python or native"):
        load_bisect("encode_peak", words)
