"""`min_min` against the textbook's loops in plain Python."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import Cluster, DeviceClass, Tasks, VirtualMultiGPU, registry
from hybrid_scheduler.core.cluster import Node
from hybrid_scheduler.core.tasks import Floats

TASKS, MACHINES = 512, 16
WARM_UPS = 2000  # after which what plain Python does at first, as long as that is cheaper, has been compiled


def min_min_vs_python() -> list[Row]:
    """Measure mapped tasks a second on an instance of Braun's size."""
    etc = hihi(seed=1)
    seconds: list[list[float]] = etc.tolist()
    tasks, machine = braun_tasks(etc), VirtualMultiGPU(cluster=braun_cluster())

    def ours() -> float:
        return machine.run(tasks, registry.schedulers.create("min_min")).makespan

    def theirs() -> float:
        return textbook_min_min(seconds)

    require(math.isclose(ours(), theirs(), rel_tol=1e-9), "the two min-mins give different makespans")
    for _ in range(WARM_UPS):
        ours()
    ours_best, theirs_best = side_by_side(15, ours, theirs)
    return [Row("min_min_vs_python", TASKS / ours_best, TASKS / theirs_best, "tasks/s", target=50)]


def hihi(seed: int) -> Floats:
    """Draw inconsistent times with high task and machine heterogeneity (Braun et al. 2001)."""
    random = np.random.default_rng(seed)
    return random.uniform(1.0, 3000.0, (TASKS, 1)) * random.uniform(1.0, 1000.0, (TASKS, MACHINES))


def _names() -> list[str]:
    return [f"m{number}" for number in range(MACHINES)]


def braun_cluster() -> Cluster:
    """Return one device of each class; a node needs a CPU, so the first machine is one."""
    classes = tuple(DeviceClass(name, kind="gpu" if number else "cpu") for number, name in enumerate(_names()))
    return Cluster(classes, (Node(dict.fromkeys(_names(), 1)),))


def braun_tasks(etc: Floats) -> Tasks:
    """Return a batch with these times."""
    measured = {name: etc[:, number] for number, name in enumerate(_names())}
    return Tasks.build(np.ones(TASKS), np.ones(TASKS), np.zeros(TASKS), measured=measured)


def textbook_min_min(seconds: list[list[float]]) -> float:
    """Map again and again the task that can end first, to where it ends first; return the makespan."""
    ready = [0.0] * len(seconds[0])
    left = list(range(len(seconds)))
    while left:
        earliest, chosen, target = math.inf, left[0], 0
        for task in left:
            for machine, needed in enumerate(seconds[task]):
                end = ready[machine] + needed
                if end < earliest:
                    earliest, chosen, target = end, task, machine
        ready[target] = earliest
        left.remove(chosen)
    return max(ready)
