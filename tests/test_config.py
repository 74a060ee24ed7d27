from pathlib import Path

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import ReadonlyConfigError

from bench import fit
from bench.compose import compose_one, default_commit, group_choices, host_backend
from bench.config import VALUES, load
from bench.environment import normalise_release, releases
from bench.errors import RequestError
from bench.plan import make_plan
from bench.request import composed


def test_defaults_are_the_readme_run() -> None:
    request = load([])
    assert [c.model["name"] for c in request.choices] == ["tiny"]
    assert [c.precision["name"] for c in request.choices] == ["fp32"]
    assert request.methods == ("export", "encode", "decode")
    assert request.iterations == (1, 5, 20)
    assert request.exporters == ("v1.4.1",)
    assert request.runtimes is None
    assert request.samples == (480_000,)
    assert request.limits.memory_cap is None


def test_a_comma_list_sweeps() -> None:
    request = load(["model=tiny,small", "precision=bf16,int8", "commit=v1.4.1,v1.5.1"])
    pairs = [(c.model["name"], c.precision["name"]) for c in request.choices]
    assert pairs == [("tiny", "bf16"), ("tiny", "int8"), ("small", "bf16"), ("small", "int8")]
    assert request.exporters == ("v1.4.1", "v1.5.1")


def test_exporter_and_runtime_cross() -> None:
    request = load(["exporter=v1.2.0", "runtime=v1.4.1,v1.5.1"])
    assert request.exporters == ("v1.2.0",)
    assert request.runtimes == ("v1.4.1", "v1.5.1")
    assert load(["exporter=v1.2.0"]).runtimes == ("v1.4.1",)


def test_a_changed_field_shows_in_the_name() -> None:
    (choice,) = load(["model.n_audio_layer=1"]).choices
    assert choice.model["n_audio_layer"] == 1
    assert choice.model["name"] == "tiny[n_audio_layer=1]"


def test_a_change_is_of_one_request_alone() -> None:
    before = load([])
    load(["model.n_audio_layer=1", "runner.load_mode=buffer"])
    assert load([]) == before
    with pytest.raises(ReadonlyConfigError):
        compose_one([]).commit = "v1.5.1"  # what equal words are answered with


FIELDS = [
    (group, field, OmegaConf.select(part, field))
    for group in ("model", "runner")
    for name in group_choices(group)
    for part in [compose_one([f"{group}={name}"])[group]]
    for field in fit.fields(part)
    if f"{group}.{field}" != fit.PATH  # any text may be a path: it is looked at when composed
]


@pytest.mark.parametrize(("group", "field", "default"), dict.fromkeys(FIELDS))
def test_a_field_takes_its_default_and_no_other_type(
    group: str, field: str, default: object
) -> None:
    key = f"{group}.{field}"
    assert fit.field_value(key, default, str(default).lower()) == default
    with pytest.raises(RequestError, match=f"^{key}: 'x' "):
        fit.field_value(key, default, "x")


