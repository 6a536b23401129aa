"""Certified lower bounds of the makespan with their verifiers, exact optima of small batches, and local search."""
