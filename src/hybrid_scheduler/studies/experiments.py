"""Prepared experiments: questions that take many simulated runs to answer.

An experiment runs over several seeds and returns an `ExperimentResult`: rows of (series, x, seed, measures).
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Ints
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.learning.durations import DurationModel
from hybrid_scheduler.learning.features import FEATURES, FeatureTable, task_features
from hybrid_scheduler.learning.labels import label_isolated
from hybrid_scheduler.learning.predictors import MODEL_TYPES, RandomForestPredictor, create_predictor
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.adversary import find_worst_case
from hybrid_scheduler.studies.compare import (
    Progress,
    TurnaroundCertificate,
    certify_turnaround,
    measure_certified,
    track,
)
from hybrid_scheduler.studies.pretraining import SEED, find_or_train_model, load_or_train, pretrain_on_workloads
from hybrid_scheduler.studies.unfamiliar import LEARNERS, SETTINGS, Standing, judge_learners
from hybrid_scheduler.workloads.composition import select_rows
from hybrid_scheduler.workloads.factorisations import build_factorisation
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.kernels import groups
from hybrid_scheduler.workloads.generator import WorkloadGenerator, scale_arrivals
from hybrid_scheduler.workloads.noise import parse_noise


@dataclass(frozen=True)
class ExperimentResult:
    """The table of an experiment: one row per series, x and seed."""

    name: str
    x_name: str
    measures: tuple[str, ...]  # the first one is plotted
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, series: str, x: float | str, seed: int, **measures: float) -> None:
        """Add one row."""
        self.rows.append({"series": series, "x": x, "seed": seed, **measures})

    @property
    def series(self) -> list[str]:
        """Names of the series in order of appearance."""
        return list(dict.fromkeys(row["series"] for row in self.rows))

    def points(self, series: str, name: str) -> dict[Any, Interval]:
        """Return the mean of a measure with its interval at every x."""
        rows = [row for row in self.rows if row["series"] == series]
        return {
            x: bootstrap([row[name] for row in rows if row["x"] == x])
            for x in dict.fromkeys(row["x"] for row in rows)
        }

    def to_csv(self) -> str:
        """Return all rows as CSV; floats are written so that they read back exactly."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["series", self.x_name, "seed", *self.measures])
        for row in self.rows:
            writer.writerow([row["series"], row["x"], row["seed"], *(repr(row[name]) for name in self.measures)])
        return out.getvalue()


def run_experiment(
    name: str, seeds: Iterable[int], cluster: Cluster, progress: Progress | None = None, data: Path | None = None
) -> ExperimentResult:
    """Run an experiment by name; those on third-party data read the folder `data` and bring their own clusters."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name](seeds, cluster, progress)
    if name not in DATA_EXPERIMENTS:
        raise unknown_name(
            "experiment", name, EXPERIMENTS, f"{', '.join(DATA_EXPERIMENTS)} run on third-party data, with --data"
        )
    if data is None or not data.is_dir():
        where = "none was given" if data is None else f"{data} is no folder"
        raise InputError(f"experiment '{name}' reads third-party data, and {where}: give the folder with --data")
    return DATA_EXPERIMENTS[name](seeds, data, progress)


def _installed(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the policies that this install can run; the table says by itself who took part."""
    return registry.schedulers.leave_out_missing(specs)


# --- on generated workloads ----------------------------------------------------------------------------------


