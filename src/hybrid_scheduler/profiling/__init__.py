"""Measures this machine and fits the model's physics to what was measured."""
