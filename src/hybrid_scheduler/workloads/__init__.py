"""Where tasks come from: drawn by lot from a preset, or read from a file."""

from hybrid_scheduler.workloads.generator import WorkloadGenerator

__all__ = ["WorkloadGenerator"]
