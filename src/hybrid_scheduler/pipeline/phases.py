"""What a phase is: options it follows from, phases whose results it reads, results it owns, and the work."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.learning.features import task_features
from hybrid_scheduler.learning.forest import Models, with_times
from hybrid_scheduler.learning.predictors import MODEL_TYPES, OfflineTrainer
from hybrid_scheduler.pipeline.config import Options, Profiling
from hybrid_scheduler.profiling.calibration import cluster_of
from hybrid_scheduler.profiling.profile import Profile
from hybrid_scheduler.profiling.profile_file import load_profile, save
from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import NONE, RLAgent
from hybrid_scheduler.studies.online_scheduler import OnlineScheduler, SchedulingDecision
from hybrid_scheduler.workloads.formats import csv as csv_format
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.generator import WorkloadGenerator, statistics
from hybrid_scheduler.workloads.source import Source

PROFILE = "data/profiles/hardware_profile.json"
TRAINING_TRACE = "data/workload_traces/training_workload.csv"
TEST_TRACE = "data/workload_traces/test_workload.csv"
MODEL, FOREST, AGENT = "models/scheduler_model.pkl", "models/forest.model", "models/agent.pth"
RESULTS = "data/results"
DECISIONS, COMPARISON = f"{RESULTS}/scheduling_results.csv", f"{RESULTS}/comparison"
TRAINING_SEED, TEST_SEED = 1000, 2000
"""Added to the seed of the pipeline, so that nobody is judged on tasks that it has learnt from."""
COMMON = ("seed", "machine", "gpus", "mode")
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """What a phase is handed: its options, finished results to read, an empty folder to write to."""

    options: Options
    root: Path
    made: Path
    step: Step = lambda _done, _total: None

    def source(self, place: str) -> Path:
        """Return the path of a result of an earlier phase."""
        return self.root / place

    def target(self, place: str) -> Path:
        """Return the path to which a result is written."""
        path = self.made / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def cluster(self) -> Cluster:
        """The cluster that is simulated."""
        gpus = self.options.gpus
        if self.options.machine == "profile":
            return cluster_of(load_profile(self.source(PROFILE)), gpus)
        return Cluster.default(4 if gpus is None else gpus)


@dataclass(frozen=True)
class Found:
    """What came of a phase in figures: those that follow from the inputs, and those that a clock has told."""

    facts: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Phase:
    """One of the five."""

    name: str
    title: str
    options: tuple[str, ...]  # names of options or sections
    places: tuple[str, ...]  # files and folders that belong to it
    run: Callable[[Work], Found]
    reads: tuple[str, ...] = ()  # results of earlier phases
    brought: Callable[[Options], tuple[str, ...]] = lambda _options: ()  # files of the user that it reads

    def read_by(self, options: Options) -> tuple[str, ...]:
        """Return what is read with these options."""
        profiled = options.machine == "profile" and "machine" in self.options
        return (*self.reads, PROFILE) if profiled else self.reads


def measure_machine(work: Work) -> Found:
    """Write the profile."""
    options = work.options.profiling
    profile = load_profile(options.file) if options.file else _measured(options, work.step)
    save(profile, work.target(PROFILE))
    figures = {
        "cpu": profile.machine.cpu,
        "cores": profile.machine.cores,
        "gpu": profile.gpu.name,
        "gpu_source": profile.gpu.source,
        "cpu_gpu_ratio": profile.cpu_gpu_ratio,
        "gpu_fraction": profile.gpu_fraction,
        "points": len(profile.points),
    }
    return Found(measured=figures)


def _measured(options: Profiling, step: Step) -> Profile:
    with silent():
        profiler = HardwareProfiler(
            options.device,
            quick=options.brief,
            kernels=options.kernels,
            threads=options.threads,
            progress=lambda done, total, _what: step(done, total),
        )
        return profiler.profile_range(options.sizes)


def _brought(options: Options) -> tuple[str, ...]:
    return (options.profiling.file,) if options.profiling.file else ()


PROFILING = Phase("profiling", "hardware profiling", ("profiling",), (PROFILE,), measure_machine, brought=_brought)


LESSON = 50  # tasks between two lessons of `hybrid_ml`


def fit_model(work: Work) -> Found:
    """Write the model alone, for `OnlineScheduler`, and as a start of `hybrid_ml`."""
    options = work.options.training
    trainer = OfflineTrainer(
        options.model,
        mode=work.options.mode,
        cluster=work.cluster,
        n_estimators=options.n_estimators,
        max_depth=options.max_depth,
        random_state=work.options.seed,
    )
    workload = WorkloadGenerator.load(work.source(TRAINING_TRACE))
    found = trainer.run_full_pipeline(workload, work.target(MODEL))
    policy = HybridML()
    policy.use(start_of(trainer, workload.tasks, work.options.seed))
    policy.save(work.target(FOREST))
    return Found({"model": options.model, **found})


def start_of(trainer: OfflineTrainer, tasks: Tasks | None, seed: int) -> Models:
    """Return the trained model with times beside it, as `hybrid_ml` starts from it.

    It counts as so many lessons as the tasks would have given online: the hasty first ones, on a handful of tasks
    each, would only make a good start worse.
    """
    known = Tasks.of(tasks or ())
    times = class_times(known, trainer.cluster)
    runs = rejections(known, times, trainer.cluster) == RAN
    models = with_times(trainer.model, task_features(known)[runs], times[runs], trainer.cluster, seed % 2**32)
    return replace(models, retrains=len(known) // LESSON)


FITTING = Phase(
    "training",
    "offline training",
    (*COMMON, "training"),
    (MODEL, f"{MODEL}.json", FOREST, f"{FOREST}.json"),
    fit_model,
    reads=(TRAINING_TRACE,),
)


DECIDED = ("task_id", "gpu_fraction", "gpu_id", "start", "finish", "energy", "cost")
KNOWN = ("arrival_time", "size", "compute_intensity", "memory_required", "duration_estimate")


def schedule_online(work: Work) -> Found:
    """Write the decisions, then the agent."""
    work.step(0, 2)
    facts = _decide(work)
    work.step(1, 2)
    facts["agent_tasks"] = _pretrain(work)
    return Found(facts)


def _decide(work: Work) -> dict[str, Any]:
    options = work.options
    scheduler = OnlineScheduler(
        MODEL_TYPES[options.training.model].load(work.source(MODEL)),
        cluster=work.cluster,
        mode=options.mode,
        energy_weight=options.scheduling.energy_weight,
    )
    tasks = reader.read(work.source(TEST_TRACE))
    for task in tasks:
        scheduler.submit_task(task)
    decisions = scheduler.process_queue()
    write_decisions(decisions, tasks, work.target(DECISIONS))
    ran = [each for each in decisions if math.isfinite(each.finish)]
    return {
        "tasks": len(decisions),
        "rejected": len(decisions) - len(ran),
        "mean_gpu_fraction": sum(each.gpu_fraction for each in ran) / max(1, len(ran)),
        "makespan": max((each.finish for each in ran), default=0.0),
        "utilization": scheduler.get_utilization()["average_utilization"],
    }


def write_decisions(decisions: Sequence[SchedulingDecision], tasks: Iterable[Task], path: Path) -> None:
    """Write one row per task: what was decided and came of it, then the task; all simulated, to the last bit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*DECIDED, *KNOWN))
        for task, each in zip(tasks, decisions, strict=True):
            decided = [getattr(each, name) for name in DECIDED]
            writer.writerow([*decided, *(getattr(task, name) for name in KNOWN)])


def _pretrain(work: Work) -> int:
    wanted = work.options.scheduling.agent_tasks
    if not wanted:
        return 0
    tasks = reader.read(work.source(TRAINING_TRACE))
    lessons = tasks.part(0, min(wanted, len(tasks)))
    agent = RLAgent(model=NONE, seed=work.options.seed, energy_weight=work.options.scheduling.energy_weight)
    agent.pretrain(lessons, work.cluster, mode=work.options.mode)
    agent.save(work.target(AGENT))
    return len(lessons)


SCHEDULING = Phase(
    "scheduling",
    "online scheduling",
    (*COMMON, "scheduling", "training.model"),
    (DECISIONS, AGENT, f"{AGENT}.json"),
    schedule_online,
    reads=(TRAINING_TRACE, TEST_TRACE, MODEL),
)


def source_of(work: Work, num_tasks: int) -> Source:
    """Return the source of so many tasks of the preset, on the measured machine if that is simulated."""
    options = work.options
    profile = work.source(PROFILE) if options.machine == "profile" else None
    return Source.of(options.workload.preset, num_tasks, None, options.workload.load, profile)


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
        csv_format.write(tasks, work.target(place))
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
