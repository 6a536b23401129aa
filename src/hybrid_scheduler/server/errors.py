"""Errors of the live service beside those of the libraries below it."""

from __future__ import annotations

from hybrid_scheduler.errors import SchedulerError


class ConflictError(SchedulerError):
    """Something that cannot be done in the present state."""


class BusyError(SchedulerError):
    """Something that could not be done in time."""
