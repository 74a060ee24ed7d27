"""One measurement through all its parts, with real processes for workers."""

import errno
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench.config import load
from bench.disk import DiskError
from bench.errors import BuildError
from bench.fit import compared_by_default
from bench.jobs import Job
from bench.measure import Status
from bench.measurer import Measurer
from bench.plan import make_plan
from bench.programs import ProgramStore
from bench.request import Limits
from bench.results.record import RunFolder
from tests.binaries import make_binary
from tests.disks import files_of_at_most, small_disk
from tests.workers import Silent, Workers

SMALL = Path(__file__).parent / "pte" / "small.pte"


@pytest.fixture
def measurer(tmp_path: Path, workers: Workers) -> Measurer:
    programs = ProgramStore(tmp_path / "programs")
    folder = RunFolder.create(tmp_path / "runs")
    return Measurer(folder, workers, programs, Limits(30, None), Silent())


def jobs(*words: str, host: str = "linux-x86_64") -> list[Job]:
    return list(make_plan(load(["backend=xnnpack", *words]), host).jobs)


def test_an_export_and_what_runs_it(measurer: Measurer, workers: Workers) -> None:
    export, encode, decode = (measurer.measure(job) for job in jobs())
    assert [r["status"] for r in (export, encode, decode)] == ["ok"] * 3
    assert workers.started == ["export", "encode", "decode"]  # one program for both
    assert encode["program"]["pte_sha256"] == export["program"]["pte_sha256"]
    assert encode["events"][-1]["output_sha"] == "abc"
    assert (encode["build_key"], encode["exporter_build_key"]) == ("0123456789ab",) * 2
    assert (encode["rung"], encode["exporter_rung"]) == ("wheel", "wheel")
    assert encode["total_s"] > 0
    assert "runtime_sha" in encode and "runtime_sha" not in export


def test_a_run_makes_the_program_that_is_not_there(measurer: Measurer, workers: Workers) -> None:
    (job,) = jobs("method=encode")
    assert measurer.measure(job)["status"] == "ok"
    assert measurer.measure(job)["status"] == "ok"
    assert workers.started == ["export", "encode", "encode"]


def test_what_cannot_be_exported_is_tried_once(measurer: Measurer, workers: Workers) -> None:
    workers.behave("raise ValueError('no kernel')")
    encode, decode = (measurer.measure(job) for job in jobs("method=encode,decode"))
    assert encode["status"] == decode["status"] == "failed"
    assert encode["reason"].startswith("no program to run: failed: ")
    assert encode["reason"] == decode["reason"]
    assert workers.started == ["export"]


WRONG = """
if task == "check":
    say("error", kind="output", reason="encode: 0.5 off")
    sys.exit(1)
"""


def test_a_stored_program_is_compared_when_that_is_asked_for_once(
    measurer: Measurer, workers: Workers
) -> None:
    export, encode, decode = jobs()
    measurer.measure(export)
    measurer.check = "on"
    records = [measurer.measure(job) for job in (encode, decode)]
    assert workers.started == ["export", "check", "encode", "decode"]
    assert {r["program"]["check"]["errors"]["encode"] for r in records} == {1e-7}
    assert measurer.program(export)["program"]["check"]["errors"] == {"encode": 1e-7}
    assert workers.started.count("check") == 1


def test_a_stored_program_that_is_wrong_is_not_run_and_not_found_again(
    measurer: Measurer, workers: Workers
) -> None:
    export, encode, decode = jobs()
    measurer.measure(export)
    measurer.check = "on"
    workers.behave(WRONG)
    for job in (encode, decode):
        record = measurer.measure(job)
        assert record["status"] == "failed"
        assert record["reason"].startswith("no program to run: failed: encode: 0.5 off")
    assert measurer.program(export)["status"] == "failed"
    assert workers.started == ["export", "check"]
    assert not list(measurer.programs.root.glob("[!.]*.*"))


def test_a_program_found_wrong_condemns_what_was_stored_of_the_same_export(
    measurer: Measurer, workers: Workers
) -> None:
    export, encode, _ = jobs()
    measurer.measure(export)  # stored, not compared
    measurer.check = "on"
    workers.behave(WRONG)
    assert measurer.measure(export)["status"] == "failed"
    measurer.check = "off"
    assert measurer.measure(encode)["status"] == "failed"
    assert workers.started == ["export", "export", "check"]
    assert not list(measurer.programs.root.glob("[!.]*.*"))


