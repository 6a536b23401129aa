"""`OnlineScheduler` takes tasks one by one and places them on a simulated cluster with a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.core import Cluster, Placements, Task, Tasks
from hybrid_scheduler.core.metrics import device_utilisation
from hybrid_scheduler.core.placements import concatenate_placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.learning.predictors import Predictor
from hybrid_scheduler.schedulers.hybrid_ml import HybridML


@dataclass(frozen=True)
class SchedulingDecision:
    """The decision for a task and its simulated placement."""

    task_id: int
    gpu_fraction: float
    gpu_id: int  # counts the GPUs from 0; -1: no GPU
    start: float
    finish: float
    energy: float
    cost: float


class OnlineScheduler:
    """A queue of submitted tasks in front of a simulated cluster; `model` predicts the GPU share."""

    def __init__(
        self,
        model: Predictor | None = None,
        num_gpus: int = 4,
        *,
        cluster: Cluster | None = None,
        mode: str = "queued",
        energy_weight: float = 0.0,
        online: bool = False,
    ) -> None:
        self.machine = VirtualMultiGPU(num_gpus, cluster=cluster, mode=mode)
        self.policy = HybridML(energy_weight=energy_weight, online=online or model is None)
        if model is not None:
            self.policy.set_model(model)
        self._waiting: list[Task] = []
        self._done: list[Placements] = []

    def submit_task(self, task: Task) -> None:
        """Put a task into the queue."""
        self._waiting.append(task)

    def process_queue(self) -> list[SchedulingDecision]:
        """Schedule everything in the queue, in order of arrival; return the decisions in order of submission."""
        if not self._waiting:
            return []
        placements = self.machine.step(Tasks.from_iterable(self._waiting), self.policy, interpreted=None)
        if self.policy.learn_every:
            self.policy.learn(placements)
        self._waiting = []
        self._done.append(placements)
        gpus = self.machine.cluster.gpus.tolist()
        ids, shares = placements.tasks.task_id.tolist(), placements.gpu_fraction.tolist()
        numbers = [gpus.index(gpu) if gpu in gpus else -1 for gpu in placements.gpu.tolist()]
        columns = [getattr(placements, name).tolist() for name in ("start", "finish", "energy", "cost")]
        return [SchedulingDecision(*row) for row in zip(ids, shares, numbers, *columns, strict=True)]

    def get_utilization(self) -> dict[str, Any]:
        """Return the busy share of every GPU so far, and their mean."""
        gpus = self.machine.cluster.gpus
        shares = [0.0] * len(gpus)
        if self._done:
            whole = concatenate_placements(self._done, self._done[0].tasks)
            shares = device_utilisation(whole)[gpus].tolist()
        result: dict[str, Any] = {f"gpu_{number}": {"utilization": share} for number, share in enumerate(shares)}
        result["average_utilization"] = sum(shares) / len(shares) if shares else 0.0
        return result
