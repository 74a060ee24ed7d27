"""Each launcher for real, with workers that need no torch: the same records, none lost or doubled.

A node of Ray that is killed, with real workers, is in tests/integration/test_launch.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.disk import DiskError
from bench.errors import RequestError
from bench.launch.kinds import KINDS, is_launch_word, launcher_of, width_of
from bench.launch.launchers import NodeFailedError, launch
from bench.launch.node import Order
from bench.launch.units import by_program
from bench.machine import usable_cores
from bench.results.record import RunFolder
from tests.launch.nodes import Nodes, fleet, jobs_of, request

# The process of the first program is ended by its worker, while that of the second is at work.
ONE_DIES = """
first = task == "encode" and request["export"]["precision"]["name"] == "fp32"
come = HERE + ("/first" if first else "/second")
if task == "encode" and not os.path.exists(come):
    open(come, "w").close()
    if first:
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)
    time.sleep(5)
"""


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """See to it that the cluster which the launcher starts is ended."""
    yield
    import ray

    ray.shutdown()


WORDS = {
    "joblib": ("hydra/launcher=joblib",),
    "submitit_local": ("hydra/launcher=submitit_local",),
    "ray": (
        *("hydra/launcher=ray", "hydra.launcher.init.address=local"),
        *("+hydra.launcher.init.num_cpus=2", "+hydra.launcher.init.object_store_memory=80000000"),
    ),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let submitit look for what a job that died might have left a second, not a quarter minute."""
    monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 1)


@pytest.mark.usefixtures("ray", "impatient")
@pytest.mark.parametrize("launcher", WORDS)
def test_the_same_records_as_from_here_each_once_though_a_process_is_lost(
    tmp_path: Path, launcher: str
) -> None:
    asked, nodes = request(), Nodes(tmp_path / "node", ONE_DIES)
    jobs, told = jobs_of(asked), []
    team = fleet(tmp_path / "run", nodes, asked, words=WORDS[launcher], arrived=told.append)
    records = list(team.measure_all(jobs))
    assert sorted(r["job_key"] for r in records) == sorted(job.key for job in jobs)
    assert {r["status"] for r in records} == {"ok"}
    assert sorted(r["job_key"] for r in told) == sorted(job.key for job in jobs)
    assert list((tmp_path / "run").glob("packages-*.txt"))
    # Once more only what was at work in a process that ended: Ray's had its export with it, and
    # joblib's processes end together.
    assert len(nodes.started) <= len(jobs) + (1 if launcher == "submitit_local" else 2)
    lost = [line for line in team.progress.lines if line.startswith("lost")]  # type: ignore[attr-defined]
    assert len(lost) == (launcher != "ray")  # which begins it anew itself


@pytest.mark.usefixtures("impatient")
def test_submitit_is_not_done_before_every_job_is(tmp_path: Path) -> None:
    asked, nodes = request(), Nodes(tmp_path / "node", ONE_DIES)
    units = by_program(jobs_of(asked))
    orders = [
        Order(unit, asked, str(tmp_path / unit.key), "measure", False, environments=nodes)
        for unit in units
    ]
    with pytest.raises(NodeFailedError, match="UncompletedJobError"):
        launch(WORDS["submitit_local"], orders, tmp_path, lambda _report: None, [None, None])
    counts = sorted(len(RunFolder(tmp_path / unit.key).records()) for unit in units)
    assert counts == [1, 3]


@pytest.mark.usefixtures("ray")
def test_a_report_that_can_not_be_kept_is_no_lost_node(tmp_path: Path) -> None:
    asked, nodes = request(precision="fp32"), Nodes(tmp_path / "node")
    jobs = jobs_of(asked)
    (unit,) = by_program(jobs)
    (tmp_path / "run" / "parts").mkdir(parents=True)
    (tmp_path / "run" / "parts" / unit.key).touch()  # where its folder should be
    team = fleet(tmp_path / "run", nodes, asked, words=WORDS["ray"])
    with pytest.raises(DiskError, match=unit.key):
        list(team.measure_all(jobs))
    assert len(nodes.started) == len(jobs)


# Names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["hydra/launcher=rey"], "hydra/launcher: 'rey' is not one of basic, joblib"),
        (["hydra.launcher.n_jobs=2"], "goes with hydra/launcher=joblib|"),
        (["hydra/launcher=joblib", "hydra/launcher=ray"], "hydra/launcher: given twice"),
        (["hydra/launcher=joblib", "hydra.launcher.n_job=2"], "n_job"),
    ],
)
def test_a_wrong_launcher_is_one_line(given: list[str], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        launcher_of(given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.modules])
def test_a_launcher_that_is_not_installed_says_what_to_install(name: str, tmp_path: Path) -> None:
    # A Python that has what the controller has, and none of the extras.
    hidden = [module.partition(".")[0] for module in KINDS[name].modules]
    code = (
        "import sys, importlib.abc\n"
        "class Hide(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {hidden!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "from bench.cli import main\n"
        f"sys.exit(main(['hydra/launcher={name}', '--dry-run']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert f"hydra/launcher={name} is not installed here: pip install -e" in line


def test_words_of_the_launcher_are_told_from_others() -> None:
    assert is_launch_word("hydra/launcher=ray") and is_launch_word("+hydra.launcher.x.y=2")
    assert not any(map(is_launch_word, ["hydra.job.name=x", "model=tiny", "launcher=ray"]))


def test_the_width_is_what_joblib_was_asked_for_or_the_cores() -> None:
    assert width_of(["hydra/launcher=joblib", "hydra.launcher.n_jobs=3"]) == 3
    assert width_of(["hydra/launcher=joblib"]) == usable_cores()
    assert width_of(["hydra/launcher=submitit_local"]) == usable_cores()
