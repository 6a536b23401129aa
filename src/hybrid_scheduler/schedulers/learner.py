"""A learner is a scheduler that learns from placements; it can be pretrained, trained in the background, saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeGuard

from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.schedulers.scheduler import Scheduler

SHORTEST, FIFO = ORDERS = ("shortest", "fifo")
"""How the queues of a learner are served: by its expected durations, or first come, first served."""
JOULES_PER_SECOND = 50.0
"""Joules that count like a second at an energy weight of 0.5: the guide's 500 J against 10 s."""


@jitable
def weigh(seconds: float, joules: float, energy_weight: float) -> float:
    """Return the cost of a decision: time alone at a weight of 0, energy alone at 1."""
    return (1.0 - energy_weight) * seconds + energy_weight * joules / JOULES_PER_SECOND


class Learner(Scheduler):
    """Base of policies that learn: set `learn_every` and override `learn`, and what else the policy can do."""

    clairvoyant = False
    learn_every = 1
    shared: ClassVar[tuple[str, ...]] = ()
    """Attributes that deciding never changes: copies made for explanations share them instead of copying."""
    row_arrays: ClassVar[tuple[str, ...]] = ()
    """Arrays with a row per task of a block that `learn` reads again: real tasks end in an order of their own."""
    runtime_options: ClassVar[tuple[str, ...]] = ("online",)
    """Options that change decisions but not what pretraining teaches: one model serves all their values."""
    pretraining_tasks: ClassVar[int] = 1000
    """Tasks of each preset that a model is pretrained on."""

    zero_shot: ClassVar[bool] = False
    """Whether a model that was trained on other clusters serves any: training for a cluster is then on request."""
    trains_on_clusters: ClassVar[bool] = False
    """Whether it is trained once, on random clusters (`train_on_clusters`), instead of on presets for one."""

    def learn(self, placements: Placements) -> None:
        """Learn from the placements of the last block."""
        raise SchedulerError(f"scheduler '{self.name}' has no learn: override it or set learn_every to 0")

    def pretrain(
        self, workloads: Tasks | Sequence[Tasks], cluster: Cluster, mode: str = "queued", measured: bool = False
    ) -> None:
        """Learn from whole workloads before the real one; by default by scheduling them in simulation.

        `measured` says that the times of the workloads are known: a policy may train on them without a schedule.
        """
        del measured
        for tasks in list_workloads(workloads):
            Lane(self, VirtualMultiGPU(cluster=cluster, mode=mode)).run(tasks)

    def train_on_clusters(
        self,
        seed: int,
        checkpoint: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Train on random clusters, or on one alone; from the checkpoint on if there is one."""
        raise SchedulerError(f"scheduler '{self.name}' is trained for one cluster: pretrain it there")

    def forget_durations(self) -> None:
        """Forget how long tasks take, which was learnt on another cluster."""

    def needs_pretraining(self, warm_start: bool = False) -> bool:
        """Whether a pretrained model should be loaded first; `warm_start` asks for one where it is optional."""
        del warm_start
        return False

    @property
    def is_trained(self) -> bool:
        """Whether it has learnt enough to decide; until then others decide better on real devices."""
        return True

    def train_in_background(self, delay: int) -> None:
        """Train in another process from now on and apply updates `delay` tasks later (-1: when they are ready)."""

    @property
    def training_lag(self) -> int:
        """The tasks after which updates were applied, in the mean of a run."""
        return 0

    def warm_up(self) -> None:
        """Load what background training needs before the clock starts."""

    def set_energy_weight(self, weight: float) -> None:
        """Weigh energy (1) against time (0) from now on."""

    def save(self, path: str | Path) -> None:
        """Write the trained model to a file."""
        raise SchedulerError(f"scheduler '{self.name}' cannot be saved: override save")

    def load(self, path: str | Path) -> None:
        """Read the trained model from a file."""
        raise SchedulerError(f"scheduler '{self.name}' cannot be loaded: override load")

    def save_model(self, path: str | Path) -> None:
        """Write the trained model to a file: `save` by the name that the guide uses."""
        self.save(path)

    def load_model(self, path: str | Path) -> None:
        """Read the trained model from a file: `load` by the name that the guide uses."""
        self.load(path)

    def close(self) -> None:
        """End the background process, if there is one."""


def check_energy_weight(weight: float, name: str) -> float:
    """Return an energy weight if it is one."""
    if not 0 <= weight <= 1:
        raise InputError(f"{name}: energy_weight is {weight}, expected a number from 0 (time only) to 1")
    return float(weight)


def is_shortest_first(order: str, name: str) -> bool:
    """Whether queues are served by expected durations; an unknown order is an error."""
    if order not in ORDERS:
        raise InputError(f"{name}: order is '{order}', expected {' or '.join(ORDERS)}")
    return order == SHORTEST


def list_workloads(workloads: Tasks | Sequence[Tasks]) -> Sequence[Tasks]:
    """Return one workload or several as a list."""
    return [workloads] if isinstance(workloads, Tasks) else workloads


def is_learner(policy: Scheduler) -> TypeGuard[Learner]:
    """Whether a policy can learn, whatever its class."""
    return callable(getattr(policy, "learn", None))
