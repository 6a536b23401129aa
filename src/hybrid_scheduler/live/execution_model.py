"""`Ground`: what a live race stands on; this one is simulated, on that of `execution/live.py` tasks really run."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid_scheduler.core.cluster import Cluster, Device
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import ready

BESIDE = 50  # tasks after which what was learnt counts: a fit at the usual pace is ready long before


class Ground:
    """Simulated time: a task takes as long as it says itself, or as the formulas say."""

    def dressed(self, tasks: Tasks) -> Tasks:
        """Return tasks with the times that are known of them before they run."""
        return tasks

    def policy(self, name: str, settings: LiveSettings) -> Scheduler:
        """Return a scheduler that is ready to race."""
        policy = ready(name, settings.cluster, settings.seed, warm=True)
        policy.learn_beside(BESIDE)
        return policy

    def lane(self, policy: Scheduler, cluster: Cluster) -> Lane:
        """Return the lane of a scheduler, all its devices free."""
        return Lane(policy, VirtualMultiGPU(cluster=cluster))

    def passed(self, times: Floats, placed: Mapping[str, Placements]) -> Floats:
        """Return the class times of a block that the bound is made of, when all have placed it."""
        return times

    def label(self, device: Device) -> str:
        """Return the name of a device as people should read it."""
        return device.name

    def close(self) -> None:
        """Let go of what it holds; nothing is placed any more."""
