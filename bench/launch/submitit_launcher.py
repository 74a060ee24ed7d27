"""Hydra's launcher for submitit, waiting for every job even if one of them is lost.

The plugin's own (hydra-submitit-launcher 1.2.0) ends with the first job that has no result. The
others then run on unheard, and what they are measuring would be handed out a second time beside
them. Its fields, folders and what a job runs are kept; the submission and the wait are done here.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields
from itertools import repeat
from typing import Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

_PLUGIN = "hydra_plugins.hydra_submitit_launcher"


def patient(launcher: Launcher) -> Launcher:
    """Return a launcher that hears of every job: submitit's in the plugin's place, others as is."""
    return SubmititLauncher(launcher) if type(launcher).__module__.startswith(_PLUGIN) else launcher


class SubmititLauncher(Launcher):
    """Submits the jobs as the plugin does, and gives what became of each.

    Args:
        plugin: a launcher of the plugin, with its fields; its jobs call it.
    """

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take note of what is to be run; Hydra's interface."""
        self._plugin.setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run the jobs; return what each returned, raised or was lost with, in order."""
        numbers = range(initial_job_idx, initial_job_idx + len(job_overrides))
        jobs = self._executor().map_array(
            self._plugin,
            [list(overrides) for overrides in job_overrides],
            repeat("hydra.sweep.dir"),
            numbers,
            [f"job_id_for_{number}" for number in numbers],
            repeat(Singleton.get_state()),
        )
        return [_returned(job) for job in jobs]

    def _executor(self) -> Any:
        """Make submitit's executor of the plugin's fields, which are prefixed where not common."""
        cluster = self._plugin._EXECUTOR
        config = importlib.import_module(f"{_PLUGIN}.config")
        common = {field.name for field in fields(config.BaseQueueConf)}
        given = {
            name if name in common else f"{cluster}_{name}": value
            for name, value in self._plugin.params.items()
        }
        about = {"folder": given.pop("submitit_folder")}
        if (name := f"{cluster}_max_num_timeout") in given:
            about[name] = given.pop(name)
        executor = importlib.import_module("submitit").AutoExecutor(cluster=cluster, **about)
        executor.update_parameters(**given)
        return executor


def _returned(job: Any) -> JobReturn:
    utils = importlib.import_module("submitit.core.utils")
    try:
        returned: JobReturn = job.results()[0]
    except (utils.UncompletedJobError, utils.FailedJobError) as error:
        returned = JobReturn()
        returned.return_value, returned.status = error, JobStatus.FAILED
    return returned
