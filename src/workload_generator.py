"""`src.workload_generator` of the guide: draws streams of tasks."""

from hybrid_scheduler.model.tasks import Task, Tasks
from hybrid_scheduler.workload.generator import WorkloadGenerator

__all__ = ["Task", "Tasks", "WorkloadGenerator"]
