"""Models of other families than Whisper: what they take, and what is meant by default."""

from pathlib import Path

import pytest

from bench import fit
from bench.config import load
from bench.errors import RequestError
from bench.estimate import seconds_of
from bench.jobs import Plan
from bench.plan import make_plan
from bench.results.tables import read_csv

RESULTS = Path(__file__).resolve().parents[1] / "results"
LINUX = "linux-x86_64"


def plan(*words: str) -> Plan:
    return make_plan(load(words), LINUX)


def test_a_bare_kquant_is_a_q4_k_export_for_mlx_with_a_fixed_allocator() -> None:
    (job,) = plan("model=kquant").jobs
    (cell,) = job.cells
    assert job.unsupported is None
    assert (cell.precision, cell.backend, cell.method) == ("q4_k", "mlx", "export")
    assert cell.allocator == "fixed"
    assert cell.samples is None


def test_what_is_given_overrules_the_models_defaults() -> None:
    (cell,) = plan("model=kquant", "precision=q6_k", "allocator=default").cells
    assert (cell.precision, cell.allocator) == ("q6_k", "default")
    assert load([]).allocator == "default"


def test_the_worker_is_told_the_sizes_and_the_format_and_nothing_of_whisper() -> None:
    (job,) = plan("model=kquant", "model.layers=24", "precision=q5_k").jobs
    assert job.request["model"] == {
        "family": "kquant",
        "name": "kquant[layers=24]",
        "layers": 24,
        "width": 4096,
        "vocab": 32000,
        "max_sequence": 2048,
        "equal_groups": 1,
        "adapter_rows": 0,
        "emit_direct_gguf": False,
    }
    assert job.request["precision"]["weights"] == "q5_k"
    assert not {"samples", "max_tokens"} & set(job.request)


def test_what_other_models_brought_is_in_no_request_of_whispers() -> None:
    (job,) = plan("method=export", "backend=xnnpack").jobs
    asked = {"task", "model", "precision", "backend", "seed", "samples", "max_tokens"}
    assert set(job.request) == asked
    assert (job.request["samples"], job.request["max_tokens"]) == (480000, 128)
    assert {"steps", "memprofile"} <= set(
        plan("method=export", "backend=xnnpack", "steps=off", "memprofile=on").jobs[0].request
    )


def test_published_runs_are_the_cells_they_were() -> None:
    """A row of another key is no repeat of a published one, though it was asked for alike."""
    table = read_csv(RESULTS / "whisper-v1.4.1.csv")
    runs = table[table["method"].ne("export") & table["backend"].eq("xnnpack")]
    wanted = set(runs[runs["model"].eq("tiny")]["cell_key"])
    words = ("model=tiny", "precision=fp32,bf16,int8", "backend=xnnpack", "method=encode,decode")
    assert wanted
    assert {cell.key for cell in plan(*words).cells} == wanted


@pytest.mark.parametrize(
    "change", ["model.emit_direct_gguf=true", "model.equal_groups=2", "allocator=default"]
)
def test_whatever_changes_the_export_changes_the_cell(change: str) -> None:
    (before,) = plan("model=kquant").cells
    (after,) = plan("model=kquant", change).cells
    assert before.key != after.key


def test_a_switch_is_a_truth_value_and_shows_in_the_name() -> None:
    (choice,) = load(["model=kquant", "model.emit_direct_gguf=true"]).choices
    assert choice.model["emit_direct_gguf"] is True
    assert choice.model["name"] == "kquant[emit_direct_gguf=true]"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=kquant", "method=encode"], "method of kquant: 'encode' is not one of export"),
        (["model=tiny,kquant", "precision=q4_k", "backend=mlx", "allocator=fixed"], "give method="),
        (["model=tiny,kquant", "method=export"], "(tiny: fp32, kquant: q4_k); give precision="),
        (["model=kquant", "precision=fp32"], "kquant takes q4_k, q5_k, q6_k, not fp32"),
        (["model=tiny", "precision=q4_k"], "q4_k is for kquant models; tiny is whisper"),
        (["model=kquant", "samples=480000"], "samples: kquant takes no waveform"),
        (["model=kquant", "model.emit_direct_gguf=1"], "is not one of true, false"),
        (["model=kquant", "model.layers=0"], "model.layers: 0 is out of range (1 or more)"),
        (["model=kquant", "model.usual=1"], "model: 'usual' is not one of"),
    ],
)
def test_refusals_are_one_line_with_the_choices(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        load(words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_in_a_mixed_matrix_what_does_not_go_together_is_unsupported() -> None:
    words = ("method=export", "backend=mlx", "allocator=fixed", "precision=bf16,q4_k")
    reasons = [job.unsupported for job in plan("model=tiny,kquant", *words).jobs]
    assert reasons == [
        None,
        "q4_k is for kquant models; tiny is whisper",
        "kquant takes q4_k, q5_k, q6_k, not bf16",
        None,
    ]


def test_another_backend_has_no_recipe() -> None:
    (job,) = plan("model=kquant", "backend=portable").jobs
    assert job.unsupported == "portable has no q4_k recipe (fp32, fp16, bf16)"


def test_mixed_models_share_the_samples_of_those_that_have_a_waveform() -> None:
    words = ("model=tiny,kquant", "method=export", "backend=mlx", "allocator=fixed")
    made = plan(*words, "precision=bf16,q4_k", "samples=16000")
    assert {cell.model: cell.samples for cell in made.cells} == {"tiny": 480000, "kquant": None}


def test_models_that_say_nothing_take_anything() -> None:
    model = {"name": "any", "family": "script"}
    fit.check_methods([model], ["forward"])
    assert fit.misfit(model, {"name": "fp32"}) is None
    assert fit.common_defaults([model], {}, {}) == {}


def test_a_larger_export_is_expected_to_take_longer() -> None:
    (small,) = plan("model=kquant", "model.layers=4").jobs
    (large,) = plan("model=kquant").jobs
    assert 5 < seconds_of(small, {}) < seconds_of(large, {}) < 60
