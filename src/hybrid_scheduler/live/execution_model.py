"""How the tasks of a live race are executed: simulated here, on real devices in `real_devices`."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid_scheduler.core.cluster import Cluster, Device
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.live.settings import LiveSettings, MeasuredSettings
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import load_or_train

TRAINING_LAG = 50  # tasks after which a background fit takes effect; at the default pace it is done long before


def create_execution_model(settings: LiveSettings) -> ExecutionModel:
    """Return the execution model for these settings; only a measured race loads the runtime."""
    if isinstance(settings, MeasuredSettings):
        from hybrid_scheduler.live.real_devices import RealExecution

        return RealExecution(settings)
    return ExecutionModel()


class ExecutionModel:
    """Simulated execution: a task takes its own times, or those of the formulas."""

    def with_known_times(self, tasks: Tasks) -> Tasks:
        """Return tasks with the times that are known before they run."""
        return tasks

    def create_scheduler(self, name: str, settings: LiveSettings) -> Scheduler:
        """Return a scheduler; learners are pretrained and train in the background."""
        scheduler = load_or_train(name, settings.cluster, settings.seed, warm_start=True)
        if is_learner(scheduler):
            scheduler.train_in_background(TRAINING_LAG)
        return scheduler

    def create_lane(self, scheduler: Scheduler, cluster: Cluster) -> Lane:
        """Return the lane of a scheduler, all devices idle."""
        return Lane(scheduler, VirtualMultiGPU(cluster=cluster))

    def realized_times(self, times: Floats, placed: Mapping[str, Placements]) -> Floats:
        """Return the class times of a placed block, by which the bound is computed."""
        return times

    def display_name(self, device: Device) -> str:
        """Return the name of a device for people."""
        return device.name

    def close(self) -> None:
        """Release devices and workers."""
