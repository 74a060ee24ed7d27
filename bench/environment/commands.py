"""Run the commands of a build: everything they print goes to the build's log.

Each command is its own process group, whose leader is written down while it runs. So an
interrupt ends all of it, and who finds the remains of a killed build can end what that
build left running.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from bench.disk import DiskError, blames_disk
from bench.errors import BuildError

LOG_NAME = "build.log"
RUNNING_NAME = "running"

_UNWANTED = {"VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__"}
_SECRET = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_DECORATION = " \t×╰─▶│├╯"
_TELLING = re.compile(r"^\s*(error|fatal|[\w.]*Error|[\w.]*Exception)\b.*", re.IGNORECASE)
_CAUSE = re.compile(r"^\s*(cause|caused by)\b:?\s*", re.IGNORECASE)
_NOISE = re.compile(r"^\s*(hint|\[notice\]|WARNING)\b", re.IGNORECASE)


def redact(text: str) -> str:
    """Hide the user and password of every address in ``text``."""
    return _SECRET.sub("***", text)


def meaningful_line(log: str) -> str:
    """Pick the line of a failed command's output that says what went wrong.

    The last line that calls itself an error, with the last cause given under it; the
    explanation of a resolver that found no solution; else simply the last line.
    """
    lines = [line for line in log.splitlines() if line.strip() and not _NOISE.match(line)]
    if not lines:
        return "no output"
    for start, line in enumerate(lines):
        if "╰─▶" in line:
            reason = " ".join(part.strip(_DECORATION) for part in lines[start:])
            return " ".join(reason.split())
    telling = [number for number, line in enumerate(lines) if _TELLING.match(line)]
    if not telling:
        return lines[-1].strip(_DECORATION)
    found = re.sub(r"(?i)^error: ", "", lines[telling[-1]].strip(_DECORATION))
    causes = [line for line in lines[telling[-1] + 1 :] if _CAUSE.match(line)]
    return f"{found}: {_CAUSE.sub('', causes[-1])}" if causes else found


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Give ``env`` without what would lead an installer, or its Python, astray."""
    return {
        name: value
        for name, value in env.items()
        if not name.startswith("PYTHON") and name not in _UNWANTED
    }


class Commands:
    """The commands of one build, run in its folder and logged there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / LOG_NAME

    def run(
        self,
        what: str,
        argv: Sequence[object],
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        telling: Callable[[str], str | None] = lambda _printed: None,
    ) -> str:
        """Run ``argv`` and give its standard output.

        Args:
            what: words for it in messages.
            argv: the command.
            environment: its variables; None for this process's.
            timeout: seconds after which it is ended.
            telling: finds the line that says why it failed, in what it printed; where it finds
                none, :func:`meaningful_line` is asked.

        Raises:
            BuildError: where it fails.
            DiskError: where it fails because a disk is full: that is not the revision's fault.

        """
        code, output, errors = self._run(argv, environment, timeout)
        if code != 0:
            printed = f"{output}\n{errors}"
            if full := blames_disk(printed):
                raise DiskError(f"{what}: {redact(full.strip(_DECORATION))} ({self.folder})")
            line = redact(telling(printed) or meaningful_line(printed))
            raise BuildError(f"{what} failed: {line} (log: {self.log})")
        return output

    def succeeds(
        self,
        argv: Sequence[object],
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Run ``argv`` as a question: whether it worked."""
        return self._run(argv, environment, timeout)[0] == 0

    def note(self, line: str) -> None:
        """Write a line of our own to the log."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"# {redact(line)}\n")

    def _run(
        self,
        argv: Sequence[object],
        environment: Mapping[str, str] | None,
        timeout: float | None,
    ) -> tuple[int, str, str]:
        command = [str(word) for word in argv]
        with self.log.open("a+", encoding="utf-8", errors="replace") as log:
            log.write(f"$ {redact(shlex.join(command))}\n")
            log.flush()
            begin = log.tell()
            try:
                # Errors go straight to the log, so that a killed build leaves them too.
                process = subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env=clean_environment(os.environ if environment is None else environment),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"error: {error}\n")
                return 127, "", f"error: {error}"
            with self._noted(process.pid):
                output, expired = _communicate(process, timeout)
            log.seek(begin)
            errors = log.read()
            log.write(redact(output))
            if expired:
                errors += f"error: gave up after {timeout:g} s\n"
                log.write(f"error: gave up after {timeout:g} s\n")
        return (124 if expired else process.returncode), output, errors

    @contextlib.contextmanager
    def _noted(self, pid: int) -> Iterator[None]:
        record = self.folder / RUNNING_NAME
        with contextlib.suppress(psutil.Error):
            record.write_text(f"{pid} {psutil.Process(pid).create_time()}\n", encoding="utf-8")
        try:
            yield
        finally:
            record.unlink(missing_ok=True)


def _communicate(process: subprocess.Popen[str], timeout: float | None) -> tuple[str, bool]:
    try:
        return process.communicate(timeout=timeout)[0], False
    except subprocess.TimeoutExpired:
        _end_group(process.pid)
        return process.communicate()[0], True
    except BaseException:
        _end_group(process.pid)
        process.wait()
        raise


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def end_leftovers(folder: Path) -> None:
    """End the command that a killed build of ``folder`` may have left running."""
    record = folder / RUNNING_NAME
    try:
        pid_text, created = record.read_text(encoding="utf-8").split()
        process = psutil.Process(int(pid_text))
        if abs(process.create_time() - float(created)) > 1.0:
            return
    except (OSError, ValueError, psutil.Error):
        return
    _end_group(process.pid)
    with contextlib.suppress(psutil.Error):
        process.wait(timeout=10)
