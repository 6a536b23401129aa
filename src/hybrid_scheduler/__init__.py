"""Hybrid ML Scheduler: a lane turns tasks into placements; a scheduler answers `choose`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hybrid_scheduler import deprecated

__version__ = "1.1.0.dev0"

_HOMES = {
    "Cluster": "core",
    "Command": "runtime.tasks",
    "Decision": "core",
    "DeviceClass": "core",
    "HybridScheduler": "runtime.executor",
    "Learner": "schedulers.learner",
    "Placements": "core",
    "Scheduler": "schedulers.scheduler",
    "Task": "core",
    "TaskView": "core.view",
    "Tasks": "core",
    "View": "core.view",
    "VirtualMultiGPU": "core.simulator",
    "WorkloadGenerator": "workloads",
    "certified_front": "bounds.turnaround",
    "compare": "studies.compare",
    "compiled": "core.compiler",
    "current_device": "runtime.worker",
    "current_scheduler": "runtime.nested",
    "lower_bound": "bounds.makespan",
    "task": "runtime.tasks",
    "turnaround_bound": "bounds.turnaround",
    "verify_bound": "bounds.makespan",
    "verify_turnaround_bound": "bounds.turnaround",
}

if TYPE_CHECKING:
    from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
    from hybrid_scheduler.bounds.turnaround import certified_front, turnaround_bound, verify_turnaround_bound
    from hybrid_scheduler.core import Cluster, Decision, DeviceClass, Placements, Task, Tasks
    from hybrid_scheduler.core.compiler import compiled
    from hybrid_scheduler.core.simulator import VirtualMultiGPU
    from hybrid_scheduler.core.view import TaskView, View
    from hybrid_scheduler.runtime.executor import HybridScheduler
    from hybrid_scheduler.runtime.nested import current_scheduler
    from hybrid_scheduler.runtime.tasks import Command, task
    from hybrid_scheduler.runtime.worker import current_device
    from hybrid_scheduler.schedulers.learner import Learner
    from hybrid_scheduler.schedulers.scheduler import Scheduler
    from hybrid_scheduler.studies.compare import compare
    from hybrid_scheduler.workloads import WorkloadGenerator

__all__ = [
    "Cluster",
    "Command",
    "Decision",
    "DeviceClass",
    "HybridScheduler",
    "Learner",
    "Placements",
    "Scheduler",
    "Task",
    "TaskView",
    "Tasks",
    "View",
    "VirtualMultiGPU",
    "WorkloadGenerator",
    "__version__",
    "certified_front",
    "compare",
    "compiled",
    "current_device",
    "current_scheduler",
    "lower_bound",
    "task",
    "turnaround_bound",
    "verify_bound",
    "verify_turnaround_bound",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that `import hybrid_scheduler` and `hms --help` stay quick.
    if name not in _HOMES:
        raise AttributeError(f"module 'hybrid_scheduler' has no attribute '{name}'")
    return getattr(importlib.import_module(f"hybrid_scheduler.{_HOMES[name]}"), name)


deprecated.install()
