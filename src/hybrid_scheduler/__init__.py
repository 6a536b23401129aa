"""Hybrid ML Scheduler: a lane turns tasks into placements; a scheduler answers `choose`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "model",
    "Decision": "model",
    "DeviceClass": "model",
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
    "lower_bound": "bounds",
    "verify_bound": "bounds",
}

if TYPE_CHECKING:
    from hybrid_scheduler.bounds import lower_bound, verify_bound
    from hybrid_scheduler.compiling import compiled
    from hybrid_scheduler.model import Cluster, Decision, DeviceClass, Placements, Task, Tasks
    from hybrid_scheduler.race import compare
    from hybrid_scheduler.schedulers.scheduler import Scheduler
    from hybrid_scheduler.simulator import VirtualMultiGPU
    from hybrid_scheduler.view import TaskView, View
    from hybrid_scheduler.workload import WorkloadGenerator

__all__ = [
    "Cluster",
    "Decision",
    "DeviceClass",
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
    "lower_bound",
    "verify_bound",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that `import hybrid_scheduler` and `hms --help` stay quick.
    if name not in _HOMES:
        raise AttributeError(f"module 'hybrid_scheduler' has no attribute '{name}'")
    return getattr(importlib.import_module(f"hybrid_scheduler.{_HOMES[name]}"), name)