def test_an_export_that_failed_in_this_run_is_not_made_up_for_by_an_earlier_one(
    measurer: Measurer, workers: Workers
) -> None:
    """What a row says depends on the run, not on what the cache happens to hold."""
    export, encode, _ = jobs()
    measurer.measure(export)
    workers.behave("if task == 'export': raise ValueError('no kernel')")
    assert measurer.measure(export)["status"] == "failed"
    assert measurer.measure(encode)["status"] == "failed"
    workers.behave("pass")
    assert measurer.measure(export)["status"] == "ok"
    assert measurer.measure(encode)["status"] == "ok"


def test_a_program_of_other_neighbours_is_exported_anew(
    measurer: Measurer, workers: Workers, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("import helper\ndef build(seed): ...\n")
    (tmp_path / "helper.py").write_text("x = 1")
    hashed = "hashlib.sha256(open(request['source'][:-7] + 'helper.py', 'rb').read()).hexdigest()"
    workers.behave(f"if task == 'export': NEIGHBOURS['helper.py'] = {hashed}")
    words = ("model=script", f"script={tmp_path / 'mine.py'}", "method=forward")
    (job,) = jobs(*words)
    for _again in range(2):
        assert measurer.measure(job)["status"] == "ok"
    (tmp_path / "helper.py").write_text("x = 2")
    for _again in range(2):
        assert measurer.measure(job)["status"] == "ok"
    assert workers.started == ["export", "forward", "forward", "export", "forward", "forward"]


@pytest.mark.parametrize("own", ["whisper", "script", "pte"])
def test_outputs_may_be_anything_of_a_program_from_elsewhere_only(
    measurer: Measurer, workers: Workers, tmp_path: Path, own: str
) -> None:
    told = tmp_path / "told"
    workers.behave(f"if task not in ('export', 'check'): open({str(told)!r}, 'w').write("
                   "str(request['finite']))")  # fmt: skip
    (tmp_path / "mine.py").write_text("def build(seed): ...\n")
    words = {
        "whisper": ["backend=xnnpack", "method=encode"],
        "script": ["model=script", f"script={tmp_path / 'mine.py'}", "method=forward"],
        "pte": [f"pte={SMALL}", "method=encode"],
    }[own]
    (job,) = make_plan(load(words), "linux-x86_64").jobs
    assert measurer.measure(job)["status"] == "ok"
    assert told.read_text() == str(own != "pte")


def test_what_no_export_supports_no_run_does(measurer: Measurer, workers: Workers) -> None:
    workers.behave("say('error', kind='unsupported', reason='no MLX here'); sys.exit(1)")
    (job,) = jobs("method=encode")
    record = measurer.measure(job)
    assert record["status"] == "unsupported"
    assert record["reason"] == "no program to run: unsupported: no MLX here"


@pytest.mark.parametrize(
    ("status", "of_the_run"),
    [
        ("failed", "failed"),
        ("timeout", "failed"),
        ("over_memory", "failed"),
        ("unsupported", "unsupported"),
        ("untestable", "untestable"),
    ],
)
def test_a_run_without_a_program_says_how_its_export_ended(
    measurer: Measurer, workers: Workers, status: Status, of_the_run: Status
) -> None:
    export, encode, _ = jobs()
    # Words of another status in the reason mean nothing.
    measurer.broken.remember(export, status, "unsupported: so it said")
    record = measurer.measure(encode)
    assert record["status"] == of_the_run
    assert record["reason"] == f"no program to run: {status}: unsupported: so it said"
    of_the_export = measurer.program(export)
    assert of_the_export["status"] == status
    assert of_the_export["reason"] == "unsupported: so it said"
    assert workers.started == []
    measurer.broken.remember(export, "ok", "")
    assert measurer.measure(encode)["status"] == "ok"


def test_no_environment_is_untestable_and_starts_nothing(
    measurer: Measurer, workers: Workers
) -> None:
    workers.unbuildable = {"v1.4.1"}
    record = measurer.measure(jobs()[0])
    assert (record["status"], record["reason"]) == ("untestable", "no compiler for v1.4.1")
    assert workers.started == []


def test_each_side_has_its_own_environment(measurer: Measurer, workers: Workers) -> None:
    (job,) = jobs("method=encode", "exporter=v1.2.0", "runtime=v1.5.1")
    assert measurer.measure(job)["status"] == "ok"
    assert set(workers.asked) == {("v1.2.0", "export"), ("v1.5.1", "run")}
    workers.unbuildable = {"v1.5.1"}
    record = measurer.measure(job)
    assert record["status"] == "untestable"
    assert record["exporter_build_key"]  # what is known of the other side is said


def test_a_program_from_elsewhere_is_run_where_it_lies_and_not_when_it_changed(
    measurer: Measurer, workers: Workers, tmp_path: Path
) -> None:
    program = tmp_path / "mine.pte"
    shutil.copy(SMALL, program)
    (job,) = make_plan(load([f"pte={program}", "method=encode"]), "linux-x86_64").jobs
    record = measurer.measure(job)
    assert record["status"] == "ok"
    assert record["program"]["pte_bytes"] == program.stat().st_size
    assert "exporter_build_key" not in record
    assert (workers.asked, workers.started) == ([("v1.4.1", "run")], ["encode"])
    assert not list(measurer.programs.root.glob("*.pte"))
    program.write_bytes(program.read_bytes() + b"\0")
    record = measurer.measure(job)
    assert record["status"] == "failed"
    assert "mine.pte has changed: it was" in record["reason"]
    assert workers.started == ["encode"]


def test_what_this_host_cannot_do_asks_for_nothing(measurer: Measurer, workers: Workers) -> None:
    (job,) = make_plan(load(["backend=mlx", "method=encode"]), "linux-x86_64").jobs
    assert measurer.measure(job)["status"] == "unsupported"
    assert workers.asked == []


@pytest.mark.parametrize(
    ("allocator", "seen"), [("default", []), ("fixed", ["MALLOC_MMAP_THRESHOLD_"])]
)
def test_malloc_is_what_the_cell_says_and_not_the_shell(
    measurer: Measurer, monkeypatch: pytest.MonkeyPatch, allocator: str, seen: list[str]
) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=262144")
    monkeypatch.setenv("LD_PRELOAD", "libjemalloc.so.2")
    monkeypatch.setenv("DYLD_INSERT_LIBRARIES", "libjemalloc.dylib")
    monkeypatch.setenv("MallocNanoZone", "0")
    record = measurer.measure(jobs("method=export", f"allocator={allocator}")[0])
    assert record["events"][-1]["malloc"] == seen


def test_a_failure_keeps_its_log_and_nothing_else(measurer: Measurer, workers: Workers) -> None:
    workers.behave("print('telling', flush=True); os._exit(3)")
    job = jobs("method=export")[0]
    record = measurer.measure(job)
    assert record["status"] == "failed"
    assert "telling" in record["reason"]
    assert "telling" in (measurer.folder.path / "logs" / f"{job.key}.log").read_text()
    assert not (measurer.folder.path / "work").exists()
    assert not list((measurer.programs.root / "incoming").iterdir())


def test_the_packages_are_kept_once_per_environment(measurer: Measurer) -> None:
    for job in jobs("method=export", "repeats=2"):
        measurer.measure(job)
    (listing,) = measurer.folder.path.glob("packages-*.txt")
    assert listing.read_text() == "a==1\n"


def test_packages_that_could_not_be_written_whole_are_written_again(
    measurer: Measurer, workers: Workers
) -> None:
    text = "a==1\n" * 1000
    workers.environment.packages.write_text(text)
    with files_of_at_most(100), pytest.raises(DiskError, match=str(measurer.folder.path)):
        measurer.measure(jobs("method=export")[0])
    assert not list(measurer.folder.path.glob("packages-*"))
    measurer.measure(jobs("method=export")[0])
    (listing,) = measurer.folder.path.glob("packages-*.txt")
    assert listing.read_text() == text


def test_an_environment_built_anew_has_a_list_of_its_own(
    measurer: Measurer, workers: Workers
) -> None:
    measurer.measure(jobs("method=export")[0])
    workers.environment.packages.write_text("a==2\n")
    workers.environment = replace(workers.environment, packages_hash="another")
    measurer.measure(jobs("method=export")[0])
    lists = sorted(measurer.folder.path.glob("packages-*.txt"))
    assert sorted(path.read_text() for path in lists) == ["a==1\n", "a==2\n"]
    assert sum("another" in path.name for path in lists) == 1


def test_an_interrupt_leaves_neither_worker_nor_half_a_program(
    measurer: Measurer, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_phase: str) -> None:
        raise KeyboardInterrupt

    workers.behave("open(request['program'], 'wb').write(b'half'); time.sleep(60)")
    monkeypatch.setattr(measurer.progress, "phase", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measurer.measure(jobs("method=export")[0])
    assert not list((measurer.programs.root / "incoming").iterdir())
    assert not (measurer.folder.path / "work").exists()


FULL = f"raise OSError({errno.ENOSPC}, os.strerror({errno.ENOSPC}))"


def test_a_worker_that_finds_no_room_is_no_finding(measurer: Measurer, workers: Workers) -> None:
    workers.behave(FULL)
    with pytest.raises(DiskError, match="No space left on device") as caught:
        measurer.measure(jobs("method=export")[0])
    assert str(measurer.programs.root) in str(caught.value)
    assert "\n" not in str(caught.value)
    workers.behave("pass")
    assert measurer.measure(jobs("method=export")[0])["status"] == "ok"


@pytest.mark.parametrize("where", ["runs", "programs"])
def test_a_full_disk_is_named(tmp_path: Path, workers: Workers, where: str) -> None:
    """The worker itself can say nothing: its log is on the disk that is full."""
    with small_disk(tmp_path / where, 128 * 1024) as disk:
        fill = f"open({str(disk / 'filler')!r}, 'wb', buffering=0).write(bytes(10**6))"
        workers.behave(f"{fill}\nos._exit(1)")
        folder = RunFolder.create(tmp_path / "runs")
        programs = ProgramStore(tmp_path / "programs")
        measurer = Measurer(folder, workers, programs, Limits(30, None), Silent())
        with pytest.raises(DiskError) as caught:
            measurer.measure(jobs("method=export")[0])
        assert str(disk) in str(caught.value)


def test_every_write_of_ours_names_its_folder(measurer: Measurer, workers: Workers) -> None:
    with files_of_at_most(1), pytest.raises(DiskError, match=str(measurer.folder.path)):
        measurer.measure(jobs("method=export")[0])


@pytest.mark.parametrize(
    ("family", "backend", "size", "wanted"),
    [
        ("script", "xnnpack", 1_000_000, True),
        ("script", "xnnpack", 1_000_000_000, False),
        ("script", "portable", 1_000_000, False),  # its kernels take minutes
        ("whisper", "xnnpack", 1_000_000, False),  # the main job is not to be slower for it
    ],
)
def test_a_users_own_model_is_compared_where_that_is_cheap(
    family: str, backend: str, size: int, wanted: bool
) -> None:
    request = {"model": {"family": family}, "backend": {"name": backend}}
    assert compared_by_default(request, size) is wanted


def test_a_binary_of_the_users_is_told_what_it_is_fed_and_stands_for_its_environment(
    measurer: Measurer, workers: Workers, tmp_path: Path
) -> None:
    path = make_binary(tmp_path / "er")
    words = [f"pte={SMALL}", "method=encode", "runner=executor_runner", f"runner.path={path}"]
    workers.behave(
        "say('told', runner=request['executor_runner']['path'], first=request['first'],\n"
        "    outputs=request['outputs'], inputs=len(request['inputs']))"
    )
    (job,) = make_plan(load(words), "linux-x86_64").jobs
    record = measurer.measure(job)
    assert record["status"] == "ok"
    told = next(event for event in record["events"] if event["event"] == "told")
    assert told["runner"] == str(path)
    assert told["outputs"] == [["float32", [1, 8, 30, 30]]]
    assert (told["first"], told["inputs"]) == ("encode", 1)
    assert job.own_runner
    assert (record["rung"], record["build_key"]) == ("own", job.own_runner["sha256"][:12])
    # The leader only watched: what it took is nobody's measurement.
    assert record["rusage_peak_bytes"] is record["sampled_peak_bytes"] is None
    path.write_text("changed")
    record = measurer.measure(job)
    assert record["status"] == "unsupported"
    assert "has changed" in record["reason"]
    with pytest.raises(BuildError, match="memray watches Python's runner, not executor_runner"):
        measurer.profile(job, {})
