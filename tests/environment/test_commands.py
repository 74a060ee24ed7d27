"""A build's commands: logged, explained in one line when they fail, ended with the build."""

import subprocess
import sys
import time

import psutil
import pytest

from bench.disk import DiskError
from bench.environment.commands import (
    RUNNING_NAME,
    Commands,
    clean_environment,
    end_leftovers,
    meaningful_line,
    redact,
)
from bench.errors import BuildError


def python(code):
    return [sys.executable, "-c", code]


def test_output_is_returned_and_everything_logged(tmp_path):
    commands = Commands(tmp_path)
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    assert commands.run("trying", python(code)) == "out\n"
    log = commands.log.read_text()
    assert log.startswith("$ ")
    assert "out\n" in log
    assert "err\n" in log
    assert not (tmp_path / RUNNING_NAME).exists()


def test_a_failure_is_one_line_with_the_reason_and_the_log(tmp_path):
    commands = Commands(tmp_path)
    with pytest.raises(BuildError) as failure:
        commands.run("trying", python("raise SystemExit('error: no luck')"))
    assert str(failure.value) == f"trying failed: no luck (log: {commands.log})"


def test_a_full_disk_is_not_the_commands_fault(tmp_path):
    code = "import os, errno; raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"
    with pytest.raises(DiskError, match=r"trying: OSError: .* No space left on device") as failure:
        Commands(tmp_path).run("trying", python(code))
    assert str(tmp_path) in str(failure.value)


def test_only_the_failing_commands_own_output_is_explained(tmp_path):
    commands = Commands(tmp_path)
    assert not commands.succeeds(python("raise SystemExit('error: the first')"))
    with pytest.raises(BuildError, match="trying failed: no output"):
        commands.run("trying", python("raise SystemExit(3)"))


def test_a_program_that_does_not_exist_is_a_failure_like_others(tmp_path):
    with pytest.raises(BuildError, match=r"trying failed: .*No such file"):
        Commands(tmp_path).run("trying", [tmp_path / "nothing"])


def test_a_command_is_given_up_with_its_children(tmp_path):
    child = "import subprocess; subprocess.run(['sleep', '60'])"
    started = time.monotonic()
    assert not Commands(tmp_path).succeeds(python(child), timeout=0.5)
    assert time.monotonic() - started < 10
    assert "gave up after 0.5 s" in (tmp_path / "build.log").read_text()


def test_nothing_of_our_own_python_leads_a_command_astray(tmp_path, monkeypatch):
    env = {"PYTHONPYCACHEPREFIX": "1", "VIRTUAL_ENV": "2", "CONDA_PREFIX": "3", "HOME": "4"}
    assert clean_environment(env) == {"HOME": "4"}
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    shown = Commands(tmp_path).run("trying", python("import os; print(os.environ)"))
    assert "PYTHONPATH" not in shown


def test_passwords_do_not_get_into_the_log(tmp_path):
    commands = Commands(tmp_path)
    commands.run("trying", [*python("print('https://me:word@host/x')"), "https://me:word@host"])
    commands.note("see https://me:word@host")
    assert "word" not in commands.log.read_text()
    assert redact("https://host/a@b ok") == "https://host/a@b ok"


def test_what_a_killed_build_left_running_is_ended(tmp_path):
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    created = psutil.Process(process.pid).create_time()
    (tmp_path / RUNNING_NAME).write_text(f"{process.pid} {created}\n")
    end_leftovers(tmp_path)
    assert not psutil.pid_exists(process.pid)


def test_another_process_with_the_same_number_is_left_alone(tmp_path):
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        created = psutil.Process(process.pid).create_time() - 100
        (tmp_path / RUNNING_NAME).write_text(f"{process.pid} {created}\n")
        end_leftovers(tmp_path)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("record", [None, "", "x y z", "999999999 1.0\n"])
def test_nothing_left_running_is_nothing_to_end(tmp_path, record):
    if record is not None:
        (tmp_path / RUNNING_NAME).write_text(record)
    end_leftovers(tmp_path)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", "no output"),
        ("one\ntwo\n\n", "two"),
        (
            "Using Python\nerror: Failed to fetch: X\n  cause: connect\n  cause: dns\n",
            "Failed to fetch: X: dns",
        ),
        (
            "  × No solution found when resolving dependencies:\n"
            "  ╰─▶ Because there is no version of a\n      and you require a, no.\n",
            "Because there is no version of a and you require a, no.",
        ),
        (
            "ERROR: No matching distribution found for a\n\n[notice] A new release of pip\n",
            "No matching distribution found for a",
        ),
        (
            "Traceback (most recent call last):\n  File x\nValueError: bad\n",
            "ValueError: bad",
        ),
    ],
)
def test_the_line_that_says_what_went_wrong(log, line):
    assert meaningful_line(log) == line
