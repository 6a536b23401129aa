"""Phase 2: draw the tasks to learn from and those to schedule."""

from __future__ import annotations

from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.pipeline.phase import (
    COMMON,
    TEST_SEED,
    TEST_TRACE,
    TRAINING_SEED,
    TRAINING_TRACE,
    Found,
    Phase,
    Work,
)
from hybrid_scheduler.pipeline.source import source_of
from hybrid_scheduler.workload.formats import csv
from hybrid_scheduler.workload.generator import statistics


def draw_workloads(work: Work) -> Found:
    """Write both traces."""
    options, cluster = work.options, work.cluster
    facts = {}
    parts = {
        TRAINING_TRACE: (options.workload.num_tasks, TRAINING_SEED),
        TEST_TRACE: (options.workload.test_tasks, TEST_SEED),
    }
    for number, (place, (count, offset)) in enumerate(parts.items()):
        work.step(number, len(parts))
        tasks = _drawn(work, count, options.seed + offset, cluster)
        csv.write(tasks, work.target(place))
        facts[place] = statistics(tasks)
    return Found(facts)


def _drawn(work: Work, count: int, seed: int, cluster: Cluster) -> Tasks:
    return source_of(work, count).tasks(seed, cluster)


DRAWING = Phase(
    "workload",
    "workload generation",
    (*COMMON, "workload"),
    (TRAINING_TRACE, TEST_TRACE),
    draw_workloads,
)
