"""Certified lower bounds of makespans, the exact optimum of small batches, and local search for short schedules."""
