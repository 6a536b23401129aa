"""Where the tasks of learning, scheduling and evaluation come from."""

from __future__ import annotations

from hybrid_scheduler.pipeline.phase import PROFILE, Work
from hybrid_scheduler.workload.source import Source


def source_of(work: Work, num_tasks: int) -> Source:
    """Return the source of so many tasks of the preset, on the measured machine if that is simulated."""
    options = work.options
    profile = work.source(PROFILE) if options.machine == "profile" else None
    return Source.of(options.workload.preset, num_tasks, None, options.workload.load, profile)
