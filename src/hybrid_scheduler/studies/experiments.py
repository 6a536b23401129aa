"""Experiments: questions that take many runs to answer, each with seeds, intervals, a table and a picture.

An experiment returns a `Study`: rows of (series, x, seed, measures). Everything is simulated.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import Interval, bootstrap, measure
from hybrid_scheduler.core.physics import class_times, fastest
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Ints, Tasks
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.learning.features import FEATURES, Known, task_features
from hybrid_scheduler.learning.labels import isolated_labels
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import LESSON_SEED, ready, taught
from hybrid_scheduler.workloads.composition import drawn
from hybrid_scheduler.workloads.factorisations.workload import tiled
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.kernels import groups
from hybrid_scheduler.workloads.generator import WorkloadGenerator, paced

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Study:
    """What an experiment found: one row per series, x and seed."""

    name: str
    x_name: str
    measures: tuple[str, ...]  # the first one is drawn
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, series: str, x: float | str, seed: int, **figures: float) -> None:
        """Add one run."""
        self.rows.append({"series": series, "x": x, "seed": seed, **figures})

    @property
    def series(self) -> list[str]:
        """Names of the series, in the order in which they came."""
        return list(dict.fromkeys(row["series"] for row in self.rows))

    def points(self, series: str, name: str) -> dict[Any, Interval]:
        """Return the interval of a measure at every x."""
        chosen = [row for row in self.rows if row["series"] == series]
        places = dict.fromkeys(row["x"] for row in chosen)
        return {x: bootstrap([row[name] for row in chosen if row["x"] == x]) for x in places}

    def to_csv(self) -> str:
        """Return all rows as CSV, floats to the last bit."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["series", self.x_name, "seed", *self.measures])
        for row in self.rows:
            writer.writerow([row["series"], row["x"], row["seed"], *(repr(row[name]) for name in self.measures)])
        return out.getvalue()


def _lane(policy: Scheduler, tasks: Tasks, cluster: Cluster, mode: str = "queued") -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=cluster, mode=mode)).run(tasks)


