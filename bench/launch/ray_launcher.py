"""A Hydra launcher for Ray, on `ray.remote` and `ray.wait` alone.

Hydra's own plugin (hydra-ray-launcher 1.2.2) installs beside today's Ray, but brings what only its
AWS half uses (boto3, ray[default]: 36 packages more, one of them an older python-dateutil), reports
nothing before the last job ended, and ends with the first one that fails. It is the same interface
here, so ``hydra/launcher=ray`` and ``hydra.launcher.*`` mean what they mean there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from bench.launch.node import Report

_TOLD = ("PYTHONPATH", "ET_PEAK_CACHE")
"""Variables that a node's processes get from the controller's, where they are set."""


class RayLauncher(Launcher):
    """Gives each job to Ray as one task; Ray begins it anew where its node is gone.

    Attributes:
        arrived: is told what each task returned, as soon as it is there.
        needs: bytes that each job takes at its peak, so that Ray fills no node beyond its memory.
    """

    def __init__(self, init: DictConfig, remote: DictConfig) -> None:
        self._init = _plain(init)
        self._remote = _plain(remote)
        self._context: HydraContext | None = None
        self._task: TaskFunction | None = None
        self._config: DictConfig | None = None
        self.arrived: Callable[[Report], None] = lambda _report: None
        self.needs: Sequence[int | None] = ()

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take note of what is to be run; Hydra's interface."""
        self._context, self._task, self._config = hydra_context, task_function, config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run the jobs on the cluster; return what each returned or raised, in order."""
        del initial_job_idx  # of sweepers that launch several times
        ray = _ray()
        if self._context is None or self._config is None or self._task is None:
            raise AssertionError("launch before setup")
        if not ray.is_initialized():
            ray.init(**self._init_with_variables())
        most = max(int(n["Resources"].get("memory", 0)) for n in ray.nodes() if n["Alive"])
        waiting = {}
        for number, overrides in enumerate(job_overrides):
            config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
            options = {**self._memory(number, most), **self._remote}
            task = ray.remote(**options)(_run)
            waiting[task.remote(self._task, OmegaConf.masked_copy(config, ["unit"]))] = number
        returns = {}
        while waiting:
            for reference in ray.wait(list(waiting), num_returns=1)[0]:
                returns[waiting.pop(reference)] = self._returned(reference)
        return [returns[number] for number in sorted(returns)]

    def _returned(self, reference: Any) -> JobReturn:
        ray = _ray()
        returned = JobReturn()
        try:
            returned.return_value = ray.get(reference)
            returned.status = JobStatus.COMPLETED
            self.arrived(returned.return_value)
        except ray.exceptions.RayTaskError as error:
            returned.return_value, returned.status = error.cause, JobStatus.FAILED
        except ray.exceptions.RayError as error:
            returned.return_value, returned.status = error, JobStatus.FAILED
        return returned

    def _memory(self, number: int, most: int) -> dict[str, int]:
        """Return what a job asks of a node: no more than the largest has, or it would wait."""
        need = self.needs[number] if number < len(self.needs) else None
        return {"memory": min(need or most, most)} if most else {}

    def _init_with_variables(self) -> dict[str, Any]:
        given = dict(self._init.get("runtime_env") or {})
        told = {name: os.environ[name] for name in _TOLD if name in os.environ}
        given["env_vars"] = {**told, **(given.get("env_vars") or {})}
        return {**self._init, "runtime_env": given}


def _run(task: TaskFunction, config: DictConfig) -> Any:
    return task(config)


def _ray() -> Any:
    return importlib.import_module("ray")  # an extra: not there for everybody


def _plain(config: DictConfig) -> dict[str, Any]:
    found: Any = OmegaConf.to_container(config, resolve=True)
    return dict(found) if isinstance(found, Mapping) else {}
