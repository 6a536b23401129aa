"""Compiles the loops of a comparison before its first seed, those of different kinds at the same time.

Numba compiles one function at a time in a process, so there is one process for each kind of loop: the policies of a
kind share most of what is compiled. What they compile is left in the cache, where the comparison finds it.
"""

from __future__ import annotations

import gc
from typing import NamedTuple

from hybrid_scheduler import registry
from hybrid_scheduler.core import Tasks
from hybrid_scheduler.core.compiler import core_count, limit_cores, report_compiling
from hybrid_scheduler.core.simulator import needs_compiling, reorders
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.studies.compare import Comparison, certify, run_lanes

SAMPLE = 200
"""Tasks to compile for: enough for the first fit of a learner, after which it decides by another rule."""
TIME_LIMIT = 600.0
"""Seconds after which the comparison compiles for itself."""


class Sample(NamedTuple):
    """The first tasks of a comparison, for some of its schedulers."""

    comparison: Comparison
    schedulers: tuple[str, ...]
    certifies: bool  # whether the code of the bounds is compiled as well


def compile_loops(comparison: Comparison, tasks: Tasks) -> None:
    """Compile the loops that are not in the cache, if there are different ones and a core for each."""
    kinds: dict[bool, list[str]] = {}
    for spec in dict.fromkeys([*comparison.schedulers, "oracle"]):
        scheduler = registry.schedulers.create(spec)
        ordered = comparison.mode == "queued" and reorders(scheduler, tasks)
        if needs_compiling(scheduler, ordered):
            kinds.setdefault(ordered, []).append(spec)
    if len(kinds) < 2 or core_count() < 2 or tasks.has_edges:
        return
    report_compiling(comparison.schedulers[0])
    samples = [
        Sample(comparison, tuple(specs), not ordered) for ordered, specs in sorted(kinds.items(), reverse=True)
    ]
    # What goes wrong in there goes wrong again in the comparison, which says so.
    list(run_jobs(_run_sample, samples, core_count(), TIME_LIMIT))


def _run_sample(sample: Sample) -> None:
    gc.disable()  # a short life that makes millions of objects, most of which stay
    limit_cores(1)
    comparison, seed = sample.comparison, sample.comparison.seeds[0]
    tasks = comparison.source.tasks(seed, comparison.cluster).part(0, SAMPLE)
    runs = run_lanes(tasks, sample.schedulers, comparison.cluster, comparison.mode, seed)
    if sample.certifies:
        certify(comparison, tasks, split=any(placements.split.any() for placements, _ in runs.values()))
