"""The bare runner of an environment: our C++ (bench/native), linked against its ExecuTorch."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from bench.environment.inventory import package_of
from bench.environment.model import Environment
from bench.errors import EtPeakError

SOURCE = Path(__file__).resolve().parents[1] / "native"
_COMPILERS = ("c++", "g++", "clang++")
# As the wheel's own executorch-config.cmake has it: the definitions and the standard that its
# headers need, and every component but the ones it leaves to who wants them.
_STANDARD = "-std=c++17"
_DEFINITIONS = ("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_USE_THREADPOOL")
_LIBRARIES = (
    *("executorch", "executorch_backend_xnnpack", "executorch_kernels_optimized"),
    *("executorch_kernels_quantized", "executorch_threadpool"),
)


class NoRunnerError(EtPeakError):
    """There can be no bare runner here; its cells are ``unsupported`` with this reason."""


def native_runner(environment: Environment) -> Path:
    """Return the runner of an environment, compiling it where that was not done before.

    Args:
        environment: of the revision that is to run a program; its runner is kept, and goes, with
            it.

    Raises:
        NoRunnerError: no compiler, nothing to link against, or it does not compile.

    """
    command = compile_command(environment)
    key = hashlib.sha256("\0".join(command).encode())
    for source in sorted(SOURCE.iterdir()):
        key.update(source.read_bytes())
    folder = environment.root / "runners"
    folder.mkdir(exist_ok=True)
    runner = folder / f"runner-{key.hexdigest()[:12]}"
    with FileLock(folder / f".{runner.name}.lock"):
        if not runner.exists():
            partial = runner.with_name(f"{runner.name}.{os.getpid()}.partial")
            try:
                _compile([*command, "-o", str(partial)])
                partial.replace(runner)
            finally:
                partial.unlink(missing_ok=True)
    return runner


def compile_command(environment: Environment) -> list[str]:
    """Return the compiler's command line, but for the output.

    Raises:
        NoRunnerError: no compiler, or this ExecuTorch can't be linked.

    """
    if not sys.platform.startswith("linux"):
        # Its memory is read from /proc; a Mac's footprint needs proc_pid_rusage.
        raise NoRunnerError(f"runner=native is for Linux so far, and this is {sys.platform}")
    package = package_of(environment)
    libraries, headers = package / "lib", package / "include"
    missing = [name for name in _LIBRARIES if not (libraries / f"lib{name}.so").exists()]
    if missing or not (headers / "executorch/extension/module/module.h").exists():
        # Before 1.5 the runtime is inside the Python extension alone: it needs the interpreter and
        # torch in the process, which is what a bare runner is to be without.
        raise NoRunnerError(
            f"runner=native: {environment.label} has no runtime to link against "
            "(wheels have libexecutorch.so since 1.5): use runner=python, or a later runtime="
        )
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if compiler is None:
        raise NoRunnerError(f"runner=native needs a C++ compiler: {', '.join(_COMPILERS)}")
    return [
        *(compiler, _STANDARD, "-O2", *_DEFINITIONS),
        *("-isystem", str(headers)),
        *("-isystem", str(headers / "executorch/runtime/core/portable_type/c10")),
        str(SOURCE / "runner.cpp"),
        # Backends and kernels register themselves when loaded: nothing refers to them by name.
        *(f"-L{libraries}", "-Wl,--no-as-needed", *(f"-l{name}" for name in _LIBRARIES)),
        f"-Wl,-rpath,{libraries}",
    ]


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["no message"]
        raise NoRunnerError(f"the bare runner does not compile: {lines[0].strip()[:200]}")
