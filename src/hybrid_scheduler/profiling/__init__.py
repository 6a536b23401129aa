"""Measures a machine and calibrates the execution model to it."""
