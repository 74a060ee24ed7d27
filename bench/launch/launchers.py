"""One launch: orders to nodes through the launcher that ``hydra/launcher=`` names, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig

from bench.compose import CONF
from bench.errors import EtPeakError
from bench.launch.node import Order, Orders, Report
from bench.launch.submitit_launcher import patient

_ROOT = Path(__file__).resolve().parents[2]


class NodeFailedError(EtPeakError):
    """A node, or the launcher, ended without a report of what it was to do."""


def launch(
    words: Sequence[str],
    orders: Sequence[Order],
    folder: Path,
    arrived: Callable[[Report], None],
    needs: Sequence[int | None],
) -> None:
    """Have orders carried out, and wait for all of them.

    Args:
        words: name the launcher, and set its fields.
        orders: one for each process.
        folder: an existing one for what the launcher itself writes.
        arrived: is told of each report; of some launchers only when all have ended.
        needs: bytes that each order takes at its peak, for launchers that place by it.

    Raises:
        NodeFailedError: if any of them has no report.
        EtPeakError: what a node says of an order that can't be carried out anywhere, or `arrived`
            of a report that can't be kept.
    """
    overrides = [
        *words,
        f"hydra.sweep.dir={_quoted(str(folder.absolute()))}",
        *("hydra.sweep.subdir=.", "hydra.output_subdir=null", "hydra.job.chdir=false"),
        *("hydra/job_logging=none", "hydra/hydra_logging=none"),
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"), _importable():
        hydra = GlobalHydra.instance().hydra
        if hydra is None:
            raise AssertionError
        config = hydra.compose_config("config", overrides, RunMode.MULTIRUN, from_shell=False)
        launcher = _instantiated(config)
        launcher.setup(
            hydra_context=HydraContext(hydra.config_loader, Callbacks()),
            task_function=Orders(tuple(orders)),
            config=config,
        )
        for name, value in (("arrived", arrived), ("needs", needs)):
            if hasattr(launcher, name):
                setattr(launcher, name, value)
        try:
            returns = launcher.launch([[f"+unit={n}"] for n in range(len(orders))], 0)
        except EtPeakError:  # of ours, from what is told of a report: the disk here is full
            raise
        except Exception as error:  # whatever a cluster may do
            raise NodeFailedError(_one_line(error)) from error
    _hear(returns, arrived)


def _instantiated(config: DictConfig) -> Launcher:
    """Make the launcher; `Plugins.instantiate_launcher` would only take those of hydra_plugins."""
    return patient(instantiate(config.hydra.launcher))


def _hear(returns: Sequence[JobReturn], arrived: Callable[[Report], None]) -> None:
    failed: list[Exception] = []
    for each in returns:
        returned = each._return_value  # the property writes to stderr what it raises
        if isinstance(returned, EtPeakError):
            raise returned
        if isinstance(returned, Exception):
            failed.append(returned)
        else:
            arrived(returned)
    if failed:
        raise NodeFailedError(_one_line(failed[0])) from failed[0]


@contextmanager
def _importable() -> Iterator[None]:
    """Let the processes that are started import us, wherever they start."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _quoted(text: str) -> str:
    """Return a value as a string of Hydra's grammar, whatever it holds."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\${") + "'"


def _one_line(error: Any) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:300]}" if words else type(error).__name__
