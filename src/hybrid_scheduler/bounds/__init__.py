"""Certified lower bounds of the makespan with their verifiers, exact optima of small batches, and local search."""

from hybrid_scheduler.bounds.makespan import Bound, lower_bound, verify_bound

__all__ = ["Bound", "lower_bound", "verify_bound"]
