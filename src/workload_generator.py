"""`src.workload_generator` of the guide: draws streams of tasks."""

from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.workloads.generator import WorkloadGenerator

__all__ = ["Task", "Tasks", "WorkloadGenerator"]
