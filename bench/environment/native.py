"""The bare runner of an environment: our C++ (bench/native), linked against its ExecuTorch."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from filelock import FileLock

from bench.disk import writing
from bench.environment.commands import Commands
from bench.environment.inventory import package_of
from bench.environment.model import Environment
from bench.environment.source import failing_line
from bench.errors import BuildError, EtPeakError

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
        DiskError: a disk is full: it may compile tomorrow.

    """
    command = compile_command(environment)
    key = hashlib.sha256("\0".join(command).encode())
    for source in sorted(SOURCE.iterdir()):
        key.update(source.read_bytes())
    folder = environment.root / "runners"
    runner = folder / f"runner-{key.hexdigest()[:12]}"
    with writing(folder):
        folder.mkdir(exist_ok=True)
        with FileLock(folder / f".{runner.name}.lock"):
            if not runner.exists():
                partial = runner.with_name(f"{runner.name}.{os.getpid()}.partial")
                try:
                    _compile(folder, [*command, "-o", str(partial)])
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


def _compile(folder: Path, command: list[str]) -> None:
    try:
        Commands(folder).run("compiling the bare runner", command, telling=failing_line)
    except BuildError as error:
        raise NoRunnerError(str(error)) from error
