"""The generator under the module name that the project's guide uses."""

from hybrid_scheduler.workload.generator import WorkloadGenerator

__all__ = ["WorkloadGenerator"]
