"""Experiments on times that others have measured: unseen OpenCL kernels, and Cholesky on StarPU's machines.

They read files of others in place and run on the machines that the files describe. The times are measured, the queues
are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds import lower_bound
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.experiments import Progress, Study
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.learning.known import Known
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.training import taught
from hybrid_scheduler.workload.tiled import tiled
from hybrid_scheduler.workload.unseen import unseen_kernels

KERNELS, STARPU = "opencl_cpu_gpu_cgo17/opencl_cpu_gpu_times.csv", "starpu_perfmodels"
MACHINES, TILES, SMALLER = ("attila", "idgraf", "mirage"), (8, 16), (1, 2, 4)
POLICIES = ("heft", "peft", "eft", "hybrid_ml", "rl_agent", "greedy")
LOAD, KERNEL_TASKS = 0.9, 2000
PREDICTED, TRUE = "eft on predicted times", "eft on true times"


def kernels(seeds: Iterable[int], data: Path, progress: Progress) -> Study:
    """Let kernels of unseen benchmarks arrive at load 0.9: mean turnaround of those who do not know their times."""
    study = Study("kernels", "offered load", ("mean_turnaround", "over_true", "regret", "p95_turnaround"))
    numbers = list(seeds)
    for done, seed in enumerate(numbers):
        progress(done, len(numbers))
        parted = unseen_kernels(data / KERNELS, seed, KERNEL_TASKS, LOAD)
        found = _unseen(parted.lessons, parted.trials, parted.cluster, seed)
        best = found[TRUE]
        for name, turnaround in found.items():
            study.add(
                name,
                LOAD,
                seed,
                mean_turnaround=float(turnaround.mean()),
                over_true=float(turnaround.mean() / best.mean()),
                regret=float((turnaround - best).mean()),
                p95_turnaround=float(np.percentile(turnaround, 95)),
            )
    return study


def _unseen(lessons: Tasks, trials: Tasks, cluster: Cluster, seed: int) -> dict[str, np.ndarray]:
    """Return turnarounds by policy; all but one are told what the forest predicted before the first task came."""
    learners = {
        "hybrid_ml": "hybrid_ml",
        "hybrid_ml that learns no more": "hybrid_ml:online=false",
        "eft on hybrid_ml's times": "hybrid_ml:rule=earliest",
    }
    policies: dict[str, Scheduler] = {
        name: taught(spec, [lessons], cluster, seed) for name, spec in learners.items()
    } | {name: registry.schedulers.create(name, seed=seed) for name in ("greedy", "round_robin")}
    told = predicted(policies["hybrid_ml"], trials, cluster)
    eft = registry.schedulers.create("eft")
    found = {name: _run(policy, told, cluster).turnaround for name, policy in policies.items()}
    return found | {PREDICTED: _run(eft, told, cluster).turnaround, TRUE: _run(eft, trials, cluster).turnaround}


def predicted(policy: Scheduler, tasks: Tasks, cluster: Cluster) -> Tasks:
    """Return tasks of which policies are told what a taught forest expects, and nothing truer."""
    if not isinstance(policy, HybridML) or policy.learnt is None:
        raise InputError(
            f"scheduler '{policy.name}' has learnt no times: teach hybrid_ml on tasks with features first"
        )
    mean = policy.learnt.predict(Known.of(tasks)).mean
    return replace(tasks, expected={each.name: mean[:, k].copy() for k, each in enumerate(cluster.classes)})


def cholesky(seeds: Iterable[int], data: Path, progress: Progress) -> Study:
    """Tiled Cholesky with measured kernel times; learners have seen smaller ones: makespan over bound."""
    study = Study("cholesky", "machine and tiles", ("makespan_over_bound",))
    cases = [(machine, tiles, seed) for seed in seeds for machine in MACHINES for tiles in TILES]
    for done, (machine, tiles, seed) in enumerate(cases):
        progress(done, len(cases))
        whole = tiled("cholesky", data / STARPU, machine, tiles)
        smaller = [tiled("cholesky", data / STARPU, machine, tiles - less).tasks for less in SMALLER]
        bound = lower_bound(whole.tasks, whole.cluster).makespan
        for spec in POLICIES:
            policy = taught(spec, smaller, whole.cluster, seed)
            makespan = _run(policy, whole.tasks, whole.cluster).makespan
            study.add(spec, f"{machine}, {tiles}", seed, makespan_over_bound=makespan / bound)
    return study


def _run(policy: Scheduler, tasks: Tasks, cluster: Cluster) -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=cluster)).run(tasks)


MEASURED: dict[str, Callable[[Iterable[int], Path, Progress], Study]] = {"kernels": kernels, "cholesky": cholesky}
PLACES = {
    "kernels": "the CPU and the two GPUs of the file",
    "cholesky": f"StarPU's machines {', '.join(MACHINES)}",
}


def run(name: str, seeds: Iterable[int], data: Path | None, progress: Progress = lambda _done, _total: None) -> Study:
    """Run an experiment on a folder of files of others."""
    if data is None or not data.is_dir():
        where = "none was given" if data is None else f"{data} is no folder"
        raise InputError(f"experiment '{name}' reads files of others, and {where}: give their folder with --data")
    return MEASURED[name](seeds, data, progress)
