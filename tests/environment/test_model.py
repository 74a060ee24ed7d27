"""A built environment on paper, and the variables of a process in it."""

from dataclasses import replace

import pytest

from bench.environment.model import Environment, worker_env
from tests.environment.fakes import FakeRecipe, fake_environment


@pytest.fixture
def environment(tmp_path):
    return fake_environment(FakeRecipe(), tmp_path / "env")


def test_it_can_be_written_and_read_back(environment, tmp_path):
    overlay = replace(environment, pythonpath=(tmp_path / "tree",), git_sha="abc")
    assert Environment.from_json(overlay.to_json()) == overlay
    assert Environment.from_json(environment.to_json()) == environment


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"root": 1}', "null"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):
        Environment.from_json(text)


def test_a_worker_sees_its_environment_first_and_nothing_of_ours(environment):
    base = {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "PYTHONPATH": "/repo",
        "PYTHONHOME": "/x",
        "PYTHONWARNINGS": "error",
        "PYTHONHASHSEED": "7",
        "VIRTUAL_ENV": "/other",
        "VIRTUAL_ENV_PROMPT": "other",
    }
    assert worker_env(environment, base) == {
        "PATH": f"{environment.bin}:/usr/bin",
        "HOME": "/home/me",
        "VIRTUAL_ENV": str(environment.root / "venv"),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
    }


def test_an_overlay_goes_before_what_is_installed(environment, tmp_path):
    overlay = replace(environment, pythonpath=(tmp_path / "a", tmp_path / "b"))
    assert worker_env(overlay, {})["PYTHONPATH"] == f"{tmp_path / 'a'}:{tmp_path / 'b'}"


def test_without_a_base_it_is_this_process(environment, monkeypatch):
    monkeypatch.setenv("ET_PEAK_TEST", "yes")
    assert worker_env(environment)["ET_PEAK_TEST"] == "yes"
