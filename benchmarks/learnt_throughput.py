"""Throughput on learnt times against the best fixed assignment that the optimiser finds from the measured ones.

Two emulated classes: four types of task that sleep, each as long as its class takes for it. `python -m
benchmarks.learnt_throughput [policies]` lets each policy learn batch by batch and prints what it makes of each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from statistics import median
from typing import NamedTuple

import numpy as np

from hybrid_scheduler import Tasks
from hybrid_scheduler.bounds.optimum import optimum
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.runtime.devices import devices_of
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import made_backend, made_policy
from hybrid_scheduler.runtime.jobs import Job, placements_of
from hybrid_scheduler.runtime.user_tasks import Work

DEVICES = "cpu=emulated:slowdown=1,gpu=emulated:slowdown=1"
TYPES = {"drawing": (2.0, 0.5, 0.9), "sorting": (0.6, 1.2, 0.1), "mixing": (1.0, 0.5, 0.5), "moving": (1.0, 1.0, 0.3)}
"""Milliseconds per unit of size on the two classes, and compute intensity."""


def _work(name: str) -> Work:
    slow, fast, intensity = TYPES[name]
    work = Work(time.sleep, size=lambda size: size, intensity=intensity, name=name)
    work.on("cpu")(lambda size: time.sleep(size * slow / 1000))
    work.on("gpu")(lambda size: time.sleep(size * fast / 1000))
    return work


class Share(NamedTuple):
    """How near a batch came to the best assignment: by the clock, and by the seconds that its tasks ask for.

    The second says how well was decided, however busy the machine is.
    """

    measured: float
    assigned: float


def shares_of_the_best(policy: str, tasks: int, rounds: int, seed: int = 1) -> Generator[Share, None, None]:
    """Return, batch by batch, the throughput as a share of that of the best assignment; the first is for learning."""
    works, draw = [_work(name) for name in TYPES], np.random.default_rng(seed)
    backend = made_backend("local", devices_of(DEVICES))
    dispatcher = Dispatcher(made_policy(policy, backend, seed), backend)
    dispatcher.start()
    try:
        for number in range(rounds):
            drawn = [(works[draw.integers(len(works))], float(draw.uniform(20, 60))) for _ in range(tasks)]
            yield _share(dispatcher, drawn, number * tasks)
    finally:
        backend.close()
        dispatcher.decider.policy.close()


def _share(dispatcher: Dispatcher, drawn: list[tuple[Work, float]], first: int) -> Share:
    """Run a batch that is there at once; return best makespan / makespan."""
    since, decider = dispatcher.now, dispatcher.decider
    jobs = [Job.of(first + row, work, (size,), {}, since, since) for row, (work, size) in enumerate(drawn)]
    for job in jobs:
        dispatcher.submit(job)
    dispatcher.wait()
    placed = placements_of(jobs, decider.cluster, decider.predicted(jobs), since)
    asked = np.array([np.array(TYPES[work.name][:2]) * size / 1000 for work, size in drawn])
    on_gpu = placed.gpu >= 0
    busiest = max(asked[~on_gpu, 0].sum(), asked[on_gpu, 1].sum())
    return Share(_best(placed, placed.times) / placed.makespan, _best(placed, asked) / busiest)


def _best(placed: Placements, seconds: Floats) -> float:
    measured = {each.name: seconds[:, column] for column, each in enumerate(placed.cluster.classes)}
    tasks = placed.tasks
    batch = Tasks.build(tasks.size, tasks.compute_intensity, np.zeros(len(tasks)), measured=measured)
    return optimum(batch, placed.cluster, time_limit=5.0, gap=2e-3).makespan


if __name__ == "__main__":
    for name in sys.argv[1:] or ["eft", "min_min", "sufferage", "hybrid_ml"]:
        found = [share.measured for share in shares_of_the_best(name, 200, 6)]
        print(f"{name}: {', '.join(f'{share:.1%}' for share in found)}; median after two {median(found[2:]):.1%}")
