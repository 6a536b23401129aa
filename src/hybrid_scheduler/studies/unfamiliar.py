"""Learners on work unlike all they know, against the best simple rule that sees no more than they do.

Each setting has a workload, its cluster and what the learners were taught on before, often the wrong thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from hybrid_scheduler.workloads.composition import select_rows
from hybrid_scheduler.workloads.factorisations import build_factorisation
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.generator import WorkloadGenerator, scale_arrivals
from hybrid_scheduler.workloads.noise import parse_noise

LEARNERS = ("hybrid_ml", "rl_agent", "attention_agent")
BLIND_RULES = ("round_robin", "random", "greedy", "jsq", "work_stealing")
"""Simple rules that know no more of a task than a learner does."""
CLAIRVOYANT = "eft"
STREAM = 0x0F8E  # separates the random numbers drawn here from those of the workloads
KERNEL_TASKS = 2000
JOB_TYPES = 12
MATRICES = tuple(f"u_{times}_{spread}.0" for times in "ic" for spread in ("hihi", "hilo", "lohi", "lolo"))
"""Of Braun et al.: times inconsistent or consistent, tasks and machines that differ much or little."""


class Setting(NamedTuple):
    """Tasks with their cluster, and what learners were taught on before."""

    tasks: Tasks
    cluster: Cluster
    taught: Sequence[Tasks] = ()


class Standing(NamedTuple):
    """How a learner stands: ratios of mean turnarounds and of makespans, above 1 where it is worse."""

    turnaround_over_rule: float
    late_turnaround_over_rule: float  # of the tasks after the first 500; of all where there are no more
    makespan_over_rule: float
    turnaround_over_eft: float


LATE = 500


def judge_learners(setting: Setting, seed: int, learners: Sequence[str] = LEARNERS) -> dict[str, Standing]:
    """Run learners and rules on a setting; each measure is held against the rule that is best in it."""
    rules = [_simulate(name, setting, seed) for name in BLIND_RULES]
    best = np.min([_measure(each) for each in rules], axis=0)
    known = _measure(_simulate(CLAIRVOYANT, setting, seed))[0]
    found = {}
    for name in learners:
        figures = _measure(_simulate(name, setting, seed))
        found[name] = Standing(*map(float, [*(figures / best), figures[0] / known]))
    return found


def _simulate(name: str, setting: Setting, seed: int) -> Placements:
    policy = pretrain_on_workloads(name, setting.taught, setting.cluster, seed)
    return Lane(policy, VirtualMultiGPU(cluster=setting.cluster)).run(setting.tasks)


def _measure(placements: Placements) -> Floats:
    """Return mean turnaround, that of late tasks, and makespan."""
    turnaround = placements.turnaround
    late = turnaround[LATE:] if len(turnaround) > LATE else turnaround
    return np.array([turnaround.mean(), late.mean(), placements.makespan])


# --- settings ------------------------------------------------------------------------------------------------


def load_etc(data: Path, seed: int) -> Setting:
    """Load one of eight matrices of times, of which nothing else is known; learners are taught on its opposite."""
    folder, number = data / "braun_etc", seed % len(MATRICES)
    found = reader.read_all([folder / MATRICES[number]])
    return Setting(found.tasks, _require(found), [reader.read_all([folder / MATRICES[-1 - number]]).tasks])


def build_lu(data: Path, seed: int) -> Setting:
    """Build an LU factorisation with measured kernels; learners are taught on Cholesky."""
    del seed
    folder = data / "starpu_perfmodels"
    whole = build_factorisation("lu", folder, "idgraf", 12)
    other = build_factorisation("cholesky", folder, "idgraf", 8)
    return Setting(whole.tasks, whole.cluster, [other.tasks])


def draw_kernels(data: Path, seed: int) -> Setting:
    """Let measured kernels arrive at load 0.9, with features of their own that no model has seen."""
    found = reader.read_all([data / "opencl_cpu_gpu_cgo17" / "opencl_cpu_gpu_times.csv"])
    cluster = _require(found)
    which, gaps = (np.random.default_rng([seed, STREAM, column]) for column in range(2))
    drawn = select_rows(found.tasks, which.integers(0, len(found.tasks), KERNEL_TASKS))
    arriving = drawn.with_arrival_times(np.cumsum(gaps.exponential(1.0, KERNEL_TASKS)))
    return Setting(scale_arrivals(arriving, cluster, load=0.9), cluster)


def draw_kernels_with_noise(data: Path, seed: int) -> Setting:
    """Replace the features of the kernels by random numbers, which say nothing."""
    setting = draw_kernels(data, seed)
    generator = np.random.default_rng([seed, STREAM, 2])
    noise = {name: generator.normal(size=len(setting.tasks)) for name in setting.tasks.features}
    return setting._replace(tasks=replace(setting.tasks, features=noise))


def draw_job_types(data: Path, seed: int) -> Setting:
    """Draw jobs of a dozen types whose times on two kinds of GPU and a CPU are unrelated to each other."""
    del data
    generator = np.random.default_rng([seed, STREAM, 3])
    classes = {"fast": {"speed": 2.0}, "slow": {"speed": 0.5}}
    cluster = Cluster.from_dict({"classes": classes, "nodes": [{"cpu": 2, "fast": 2, "slow": 4}]})
    kind = generator.integers(0, JOB_TYPES, KERNEL_TASKS)
    seconds = {each.name: generator.lognormal(0.0, 1.0, JOB_TYPES)[kind] for each in cluster.classes}
    alike = np.ones(KERNEL_TASKS)
    tasks = Tasks.build(
        size=alike,
        compute_intensity=0.5 * alike,
        memory_required=alike,
        arrival_time=np.cumsum(generator.exponential(1.0, KERNEL_TASKS)),
        measured=seconds,
        features={"job_type": kind.astype(float)},
    )
    return Setting(scale_arrivals(tasks, cluster, load=0.9), cluster)


def draw_fork_join(data: Path, seed: int) -> Setting:
    """Draw a fork-join graph, a shape that learners have not met."""
    del data
    cluster = Cluster.default()
    return Setting(WorkloadGenerator(seed).generate_preset("fork_join", 1000, load=0.9, cluster=cluster), cluster)


def draw_noisy(data: Path, seed: int) -> Setting:
    """Draw mixed work whose actual times are the expected ones times a log-normal factor of deviation 1."""
    del data
    cluster = Cluster.default()
    tasks = WorkloadGenerator(seed).generate_preset("mixed", 2000, load=0.9, cluster=cluster)
    return Setting(parse_noise("1").apply(tasks, cluster, seed), cluster)


def _require(found: reader.Imported) -> Cluster:
    if found.cluster is None:
        raise InputError("a file of times names no machines: give the folder of data as it was published")
    return found.cluster


Builder = Callable[[Path, int], Setting]
SETTINGS: dict[str, Builder] = {
    "ETC matrix, taught on one relative": load_etc,
    "LU, taught on Cholesky": build_lu,
    "kernels with features of their own": draw_kernels,
    "kernels with features of noise": draw_kernels_with_noise,
    "job types with unrelated times": draw_job_types,
    "fork-join graph": draw_fork_join,
    "noise 1": draw_noisy,
}
"""The settings by their names in the table; each is built from the folder of third-party data and a seed."""