def shift(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Train on compute-heavy tasks, then meet light ones with gigabytes to move: who adapts? (isolated)."""
    study = Study("shift", "phase", ("total_time", "over_optimum", "static_over_this"))
    numbers = list(seeds)
    for done, seed in enumerate(numbers):
        progress(done, len(numbers))
        before = _preset("gpu_friendly", 2000, LESSON_SEED + seed, 0.9, cluster)
        after = _preset("cpu_friendly", 500, seed, 0.9, cluster)
        best = float(fastest(class_times(after, cluster), cluster).sum())
        totals = {}
        for name in ("static forest", "hybrid_ml", "rl_agent", "eft", "oracle", "greedy", "round_robin"):
            policy = _taught({"static forest": "hybrid_ml"}.get(name, name), before, cluster, seed)
            policy.learn_every = 0 if name == "static forest" else policy.learn_every
            totals[name] = float(np.nansum(_lane(policy, after, cluster, "isolated").execution))
        for name, total in totals.items():
            figures = {"over_optimum": total / best, "static_over_this": totals["static forest"] / total}
            study.add(name, "after the shift", seed, total_time=total, **figures)
    return study


def _taught(spec: str, tasks: Tasks, cluster: Cluster, seed: int) -> Scheduler:
    """Return a policy that has seen these tasks, isolated, and nothing else."""
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if isinstance(policy, RLAgent):
        policy.pretrain(tasks, cluster, mode="isolated")
    elif policy.learn_every:
        _lane(policy, tasks, cluster, "isolated")
    return policy


def _preset(name: str, num_tasks: int | None, seed: int, load: float, cluster: Cluster) -> Tasks:
    return WorkloadGenerator(seed).generate_preset(name, num_tasks, load=load, cluster=cluster)


def accuracy(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Judge the forest on the oracle's shares: R² and mean error on unseen tasks, and the time of its splits."""
    study = Study("accuracy", "tasks learnt from", ("test_r2", "mae", "execution_over_best"))
    cases = [(seed, number) for seed in seeds for number in (1000, 3000, 10_000)]
    for done, (seed, number) in enumerate(cases):
        progress(done, len(cases))
        tasks, unseen = (_preset("mixed", count, where, 0.9, cluster) for count, where in (
            (number, LESSON_SEED + seed), (2000, seed)))  # fmt: skip
        forest = RandomForestPredictor(random_state=seed)
        labels = isolated_labels(class_times(tasks, cluster), cluster)
        figures = forest.fit(task_features(tasks), labels, cv=0)
        forest.feature_names_ = FEATURES
        policy = HybridML(online=False, energy_weight=0.0)
        policy.use(forest)
        best = float(fastest(class_times(unseen, cluster), cluster).sum())
        over = float(_lane(policy, unseen, cluster, "isolated").execution.sum()) / best
        study.add("forest", number, seed, test_r2=figures["test_r2"], mae=figures["mae"], execution_over_best=over)
    return study


def isolated(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Follow the online forest where every device is always free: time over the closed form, stretch by stretch."""
    study = Study("isolated", "tasks seen", ("execution_over_best",))
    numbers, stretch, count = list(seeds), 1000, 10_000
    for done, seed in enumerate(numbers):
        progress(done, len(numbers))
        tasks = _preset("mixed", count, seed, 0.9, cluster)
        best = fastest(class_times(tasks, cluster), cluster)
        for spec in ("hybrid_ml", "oracle", "eft", "greedy"):
            execution = _lane(registry.schedulers.create(spec, seed=seed), tasks, cluster, "isolated").execution
            for first in range(0, count, stretch):
                part = slice(first, first + stretch)
                over = float(execution[part].sum() / best[part].sum())
                study.add(spec, first + stretch, seed, execution_over_best=over)
    return study


def heavy(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Ten thousand tasks at full load: every policy, every measure."""
    study = Study("heavy", "load", ("makespan_over_bound", "mean_turnaround", "p99_turnaround", "energy", "cost"))
    _sweep(study, "heavy", tuple(registry.schedulers.featured), (1.0,), None, seeds, cluster, progress)
    return study


def load(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Turnaround and makespan over bound as the offered load rises from 0.2 to 2."""
    study = Study("load", "offered load", ("makespan_over_bound", "mean_turnaround"))
    names = ("hybrid_ml", "rl_agent", "eft", "price", "oracle", "greedy", "round_robin")
    _sweep(study, "long_tail", names, (0.2, 0.5, 0.8, 0.96, 1.2, 1.6, 2.0), 3000, seeds, cluster, progress)
    return study


def _sweep(
    study: Study,
    preset: str,
    names: tuple[str, ...],
    loads: tuple[float, ...],
    num_tasks: int | None,
    seeds: Iterable[int],
    cluster: Cluster,
    progress: Progress,
) -> None:
    cases = [(seed, each) for seed in seeds for each in loads]
    for done, (seed, offered) in enumerate(cases):
        progress(done, len(cases))
        tasks = _preset(preset, num_tasks, seed, offered, cluster)
        bound = lower_bound(tasks, cluster).makespan
        for name in names:
            figures = measure(_lane(ready(name, cluster, seed), tasks, cluster), bound)
            study.add(name, offered, seed, **{key: figures[key] for key in study.measures})


def pareto(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Time, energy and cost of hybrid_ml as its energy weight goes from 0 to 1."""
    study = Study("pareto", "energy weight", ("makespan_over_bound", "mean_turnaround", "energy", "cost"))
    weights = (0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    cases = [(seed, weight) for seed in seeds for weight in weights]
    for done, (seed, weight) in enumerate(cases):
        progress(done, len(cases))
        tasks = _preset("mixed", 3000, seed, 0.7, cluster)
        policy = registry.schedulers.create(f"hybrid_ml:energy_weight={weight}", seed=seed)
        figures = measure(_lane(policy, tasks, cluster), lower_bound(tasks, cluster).makespan)
        study.add("hybrid_ml", weight, seed, **{key: figures[key] for key in study.measures})
    return study


def learning(seeds: Iterable[int], cluster: Cluster, progress: Progress) -> Study:
    """Follow the agent, from scratch and pretrained: makespan over bound of each stretch of 2000 tasks."""
    study = Study("learning", "tasks seen", ("makespan_over_bound", "regret"))
    stretch, stretches = 2000, 10
    numbers = list(seeds)
    for done, seed in enumerate(numbers):
        progress(done, len(numbers))
        agents = {"from scratch": RLAgent(seed=seed), "pretrained": ready("rl_agent", cluster, seed)}
        for part in range(stretches):
            tasks = _preset("mixed", stretch, seed * 100 + part, 2.0, cluster)
            bound = lower_bound(tasks, cluster).makespan
            oracle = _lane(registry.schedulers.create("oracle"), tasks, cluster).turnaround
            for name, agent in agents.items():
                placements = _lane(agent, tasks, cluster)
                regret = float(np.mean(placements.turnaround - oracle))
                over = placements.makespan / bound
                study.add(name, (part + 1) * stretch, seed, makespan_over_bound=over, regret=regret)
    return study


EXPERIMENTS: dict[str, Callable[[Iterable[int], Cluster, Progress], Study]] = {
    "accuracy": accuracy,
    "isolated": isolated,
    "shift": shift,
    "heavy": heavy,
    "load": load,
    "pareto": pareto,
    "learning": learning,
}


def run(name: str, seeds: Iterable[int], cluster: Cluster, progress: Progress = lambda _done, _total: None) -> Study:
    """Run an experiment by name."""
    if name not in EXPERIMENTS:
        raise unknown_name(
            "experiment", name, EXPERIMENTS, "kernels and cholesky run on files of others, with --data"
        )
    return EXPERIMENTS[name](seeds, cluster, progress)


STREAM = 0x5EE
SHARES, LESSONS, TRIALS = range(3)
"""Streams of random numbers: who stands on which side, and what is drawn there."""


@dataclass(frozen=True)
class Unseen:
    """A workload to learn from, one of other kernels to be tried on, and the machines that both were measured on."""

    lessons: Tasks
    trials: Tasks
    lesson_rows: Ints  # rows of the file on each side
    trial_rows: Ints
    cluster: Cluster


def unseen_kernels(
    path: str | Path, seed: int, count: int = 2000, load: float = 0.9, share: float = 0.5, by: str = "benchmark"
) -> Unseen:
    """Part the kernels of a file by benchmark (or `suite`); draw tasks of each side as a Poisson stream at a load."""
    found = reader.read_all([path])
    if found.cluster is None:
        raise InputError(f"{path} names no machines: give a table of kernels with times on a CPU and on GPUs")
    learnt, tried = parted(groups(path, by), seed, share)
    lessons, trials = (
        _stream(found.tasks, rows, seed, number, count, load, found.cluster)
        for rows, number in ((learnt, LESSONS), (tried, TRIALS))
    )
    return Unseen(lessons, trials, learnt, tried, found.cluster)


def parted(group: Ints, seed: int, share: float) -> tuple[Ints, Ints]:
    """Part rows so that whole groups stand on one side: about a share of the groups, at least one on each side."""
    names = np.unique(group)
    if len(names) < 2 or not 0 < share < 1:
        raise InputError(
            f"{len(names)} kernels cannot be parted by {share:g}: two or more, and a share between 0 and 1"
        )
    shuffled = np.random.default_rng([seed, STREAM, SHARES]).permutation(names)
    cut = min(max(round(share * len(names)), 1), len(names) - 1)
    first = np.isin(group, shuffled[:cut])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _stream(tasks: Tasks, among: Ints, seed: int, number: int, count: int, load: float, cluster: Cluster) -> Tasks:
    which, gaps = (np.random.default_rng([seed, STREAM, number, column]) for column in range(2))
    taken = drawn(tasks, among[which.integers(0, len(among), count)])
    return paced(taken.arriving_at(np.cumsum(gaps.exponential(1.0, count))), cluster, load=load)


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


def run_measured(
    name: str, seeds: Iterable[int], data: Path | None, progress: Progress = lambda _done, _total: None
) -> Study:
    """Run an experiment on a folder of files of others."""
    if data is None or not data.is_dir():
        where = "none was given" if data is None else f"{data} is no folder"
        raise InputError(f"experiment '{name}' reads files of others, and {where}: give their folder with --data")
    return MEASURED[name](seeds, data, progress)