@pytest.mark.parametrize(
    ("system", "machine", "backend"),
    [
        ("darwin", "arm64", "mlx"),
        ("darwin", "x86_64", "xnnpack"),
        ("linux", "x86_64", "xnnpack"),
        ("linux", "aarch64", "xnnpack"),
    ],
)
def test_backend_auto(system: str, machine: str, backend: str) -> None:
    assert host_backend(system, machine) == backend


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["modle=small"], "did you mean model?"),
        (["small"], "'small' is not key=value"),
        (["precision=bf17"], "is not one of fp32, fp16, bf16, int8, int4"),
        (["precision="], "empty value"),
        (["model=tiny,,small"], "model: there is an empty value"),
        (["model=tiny", "model=base"], "model: given twice"),
        (["model.n_audio_layer=many"], "not a whole number"),
        (["model.layers=2"], "model: 'layers' is not one of"),
        (["model.name=huge"], "model: 'name' is not one of"),
        (["model.family=kquant"], "model: 'family' is not one of n_mels"),
        (["model.samples.max=5"], "model: 'samples.max' is not one of n_mels"),
        (["model.usual.method=x"], "model: 'usual.method' is not one of n_mels"),
        (["model=kquant-parts", "model.width=256"], "parts.target.width"),
        (["runner.load_mode=foo"], "runner.load_mode: 'foo' is not one of mmap, mlock, buffer"),
        (["model=kquant", "model.layers=0"], "model.layers: 0 is out of range (1 or more)"),
        (["model=kquant", "model.adapter_rows=-1"], "adapter_rows: -1 is out of range (0 or"),
        (["commit.x=2"], "option: 'commit.x' is not one of"),
        (["iterations=0"], "iterations: 0 is out of range"),
        (["iterations=1,x"], "iterations: 'x' is not a whole number"),
        (["samples=10"], "samples: 10 is out of range (401 to 480000)"),
        (["samples=480001"], "samples: 480001 is out of range"),
        (["memory_cap=lots"], "memory_cap: 'lots' is not a size"),
        (["timeout_s=-1"], "timeout_s: '-1' is not a positive number"),
        (["repeats=1,2"], "repeats: takes one value"),
        (["allocator=jemalloc"], "allocator: 'jemalloc' is not one of default, fixed"),
        (["method=prefill"], "method: 'prefill' is not one of export, encode, decode"),
    ],
)
def test_refusals_are_one_line_with_the_choices(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        load(words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["repo", "nightly_index"])
def test_no_password_is_taken_that_would_be_kept(name: str) -> None:
    """Of every option that may be an address: runs, tables and reports say what was asked for."""
    for address in (
        *("https://me:secret@example.org/x", "HTTP://secret@example.org/x"),
        "ssh://me:secret@example.org/x",
    ):
        with pytest.raises(RequestError, match=r"~/\.netrc") as caught:
            load([f"{name}={address}"])
        assert "secret" not in str(caught.value)
    for address in ("https://example.org/a@b", "ssh://git@example.org:22/x", "git@example.org:x"):
        load([f"{name}={address}"])


NULLABLE = [name for name in VALUES if compose_one([])[name] is None]


@pytest.mark.parametrize("name", NULLABLE)
def test_null_is_what_the_help_says_of_it(name: str) -> None:
    plain = load([])
    assert load([f"{name}=null"]) == plain
    with pytest.raises(RequestError, match="given twice"):
        load([f"{name}=null", f"{name}=x"])


def test_null_is_a_value_where_the_default_is_none() -> None:
    assert NULLABLE
    with pytest.raises(RequestError, match="timeout_s: 'null' is not"):
        load(["timeout_s=null"])


def test_the_default_commit_is_a_release_we_know() -> None:
    assert load([]).exporters == (default_commit(),)
    assert normalise_release(default_commit()) in releases()


def test_composed_yaml_holds_the_limits() -> None:
    text = composed(load(["memory_cap=2GB", f"out={Path('elsewhere')}"]))
    assert "memory_cap: 2000000000" in text
    assert "out: elsewhere" in text


def test_the_launcher_is_no_part_of_what_is_measured() -> None:
    words = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=3", "timing=off", "memory_budget=2GB"]
    asked, plain = load(words), load([])
    assert asked.launch == tuple(words[:2])
    assert (asked.timing, asked.memory_budget) == (False, 2 * 10**9)
    assert (plain.launch, plain.timing, plain.memory_budget) == ((), True, None)
    assert asked.choices == plain.choices
    assert asked.overrides == tuple(words)  # a resume goes on with the same
    plans = [make_plan(request, "linux-x86_64") for request in (asked, plain)]
    assert plans[0] == plans[1]
    with pytest.raises(RequestError, match="timing: 'maybe' is not one of on, off"):
        load(["timing=maybe"])
