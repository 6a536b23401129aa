"""What two levels cost and save with 1,000 nodes of five devices, against one policy that looks at all 5,000.

Both sides are `least_increase`, which compares the queues of all devices, on the same tasks. The last row is what
old information costs: groups report every 50 ms, half of a mean task, instead of with the decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.rows import Row, side_by_side
from hybrid_scheduler import VirtualMultiGPU, WorkloadGenerator, registry
from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.physics import class_times

NODES, TASKS, LOAD = 1000, 20_000, 0.9
STALE = 0.05  # seconds


def hierarchy() -> list[Row]:
    """Measure time per decision and mean turnaround of two levels against one."""
    cluster = Cluster((DEFAULT_CPU, DEFAULT_GPU), (Node({"cpu": 1, "gpu": 4}),) * NODES)
    tasks = WorkloadGenerator(1).generate_preset("mixed", TASKS, load=LOAD, cluster=cluster)
    times, turnaround = class_times(tasks, cluster), {}

    def prepare(spec: str) -> Callable[[], object]:
        def run() -> None:
            placements = VirtualMultiGPU(cluster=cluster).step(tasks, registry.schedulers.create(spec), times=times)
            turnaround[spec] = float(placements.turnaround.mean())

        return run

    specs = ("least_increase", "hierarchical", f"hierarchical:refresh={STALE}")
    flat, levels, _ = side_by_side(2, *map(prepare, specs), clock=time.process_time)
    one, two, stale = (turnaround[spec] * 1000 for spec in specs)
    return [
        Row("hierarchical_decisions", TASKS / levels, TASKS / flat, "decisions/s", target=20.0),
        Row("hierarchical_turnaround", two, one, "ms", target=1.05, at_most=True),
        Row("hierarchical_stale", stale, two, "ms", target=3.0, at_most=True),
    ]
