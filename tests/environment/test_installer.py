"""uv and pip behind one face."""

import sys
from pathlib import Path

import pytest

from bench.environment import installer
from bench.environment.commands import Commands
from bench.environment.installer import (
    PipInstaller,
    UvInstaller,
    normalise_freeze,
    pick_installer,
)
from bench.environment.pip_config import PipConfig
from bench.errors import RequestError

PYTHON = Path("venv/bin/python")


class Recorder(Commands):
    """Runs nothing, and keeps what it was asked to run."""

    def __init__(self, folder, output=""):
        super().__init__(folder)
        self.output = output
        self.calls = []

    def run(self, what, argv, *, environment=None, timeout=None):
        self.calls.append(([str(word) for word in argv], environment, timeout))
        return self.output

    def succeeds(self, argv, *, environment=None, timeout=None):
        self.calls.append(([str(word) for word in argv], environment, timeout))
        return True


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path)


@pytest.fixture
def uv(tmp_path):
    config = PipConfig(find_links=(str(tmp_path), "/nowhere/at/all"), index_url="https://m/s")
    return UvInstaller(Path("uv"), config, {"PATH": "/bin", "PYTHONPATH": "/x"})


def test_uv_installs_with_pips_configuration(uv, recorder, tmp_path):
    uv.install(recorder, PYTHON, ["a==1"], what="a")
    argv, environment, timeout = recorder.calls[0]
    assert argv[:3] == ["uv", "pip", "install"]
    assert argv[-1] == "a==1"
    assert str(tmp_path) in argv
    assert "/nowhere/at/all" not in argv
    assert "--no-deps" not in argv
    assert environment["UV_INDEX_URL"] == "https://m/s"
    assert environment["PATH"] == "/bin"
    assert "PYTHONPATH" not in environment
    assert timeout is None


def test_uv_takes_torch_from_the_cpu_index_only_when_told(uv, recorder):
    uv.install(recorder, PYTHON, ["a"], what="a", cpu_index=True, dependencies=False)
    argv = recorder.calls[0][0]
    assert argv[argv.index("--torch-backend") + 1] == "cpu"
    assert "--no-deps" in argv


def test_packages_may_go_into_a_folder_of_their_own(uv, recorder, tmp_path):
    for each in (uv, PipInstaller({})):
        each.install(recorder, PYTHON, ["a"], what="a", target=tmp_path)
        argv = recorder.calls[-1][0]
        assert argv[argv.index("--target") + 1] == str(tmp_path)


def test_a_question_installs_nothing_and_does_not_wait_long(uv, recorder):
    assert uv.resolves(recorder, PYTHON, "torch==1+cpu")
    argv, environment, timeout = recorder.calls[0]
    assert "--dry-run" in argv
    assert environment["UV_HTTP_RETRIES"] == "0"
    assert timeout <= 60


def test_the_environment_is_made_for_this_interpreter(uv, recorder, tmp_path):
    uv.create(recorder, tmp_path / "venv")
    PipInstaller({}).create(recorder, tmp_path / "venv")
    assert all(sys.executable in argv for argv, _, _ in recorder.calls)
    assert "/nowhere/at/all does not exist" in recorder.log.read_text()


def test_pip_installs_without_compiling_and_knows_no_cpu_index(recorder):
    pip = PipInstaller({"PYTHONHOME": "/x"})
    pip.install(recorder, PYTHON, ["a==1"], what="a", dependencies=False)
    argv, environment, _ = recorder.calls[0]
    assert argv[:4] == [str(PYTHON), "-m", "pip", "install"]
    assert {"--no-compile", "--no-deps", "a==1"} <= {*argv}
    assert "PYTHONHOME" not in environment
    assert not pip.resolves(recorder, PYTHON, "torch", cpu_index=True)
    assert pip.resolves(recorder, PYTHON, "torch")


def test_both_list_packages_alike(uv, tmp_path):
    by_pip = Recorder(tmp_path, "PyYAML==6.0\nruamel.yaml==0.19\nNumPy==2.0\n")
    by_uv = Recorder(tmp_path, "numpy==2.0\npyyaml==6.0\nruamel-yaml==0.19\n")
    listing = uv.freeze(by_uv, PYTHON)
    assert listing == PipInstaller({}).freeze(by_pip, PYTHON)
    assert listing == "numpy==2.0\npyyaml==6.0\nruamel-yaml==0.19\n"


def test_a_package_from_a_place_keeps_the_place():
    assert (
        normalise_freeze("# comment\nMy_Pkg @ file:///w/x.whl\n\n") == "my-pkg @ file:///w/x.whl\n"
    )


def test_uv_is_taken_where_there_is_one(monkeypatch):
    monkeypatch.setattr(installer, "find_uv", lambda: Path("/some/uv"))
    assert pick_installer().name == "uv"
    assert pick_installer("pip").name == "pip"


def test_pip_is_taken_where_there_is_no_uv(monkeypatch):
    monkeypatch.setattr(installer, "find_uv", lambda: None)
    assert pick_installer().name == "pip"
    with pytest.raises(RequestError, match="no uv was found"):
        pick_installer("uv")


def test_an_unknown_installer_is_refused():
    with pytest.raises(RequestError, match="auto, uv, pip"):
        pick_installer("conda")