def run_shift(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Train on compute-heavy tasks, then schedule light ones with gigabytes to move: who adapts? (isolated)."""
    result = ExperimentResult("shift", "phase", ("total_time", "mean_time", "over_optimum", "static_over_this"))
    for seed in track(seeds, progress):
        before = _generate("gpu_friendly", 2000, SEED + seed, 0.9, cluster)
        after = _generate("cpu_friendly", 500, seed, 0.9, cluster)
        best = float(best_split_times(class_times(after, cluster), cluster).sum())
        totals = {}
        names = ("static forest", "hybrid_ml", "rl_agent", "eft", "oracle", "greedy", "round_robin", "random")
        for name in _installed(names):
            spec = "hybrid_ml" if name == "static forest" else name
            policy: Scheduler = registry.schedulers.create(spec, seed=seed)
            if is_learner(policy):
                policy.pretrain(before, cluster, "isolated")
            policy.learn_every = 0 if name == "static forest" else policy.learn_every
            totals[name] = float(np.nansum(_simulate(policy, after, cluster, "isolated").execution))
        for name, total in totals.items():
            ratios = {"over_optimum": total / best, "static_over_this": totals["static forest"] / total}
            result.add(name, "after the shift", seed, total_time=total, mean_time=total / len(after), **ratios)
    return result


def run_accuracy(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Compare the forest with the oracle's shares: R² and mean error on unseen tasks, and the time of its splits."""
    result = ExperimentResult("accuracy", "tasks learnt from", ("test_r2", "mae", "execution_over_best"))
    for seed, number in track(product(seeds, (1000, 3000, 10_000)), progress):
        tasks = _generate("mixed", number, SEED + seed, 0.9, cluster)
        unseen = _generate("mixed", 2000, seed, 0.9, cluster)
        forest = RandomForestPredictor(random_state=seed)
        labels = label_isolated(class_times(tasks, cluster), cluster)
        scores = forest.fit(task_features(tasks), labels, cv=0)
        forest.feature_names_ = FEATURES
        policy = HybridML(online=False, energy_weight=0.0)
        policy.set_model(forest)
        best = float(best_split_times(class_times(unseen, cluster), cluster).sum())
        over = float(_simulate(policy, unseen, cluster, "isolated").execution.sum()) / best
        result.add("forest", number, seed, test_r2=scores["test_r2"], mae=scores["mae"], execution_over_best=over)
    return result


def run_models(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Compare types of models of the best GPU share: R² and error on unseen tasks, time to fit, what they learnt."""
    measures = ("test_r2", "train_r2", "mae", "fit_seconds", "share_above_half_below_200_mb", "memory_importance")
    result = ExperimentResult("models", "tasks learnt from", measures)
    for seed, number, model_type in track(product(seeds, (1000, 3000), MODEL_TYPES), progress):
        tasks = _generate("mixed", number, SEED + seed, 0.9, cluster)
        model = create_predictor(model_type, random_state=seed)
        rows, labels = task_features(tasks), label_isolated(class_times(tasks, cluster), cluster)
        begin = time.process_time()
        scores = model.fit(rows, labels, cv=0) | {"fit_seconds": time.process_time() - begin}
        model.feature_names_ = FEATURES
        small = tasks.memory_required < SMALL_MEMORY
        to_gpu = float((model.predict(rows[small]) > 0.5).mean())
        by_memory = sum(value for name, value in model.feature_importance().items() if "memory" in name)
        quality = {name: scores[name] for name in measures[:4]}
        result.add(
            model_type, number, seed, **quality, share_above_half_below_200_mb=to_gpu, memory_importance=by_memory
        )
    return result


SMALL_MEMORY = 200.0
"""MB below which, the guide says, a model learns not to use a GPU."""


def run_isolated(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Follow the online forest where every device is always free: time over the closed form per 1000 tasks."""
    result = ExperimentResult("isolated", "tasks seen", ("execution_over_best",))
    block, count = 1000, 10_000
    for seed in track(seeds, progress):
        tasks = _generate("mixed", count, seed, 0.9, cluster)
        best = best_split_times(class_times(tasks, cluster), cluster)
        for spec in ("hybrid_ml", "oracle", "eft", "greedy"):
            execution = _simulate(registry.schedulers.create(spec, seed=seed), tasks, cluster, "isolated").execution
            for first in range(0, count, block):
                part = slice(first, first + block)
                over = float(execution[part].sum() / best[part].sum())
                result.add(spec, first + block, seed, execution_over_best=over)
    return result


def run_heavy(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Schedule ten thousand tasks at full load: every featured policy, the main measures."""
    measures = ("makespan_over_bound", "mean_turnaround", "p99_turnaround", "energy", "cost")
    result = ExperimentResult("heavy", "load", measures)
    for seed in track(seeds, progress):
        policies = {name: load_or_train(name, cluster, seed) for name in _installed(registry.schedulers.featured)}
        _add_runs(result, policies, 1.0, seed, _generate("heavy", None, seed, 1.0, cluster), cluster)
    return result


def run_load(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Follow turnaround and makespan over bound as the offered load rises from 0.2 to 2."""
    result = ExperimentResult("load", "offered load", ("makespan_over_bound", "mean_turnaround"))
    names = ("hybrid_ml", "rl_agent", "eft", "price", "oracle", "greedy", "round_robin")
    for seed, load in track(product(seeds, (0.2, 0.5, 0.8, 0.96, 1.2, 1.6, 2.0)), progress):
        policies = {name: load_or_train(name, cluster, seed) for name in _installed(names)}
        _add_runs(result, policies, load, seed, _generate("long_tail", 3000, seed, load, cluster), cluster)
    return result


CELLS = (
    ("mixed", 0.5),
    ("mixed", 0.9),
    ("mixed", 2.0),
    ("long_tail", 0.9),
    ("gpu_friendly", 0.9),
    ("cpu_friendly", 0.9),
)
ORDERED = (
    "eft",
    "price",
    "spt",
    "least_increase",
    "srpt_age",
    "heteroprio",
    "hybrid_ml",
    "hybrid_ml:order=fifo",
    "rl_agent",
    "rl_agent:order=fifo",
)
"""Workloads and loads of the experiment on turnaround, and who takes part: learners with and without an order."""
TURNAROUND_TASKS = 2000


def run_turnaround(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Set mean turnaround against its certified bound: queues by arrival, shortest first, with ageing, as learnt."""
    measures = ("turnaround_over_bound", "mean_turnaround", "p99_turnaround", "makespan_over_bound", "energy")
    result = ExperimentResult("turnaround", "workload and load", measures)
    for seed, (preset, load) in track(product(seeds, CELLS), progress):
        policies = {spec: load_or_train(spec, cluster, seed) for spec in _installed(ORDERED)}
        tasks = _generate(preset, TURNAROUND_TASKS, seed, load, cluster)
        _add_runs(result, policies, f"{preset}, {load:g}", seed, tasks, cluster)
    return result


def run_pareto(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Follow time, energy and cost of hybrid_ml as its energy weight goes from 0 to 1."""
    measures = ("makespan_over_bound", "mean_turnaround", "energy", "cost")
    result = ExperimentResult("pareto", "energy weight", measures)
    for seed, weight in track(product(seeds, (0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)), progress):
        policies = {"hybrid_ml": registry.schedulers.create(f"hybrid_ml:energy_weight={weight}", seed=seed)}
        _add_runs(result, policies, weight, seed, _generate("mixed", 3000, seed, 0.7, cluster), cluster)
    return result


def run_learning(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Follow the agent, from scratch and pretrained: makespan over bound per block of 2000 tasks."""
    result = ExperimentResult("learning", "tasks seen", ("makespan_over_bound", "regret"))
    block, blocks = 2000, 10
    for seed in track(seeds, progress):
        agents = {
            "from scratch": registry.schedulers.create("rl_agent", seed=seed),
            "pretrained": load_or_train("rl_agent", cluster, seed),
        }
        for number in range(blocks):
            tasks = _generate("mixed", block, seed * 100 + number, 2.0, cluster)
            bound = lower_bound(tasks, cluster).makespan
            oracle = _simulate(registry.schedulers.create("oracle"), tasks, cluster).turnaround
            for name, agent in agents.items():
                placements = _simulate(agent, tasks, cluster)
                regret = float(np.mean(placements.turnaround - oracle))
                over = placements.makespan / bound
                result.add(name, (number + 1) * block, seed, makespan_over_bound=over, regret=regret)
    return result


def _generate(preset: str, num_tasks: int | None, seed: int, load: float, cluster: Cluster) -> Tasks:
    return WorkloadGenerator(seed).generate_preset(preset, num_tasks, load=load, cluster=cluster)


def _simulate(policy: Scheduler, tasks: Tasks, cluster: Cluster, mode: str = "queued") -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=cluster, mode=mode)).run(tasks)


def _add_runs(
    result: ExperimentResult,
    policies: dict[str, Scheduler],
    x: float | str,
    seed: int,
    tasks: Tasks,
    cluster: Cluster,
) -> None:
    bound = lower_bound(tasks, cluster).makespan
    runs = {name: _simulate(policy, tasks, cluster) for name, policy in policies.items()}
    certificates = dict[str, TurnaroundCertificate]()
    if "turnaround_over_bound" in result.measures:
        certificates = certify_turnaround(tasks, cluster, any(each.split.any() for each in runs.values()))
    for name, placements in runs.items():
        figures = measure_certified(placements, bound, certificates)
        result.add(name, x, seed, **{key: figures[key] for key in result.measures})


UNSEEN_CLUSTERS: dict[str, dict[str, Any]] = {
    "two GPUs": {"nodes": [{"cpu": 1, "gpu": 2}]},
    "sixteen GPUs": {"nodes": [{"cpu": 1, "gpu": 16}]},
    "two classes of CPUs": {"classes": {"old": {"kind": "cpu", "speed": 0.4}}, "nodes": [{"cpu": 2, "old": 4}]},
    "three classes of GPUs": {
        "classes": {"fast": {"speed": 2.5, "memory": 16000}, "slow": {"speed": 0.5, "bandwidth": 4000}},
        "nodes": [{"cpu": 2, "gpu": 2, "fast": 1, "slow": 3}],
    },
    "four small nodes": {"classes": {"gpu": {"memory": 500}}, "nodes": [{"cpu": 1, "gpu": 1, "count": 4}]},
}
UNSEEN_WORK = (
    ("two GPUs", "mixed", 0.9),
    ("two GPUs", "bursty", 0.8),
    ("sixteen GPUs", "mixed", 0.9),
    ("sixteen GPUs", "long_tail", 1.0),
    ("two classes of CPUs", "mixed", 0.9),
    ("three classes of GPUs", "mixed", 0.9),
    ("three classes of GPUs", "pareto", 0.7),
    ("four small nodes", "cpu_friendly", 0.9),
)
ZERO_SHOT = ("attention_agent", "hybrid_ml", "rl_agent", "least_increase", "eft", "greedy")
"""Clusters and work that no model was trained on, and who meets them: `least_increase` and `eft` know the times."""
TRAINED_THERE = "attention_agent trained there"
UNSEEN_TASKS = 500


def run_zero_shot(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Meet clusters that no model was trained on, without training: turnaround against its certified bound."""
    del cluster  # it brings its own
    result = ExperimentResult("zero_shot", "cluster and work", ("turnaround_over_bound", "mean_turnaround"))
    for seed, (name, preset, load) in track(product(seeds, UNSEEN_WORK), progress):
        machine = Cluster.from_dict(UNSEEN_CLUSTERS[name])
        policies = {spec: load_or_train(spec, machine, seed) for spec in _installed(ZERO_SHOT)}
        policies[TRAINED_THERE] = _train_there(machine, seed)
        tasks = _generate(preset, UNSEEN_TASKS, seed, load, machine)
        _add_runs(result, policies, f"{name}: {preset}, {load:g}", seed, tasks, machine)
    return result


def _train_there(cluster: Cluster, seed: int) -> Scheduler:
    """Return the agent after training on a cluster, once for all seeds."""
    agent: Scheduler = registry.schedulers.create("attention_agent", seed=seed)
    if is_learner(agent):
        agent.load(find_or_train_model("attention_agent", cluster))
    return agent


LEARNT, RIVALS, ATTACK_STEPS = ("hybrid_ml", "rl_agent", "attention_agent"), ("eft", "least_increase", "greedy"), 150
NOISES = (0.0, 0.25, 0.5, 1.0, 2.0)
TOLD, BLIND = "least_increase", ("work_stealing", "jsq", "greedy")
"""A rule that is told the estimates and believes them, and rules that see no more than learners do."""
NOISY_TASKS = 600


def run_robustness(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Let times differ ever more from what can be foretold: turnaround of learners over that of simple rules."""
    result = ExperimentResult("robustness", "noise", ("over_blind", "over_told", "mean_turnaround"))
    for seed, noise in track(product(seeds, NOISES), progress):
        tasks = parse_noise(f"{noise:g}").apply(_generate("mixed", NOISY_TASKS, seed, 0.9, cluster), cluster, seed)
        specs = (*_installed(LEARNT), TOLD, *BLIND)
        means = {
            spec: float(_simulate(load_or_train(spec, cluster, seed), tasks, cluster).turnaround.mean())
            for spec in specs
        }
        blind = min(means[spec] for spec in BLIND)
        for spec, mean in means.items():
            ratios = {"over_blind": mean / blind, "over_told": mean / means[TOLD]}
            result.add(spec, noise, seed, **ratios, mean_turnaround=mean)
    return result


def run_adversary(seeds: Iterable[int], cluster: Cluster, progress: Progress | None) -> ExperimentResult:
    """Search twelve tasks on which a learner has the largest mean turnaround against a rule."""
    result = ExperimentResult("adversary", "against", ("ratio",))
    for seed, learner, rival in track(product(seeds, _installed(LEARNT), RIVALS), progress):
        found = find_worst_case(learner, rival, cluster, steps=ATTACK_STEPS, seed=seed)
        result.add(learner, rival, seed, ratio=found.ratio)
    return result


Experiment = Callable[[Iterable[int], Cluster, Progress | None], ExperimentResult]
EXPERIMENTS: dict[str, Experiment] = {
    "accuracy": run_accuracy,
    "models": run_models,
    "isolated": run_isolated,
    "shift": run_shift,
    "heavy": run_heavy,
    "load": run_load,
    "turnaround": run_turnaround,
    "pareto": run_pareto,
    "learning": run_learning,
    "zero_shot": run_zero_shot,
    "adversary": run_adversary,
    "robustness": run_robustness,
}


# --- on third-party data -------------------------------------------------------------------------------------

KERNELS, STARPU = "opencl_cpu_gpu_cgo17/opencl_cpu_gpu_times.csv", "starpu_perfmodels"
MACHINES, TILES, SMALLER = ("attila", "idgraf", "mirage"), (8, 16), (1, 2, 4)
POLICIES = ("heft", "peft", "eft", "hybrid_ml", "rl_agent", "greedy")
LOAD, KERNEL_TASKS = 0.9, 2000
PREDICTED, TRUE = "eft on predicted times", "eft on true times"
STREAM = 0x5EE
SPLIT, TRAIN, TEST = range(3)
"""Streams of random numbers: which kernels are on which side, and what is drawn from each."""


@dataclass(frozen=True)
class KernelSplit:
    """Tasks to train on, tasks of other kernels to test on, and the cluster that both were measured on."""

    train: Tasks
    test: Tasks
    train_rows: Ints  # rows of the file
    test_rows: Ints
    cluster: Cluster


def run_kernels(seeds: Iterable[int], data: Path, progress: Progress | None) -> ExperimentResult:
    """Let kernels of unseen benchmarks arrive at load 0.9: turnaround of policies that do not know their times."""
    result = ExperimentResult("kernels", "offered load", ("mean_turnaround", "over_true", "regret", "p95_turnaround"))
    for seed in track(seeds, progress):
        turnarounds = _schedule_unseen(split_kernels(data / KERNELS, seed, KERNEL_TASKS, LOAD), seed)
        best = turnarounds[TRUE]
        for name, turnaround in turnarounds.items():
            mean, over = float(turnaround.mean()), float(turnaround.mean() / best.mean())
            regret, p95 = float((turnaround - best).mean()), float(np.percentile(turnaround, 95))
            result.add(name, LOAD, seed, mean_turnaround=mean, over_true=over, regret=regret, p95_turnaround=p95)
    return result


def split_kernels(
    path: str | Path, seed: int, count: int = 2000, load: float = 0.9, share: float = 0.5, by: str = "benchmark"
) -> KernelSplit:
    """Split the kernels of a file by benchmark (or `suite`); draw a Poisson stream of tasks from each side."""
    found = reader.read_all([path])
    if found.cluster is None:
        raise InputError(f"{path} names no machines: give a table of kernels with times on a CPU and on GPUs")
    rows, streams = split_groups(groups(path, by), seed, share), list[Tasks]()
    for stream, own in zip((TRAIN, TEST), rows, strict=True):
        which, gaps = (np.random.default_rng([seed, STREAM, stream, column]) for column in range(2))
        drawn = select_rows(found.tasks, own[which.integers(0, len(own), count)])
        arriving = drawn.with_arrival_times(np.cumsum(gaps.exponential(1.0, count)))
        streams.append(scale_arrivals(arriving, found.cluster, load=load))
    return KernelSplit(streams[0], streams[1], *rows, found.cluster)


def split_groups(group: Ints, seed: int, share: float) -> tuple[Ints, Ints]:
    """Split rows so that whole groups are on one side: about a share of the groups, at least one on each side."""
    names = np.unique(group)
    if len(names) < 2 or not 0 < share < 1:
        raise InputError(
            f"{len(names)} kernels cannot be split by {share:g}: two or more, and a share between 0 and 1"
        )
    shuffled = np.random.default_rng([seed, STREAM, SPLIT]).permutation(names)
    cut = min(max(round(share * len(names)), 1), len(names) - 1)
    first = np.isin(group, shuffled[:cut])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _schedule_unseen(split: KernelSplit, seed: int) -> dict[str, np.ndarray]:
    """Return turnarounds by policy; all but one see the forest's predictions instead of the true times."""
    cluster = split.cluster
    learners = {
        "hybrid_ml": "hybrid_ml",
        "hybrid_ml that learns no more": "hybrid_ml:online=false",
        "eft on hybrid_ml's times": "hybrid_ml:rule=earliest",
    }
    policies: dict[str, Scheduler] = {
        name: pretrain_on_workloads(spec, [split.train], cluster, seed) for name, spec in learners.items()
    } | {name: registry.schedulers.create(name, seed=seed) for name in ("greedy", "round_robin")}
    tasks = with_predicted_times(policies["hybrid_ml"], split.test, cluster)
    eft = registry.schedulers.create("eft")
    return {name: _simulate(policy, tasks, cluster).turnaround for name, policy in policies.items()} | {
        PREDICTED: _simulate(eft, tasks, cluster).turnaround,
        TRUE: _simulate(eft, split.test, cluster).turnaround,
    }


def with_predicted_times(policy: Scheduler, tasks: Tasks, cluster: Cluster) -> Tasks:
    """Return tasks whose expected times are the predictions of a trained forest, not the true times."""
    model: DurationModel | None = getattr(policy, "duration_model", None)
    if model is None:
        raise InputError(
            f"scheduler '{policy.name}' has learnt no times: train hybrid_ml on tasks with features first"
        )
    mean = model.predict(FeatureTable.from_tasks(tasks)).mean
    return replace(tasks, expected={each.name: mean[:, k].copy() for k, each in enumerate(cluster.classes)})


def run_cholesky(seeds: Iterable[int], data: Path, progress: Progress | None) -> ExperimentResult:
    """Schedule a tiled Cholesky with measured kernel times; learners were trained on smaller ones."""
    result = ExperimentResult("cholesky", "machine and tiles", ("makespan_over_bound",))
    for seed, machine, tiles in track(product(seeds, MACHINES, TILES), progress):
        whole = build_factorisation("cholesky", data / STARPU, machine, tiles)
        smaller = [build_factorisation("cholesky", data / STARPU, machine, tiles - less).tasks for less in SMALLER]
        bound = lower_bound(whole.tasks, whole.cluster).makespan
        for spec in _installed(POLICIES):
            policy = pretrain_on_workloads(spec, smaller, whole.cluster, seed)
            makespan = _simulate(policy, whole.tasks, whole.cluster).makespan
            result.add(spec, f"{machine}, {tiles}", seed, makespan_over_bound=makespan / bound)
    return result


def run_unfamiliar(seeds: Iterable[int], data: Path, progress: Progress | None) -> ExperimentResult:
    """Hold learners on work unlike all they know against the best simple rule that sees no more than they do."""
    result = ExperimentResult("unfamiliar", "work", Standing._fields)
    for seed, (name, build) in track(product(seeds, SETTINGS.items()), progress):
        for learner, standing in judge_learners(build(data, seed), seed, _installed(LEARNERS)).items():
            result.add(learner, name, seed, **standing._asdict())
    return result


WORKFLOWS = "wf_pegasus_makeflow"
UNTAUGHT = ("attention_agent", "hybrid_ml", "rl_agent", "least_increase", "eft", "greedy", "work_stealing")
UNSEEN_TILES, UNSEEN_KERNELS = 8, 500


def run_zero_shot_real(seeds: Iterable[int], data: Path, progress: Progress | None) -> ExperimentResult:
    """Meet measured kernels and recorded workflows without a lesson: turnaround or makespan over its bound."""
    result = ExperimentResult("zero_shot_real", "work", ("over_bound",))
    for seed in track(seeds, progress):
        for name, tasks, cluster in _draw_real_work(data, seed):
            runs = {
                spec: _simulate(load_or_train(spec, cluster, seed), tasks, cluster) for spec in _installed(UNTAUGHT)
            }
            bound = lower_bound(tasks, cluster).makespan
            splits = any(each.split.any() for each in runs.values())
            certificates = {} if tasks.has_edges else certify_turnaround(tasks, cluster, splits)
            measure = "makespan_over_bound" if tasks.has_edges else "turnaround_over_bound"
            for spec, placements in runs.items():
                result.add(spec, name, seed, over_bound=measure_certified(placements, bound, certificates)[measure])
    return result


def _draw_real_work(data: Path, seed: int) -> Iterable[tuple[str, Tasks, Cluster]]:
    """Yield a stream of measured kernels, factorisations on measured machines, and a workflow of every family."""
    kernels = split_kernels(data / KERNELS, seed, UNSEEN_KERNELS, LOAD)
    yield f"OpenCL kernels, load {LOAD:g} (turnaround)", kernels.test, kernels.cluster
    for machine in MACHINES:
        graph = build_factorisation("cholesky", data / STARPU, machine, UNSEEN_TILES)
        yield f"cholesky of {UNSEEN_TILES} tiles on {machine} (makespan)", graph.tasks, graph.cluster
    for folder in sorted(each for each in (data / WORKFLOWS).iterdir() if each.is_dir()):
        smallest = min(sorted(folder.glob("*.json")), key=lambda path: path.stat().st_size)
        found = reader.read_all([smallest])
        yield f"{smallest.stem} (makespan)", found.tasks, found.cluster or Cluster.default()


DATA_EXPERIMENTS: dict[str, Callable[[Iterable[int], Path, Progress | None], ExperimentResult]] = {
    "kernels": run_kernels,
    "cholesky": run_cholesky,
    "zero_shot_real": run_zero_shot_real,
    "unfamiliar": run_unfamiliar,
}
DATA_CLUSTERS = {
    "kernels": "the CPU and the two GPUs of the file",
    "cholesky": f"StarPU's machines {', '.join(MACHINES)}",
    "zero_shot_real": "the machines on which each was measured",
    "unfamiliar": "the machines of each workload",
}
"""What experiments on third-party data run on, in words."""
