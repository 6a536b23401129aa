"""`search` on an instance of Braun's size: how far above a proven bound, and how long it takes."""

from __future__ import annotations

from benchmarks.batch import braun_cluster, braun_tasks, hihi
from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import VirtualMultiGPU, registry
from hybrid_scheduler.bounds.makespan import whole_task_bound

SECONDS = 2.0


def search_vs_bound() -> list[Row]:
    """Measure the makespan over the bound of whole tasks, and the seconds over two."""
    tasks, cluster = braun_tasks(hihi(seed=1)), braun_cluster()
    machine, made = VirtualMultiGPU(cluster=cluster), set[float]()

    def search() -> None:
        made.add(machine.run(tasks, registry.schedulers.create("search")).makespan)

    (seconds,) = side_by_side(3, search)
    require(len(made) == 1, "the search does not give the same answer every time")
    bound = whole_task_bound(tasks, cluster).makespan
    return [
        Row("search_vs_bound", made.pop(), bound, "s", target=1.01, at_most=True),
        Row("search_seconds", seconds, SECONDS, "s", target=1.0, at_most=True),
    ]
