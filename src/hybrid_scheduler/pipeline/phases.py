"""Phases 1 to 4 of the pipeline: profile this machine, generate tasks, train a model, schedule online.

A phase names the options that its results depend on, the results of earlier phases that it reads, the files that it
writes, and the function that does the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import task_features
from hybrid_scheduler.learning.forest import ForestModels, add_duration_forest
from hybrid_scheduler.learning.predictors import MODEL_TYPES, OfflineTrainer
from hybrid_scheduler.pipeline.config import Options, Profiling
from hybrid_scheduler.profiling.calibration import build_cluster
from hybrid_scheduler.profiling.profile import Profile
from hybrid_scheduler.profiling.profile_file import load_profile, save_profile
from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.studies.compare import Progress, track
from hybrid_scheduler.studies.online_scheduler import OnlineScheduler, SchedulingDecision
from hybrid_scheduler.studies.results import to_csv
from hybrid_scheduler.workloads.formats import csv as csv_format
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.source import Source
from hybrid_scheduler.workloads.statistics import summarise

PROFILE = "data/profiles/hardware_profile.json"
TRAINING_TRACE = "data/workload_traces/training_workload.csv"
TEST_TRACE = "data/workload_traces/test_workload.csv"
MODEL, FOREST, AGENT = "models/scheduler_model.pkl", "models/forest.model", "models/agent.pth"
RESULTS = "data/results"
DECISIONS, COMPARISON = f"{RESULTS}/scheduling_results.csv", f"{RESULTS}/comparison"
TRAINING_SEED, TEST_SEED = 1000, 2000
"""Added to the seed of the pipeline, so that no policy is judged on tasks that it was trained on."""
LEAST_TRACE = 100  # tasks of the user's own
RETRAIN_INTERVAL = 50  # tasks between two retrainings of `hybrid_ml`
COMMON = ("seed", "machine", "gpus", "mode")
TASK_COLUMNS = ("arrival_time", "size", "compute_intensity", "memory_required", "duration_estimate")
"""What the table of decisions says of each task, besides its decision and its simulated placement."""


@dataclass(frozen=True)
class PhaseContext:
    """What a phase gets: its options, results of earlier phases to read, and an empty folder to write to."""

    options: Options
    root: Path  # with the results of earlier phases
    scratch: Path
    progress: Progress = lambda _done, _total: None

    def output_path(self, place: str) -> Path:
        """Return the path to which a result is written."""
        path = self.scratch / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def cluster(self) -> Cluster:
        """The cluster that is simulated."""
        gpus, trace = self.options.gpus, self.options.workload.trace
        if self.options.machine == "profile":
            return build_cluster(load_profile(self.root / PROFILE), gpus)
        if trace is not None and gpus is None and (own := Source.of(trace).cluster()):
            return own
        return Cluster.default(4 if gpus is None else gpus)


@dataclass(frozen=True)
class PhaseOutput:
    """Figures of a phase: `facts` follow from its inputs, `measured` depends on the machine and the clock."""

    facts: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Phase:
    """One of the five."""

    name: str
    title: str
    options: tuple[str, ...]  # names of options or sections that the results depend on
    outputs: tuple[str, ...]  # files and folders that it writes
    run: Callable[[PhaseContext], PhaseOutput]
    inputs: tuple[str, ...] = ()  # results of earlier phases
    user_files: Callable[[Options], tuple[str, ...]] = lambda _options: ()  # files of the user that it reads
    replaceable: bool = False  # whether its files are tasks, in whose place the user may put others


# --- 1: profile ----------------------------------------------------------------------------------------------


def profile_machine(context: PhaseContext) -> PhaseOutput:
    """Measure this machine, or take the profile that the user brought."""
    options = context.options.profiling
    profile = load_profile(options.file) if options.file else _measure(options, context.progress)
    save_profile(profile, context.output_path(PROFILE))
    return PhaseOutput(
        measured={
            "cpu": profile.machine.cpu,
            "cores": profile.machine.cores,
            "gpu": profile.gpu.name,
            "gpu_source": profile.gpu.source,
            "cpu_gpu_ratio": profile.cpu_gpu_ratio,
            "gpu_fraction": profile.gpu_fraction,
            "points": len(profile.points),
        }
    )


def _measure(options: Profiling, progress: Progress) -> Profile:
    with silent():
        profiler = HardwareProfiler(
            options.device,
            quick=options.brief,
            kernels=options.kernels,
            threads=options.threads,
            progress=lambda done, total, _what: progress(done, total),
        )
        return profiler.profile_range(options.sizes)


PROFILE_PHASE = Phase(
    "profiling",
    "hardware profiling",
    ("profiling",),
    (PROFILE,),
    profile_machine,
    user_files=lambda options: (options.profiling.file,) if options.profiling.file else (),
)


# --- 2: generate ---------------------------------------------------------------------------------------------


def generate_workloads(context: PhaseContext) -> PhaseOutput:
    """Write the tasks to train on and the tasks to schedule."""
    options = context.options
    facts = {}
    if options.workload.trace is not None:
        for place, tasks in split_trace(context, options.workload.trace).items():
            csv_format.write(tasks, context.output_path(place))
            facts[place] = summarise(tasks)
        return PhaseOutput(facts)
    traces = {
        TRAINING_TRACE: (options.workload.num_tasks, TRAINING_SEED),
        TEST_TRACE: (options.workload.test_tasks, TEST_SEED),
    }
    for place, (count, offset) in track(traces.items(), context.progress):
        tasks = build_source(context, count).tasks(options.seed + offset, context.cluster)
        csv_format.write(tasks, context.output_path(place))
        facts[place] = summarise(tasks)
    return PhaseOutput(facts)


def split_trace(context: PhaseContext, trace: str) -> dict[str, Tasks]:
    """Return the user's tasks to train on and those to judge by: the last fifth, `test_tasks` at most."""
    options = context.options.workload
    tasks = Source.of(trace).tasks(context.options.seed, context.cluster)
    if len(tasks) < LEAST_TRACE:
        raise InputError(
            f"{trace} holds {len(tasks)} tasks, too few to train and judge by: give {LEAST_TRACE} or more"
        )
    cut = len(tasks) - min(options.test_tasks, len(tasks) // 5)
    test = tasks.part(cut, len(tasks))
    return {
        TRAINING_TRACE: tasks.part(max(0, cut - options.num_tasks), cut),
        TEST_TRACE: test.with_arrival_times(test.arrival_time - test.arrival_time[0]),
    }


def build_source(context: PhaseContext, num_tasks: int) -> Source:
    """Return the source of tasks of the preset, on the profiled machine if that is simulated; or the user's own."""
    options = context.options
    if options.workload.trace is not None:
        return Source.of(str(context.root / TEST_TRACE))
    profile = context.root / PROFILE if options.machine == "profile" else None
    return Source.of(options.workload.preset, num_tasks, None, options.workload.load, profile)


GENERATE_PHASE = Phase(
    "workload",
    "workload generation",
    (*COMMON, "workload"),
    (TRAINING_TRACE, TEST_TRACE),
    generate_workloads,
    user_files=lambda options: (options.workload.trace,) if options.workload.trace else (),
    replaceable=True,
)


# --- 3: train ------------------------------------------------------------------------------------------------


def train_model(context: PhaseContext) -> PhaseOutput:
    """Train the model; write it alone, for `OnlineScheduler`, and as the start of `hybrid_ml`."""
    options = context.options.training
    trainer = OfflineTrainer(
        options.model,
        mode=context.options.mode,
        cluster=context.cluster,
        n_estimators=options.n_estimators,
        max_depth=options.max_depth,
        random_state=context.options.seed,
    )
    workload = WorkloadGenerator.load(context.root / TRAINING_TRACE)
    metrics = trainer.run_full_pipeline(workload, context.output_path(MODEL))
    policy = HybridML()
    policy.set_model(_build_start(trainer, workload.tasks, context.options.seed))
    policy.save(context.output_path(FOREST))
    return PhaseOutput({"model": options.model, **metrics})


def _build_start(trainer: OfflineTrainer, tasks: Tasks | None, seed: int) -> ForestModels:
    """Return the trained model with a forest of durations, as `hybrid_ml` starts from it.

    It counts as if it had been retrained online on these tasks: the first retrainings use few tasks, and would make a
    good start worse.
    """
    known = Tasks.from_iterable(tasks or ())
    times = class_times(known, trainer.cluster)
    runs = rejections(known, times, trainer.cluster) == RAN
    models = add_duration_forest(
        trainer.model, task_features(known)[runs], times[runs], trainer.cluster, seed % 2**32
    )
    return replace(models, retrains=len(known) // RETRAIN_INTERVAL)


TRAIN_PHASE = Phase(
    "training",
    "offline training",
    (*COMMON, "training"),
    (MODEL, f"{MODEL}.json", FOREST, f"{FOREST}.json"),
    train_model,
    inputs=(TRAINING_TRACE,),
)


# --- 4: schedule ---------------------------------------------------------------------------------------------


def schedule_online(context: PhaseContext) -> PhaseOutput:
    """Schedule the test tasks with the model, then pretrain the agent."""
    context.progress(0, 2)
    facts = _schedule_tasks(context)
    context.progress(1, 2)
    return PhaseOutput({**facts, "agent_tasks": _pretrain_agent(context)})


def _schedule_tasks(context: PhaseContext) -> dict[str, Any]:
    options = context.options
    scheduler = OnlineScheduler(
        MODEL_TYPES[options.training.model].load(context.root / MODEL),
        cluster=context.cluster,
        mode=options.mode,
        energy_weight=options.scheduling.energy_weight,
    )
    tasks = reader.read(context.root / TEST_TRACE)
    for task in tasks:
        scheduler.submit_task(task)
    decisions = scheduler.process_queue()
    header = (*(each.name for each in fields(SchedulingDecision)), *TASK_COLUMNS)
    rows = [
        (*astuple(each), *(getattr(task, name) for name in TASK_COLUMNS))
        for task, each in zip(tasks, decisions, strict=True)
    ]
    context.output_path(DECISIONS).write_text(to_csv(header, rows), encoding="utf-8")
    ran = [each for each in decisions if math.isfinite(each.finish)]
    return {
        "tasks": len(decisions),
        "rejected": len(decisions) - len(ran),
        "mean_gpu_fraction": sum(each.gpu_fraction for each in ran) / max(1, len(ran)),
        "makespan": max((each.finish for each in ran), default=0.0),
        "utilization": scheduler.get_utilization()["average_utilization"],
    }


def _pretrain_agent(context: PhaseContext) -> int:
    wanted = context.options.scheduling.agent_tasks
    if not wanted:
        return 0
    from hybrid_scheduler.schedulers.rl_agent import NONE, RLAgent  # needs torch

    tasks = reader.read(context.root / TRAINING_TRACE)
    first = tasks.part(0, min(wanted, len(tasks)))
    agent = RLAgent(model=NONE, seed=context.options.seed, energy_weight=context.options.scheduling.energy_weight)
    agent.pretrain(first, context.cluster, mode=context.options.mode)
    agent.save(context.output_path(AGENT))
    return len(first)


SCHEDULE_PHASE = Phase(
    "scheduling",
    "online scheduling",
    (*COMMON, "scheduling", "training.model"),
    (DECISIONS, AGENT, f"{AGENT}.json"),
    schedule_online,
    inputs=(TRAINING_TRACE, TEST_TRACE, MODEL),
)
