"""Throughput on learnt times against the best fixed assignment that the optimiser finds from the measured ones.

Two emulated classes: four types of task that sleep, each as long as its class takes for it. `python -m
benchmarks.learnt_throughput [policies]` lets each policy learn batch by batch and prints the efficiency of each.
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
from hybrid_scheduler.runtime.devices import parse_devices
from hybrid_scheduler.runtime.dispatcher import Dispatcher, build_placements
from hybrid_scheduler.runtime.executor import create_backend, create_policy
from hybrid_scheduler.runtime.jobs import TaskFunction
from hybrid_scheduler.schedulers.learner import is_learner

DEVICES = "cpu=emulated:slowdown=1,gpu=emulated:slowdown=1"
TYPES = {"drawing": (2.0, 0.5, 0.9), "sorting": (0.6, 1.2, 0.1), "mixing": (1.0, 0.5, 0.5), "moving": (1.0, 1.0, 0.3)}
"""Milliseconds per unit of size on the two classes, and compute intensity."""


def _create_task(name: str) -> TaskFunction:
    slow, fast, intensity = TYPES[name]
    function = TaskFunction(time.sleep, size=lambda size: size, intensity=intensity, name=name)
    function.on("cpu")(lambda size: time.sleep(size * slow / 1000))
    function.on("gpu")(lambda size: time.sleep(size * fast / 1000))
    return function


class Efficiency(NamedTuple):
    """Best makespan over that of a batch: by the clock, and by the seconds that its tasks ask for.

    The second shows how good the decisions were, however busy the machine is.
    """

    measured: float
    assigned: float


def run_batches(policy: str, tasks: int, rounds: int, seed: int = 1) -> Generator[Efficiency, None, None]:
    """Run batches of tasks and yield the efficiency of each; the first is for learning."""
    functions, rng = [_create_task(name) for name in TYPES], np.random.default_rng(seed)
    backend = create_backend("local", parse_devices(DEVICES))
    scheduler = create_policy(policy, backend, seed)
    dispatcher = Dispatcher(scheduler, backend)
    dispatcher.start()
    try:
        for number in range(rounds):
            drawn = [(functions[rng.integers(len(functions))], float(rng.uniform(20, 60))) for _ in range(tasks)]
            yield _run_batch(dispatcher, drawn, number * tasks)
    finally:
        backend.close()
        if is_learner(scheduler):
            scheduler.close()


def _run_batch(dispatcher: Dispatcher, drawn: list[tuple[TaskFunction, float]], first: int) -> Efficiency:
    """Run tasks that all arrive at once."""
    since, decider = dispatcher.now, dispatcher.decider
    jobs = [function.create_job(first + row, (size,), {}, since) for row, (function, size) in enumerate(drawn)]
    for job in jobs:
        dispatcher.submit(job)
    dispatcher.wait()
    placed = build_placements(jobs, decider.cluster, decider.predict(jobs), since)
    seconds = np.array([np.array(TYPES[function.name][:2]) * size / 1000 for function, size in drawn])
    on_gpu = placed.gpu >= 0
    busiest = max(seconds[~on_gpu, 0].sum(), seconds[on_gpu, 1].sum())
    return Efficiency(_find_best(placed, placed.times) / placed.makespan, _find_best(placed, seconds) / busiest)


def _find_best(placed: Placements, seconds: Floats) -> float:
    measured = {each.name: seconds[:, column] for column, each in enumerate(placed.cluster.classes)}
    tasks = placed.tasks
    batch = Tasks.build(tasks.size, tasks.compute_intensity, np.zeros(len(tasks)), measured=measured)
    return optimum(batch, placed.cluster, time_limit=5.0, gap=2e-3).makespan


if __name__ == "__main__":
    for name in sys.argv[1:] or ["eft", "min_min", "sufferage", "hybrid_ml"]:
        found = [each.measured for each in run_batches(name, 200, 6)]
        print(f"{name}: {', '.join(f'{share:.1%}' for share in found)}; median after two {median(found[2:]):.1%}")
