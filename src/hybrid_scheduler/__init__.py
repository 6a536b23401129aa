"""Hybrid ML Scheduler: a lane turns tasks into placements; a scheduler answers `choose`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

_HOMES = {
    "Cluster": "model",
    "Command": "execution.user_tasks",
    "Decision": "model",
    "DeviceClass": "model",
    "HybridScheduler": "execution.hybrid_scheduler",
    "Placements": "model",
    "Scheduler": "schedulers.scheduler",
    "Task": "model",
    "TaskView": "view",
    "Tasks": "model",
    "View": "view",
    "VirtualMultiGPU": "simulator",
    "WorkloadGenerator": "workload",
    "compare": "race",
    "compiled": "compiling",
    "current_device": "execution.performing",
    "lower_bound": "bounds",
    "task": "execution.user_tasks",
    "verify_bound": "bounds",
}

if TYPE_CHECKING:
    from hybrid_scheduler.bounds import lower_bound, verify_bound
    from hybrid_scheduler.compiling import compiled
    from hybrid_scheduler.execution.hybrid_scheduler import HybridScheduler
    from hybrid_scheduler.execution.performing import current_device
    from hybrid_scheduler.execution.user_tasks import Command, task
    from hybrid_scheduler.model import Cluster, Decision, DeviceClass, Placements, Task, Tasks
    from hybrid_scheduler.race import compare
    from hybrid_scheduler.schedulers.scheduler import Scheduler
    from hybrid_scheduler.simulator import VirtualMultiGPU
    from hybrid_scheduler.view import TaskView, View
    from hybrid_scheduler.workload import WorkloadGenerator

__all__ = [
    "Cluster",
    "Command",
    "Decision",
    "DeviceClass",
    "HybridScheduler",
    "Placements",
    "Scheduler",
    "Task",
    "TaskView",
    "Tasks",
    "View",
    "VirtualMultiGPU",
    "WorkloadGenerator",
    "__version__",
    "compare",
    "compiled",
    "current_device",
    "lower_bound",
    "task",
    "verify_bound",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that `import hybrid_scheduler` and `hms --help` stay quick.
    if name not in _HOMES:
        raise AttributeError(f"module 'hybrid_scheduler' has no attribute '{name}'")
    return getattr(importlib.import_module(f"hybrid_scheduler.{_HOMES[name]}"), name)
