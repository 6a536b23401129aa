"""Comparisons over seeds and what is built on them: capacity, experiments, sweeps, the suite, and their folders."""
