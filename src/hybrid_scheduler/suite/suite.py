"""Runs a suite: every policy on every instance and seed, cell by cell, in processes with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hybrid_scheduler import registry
from hybrid_scheduler.bounds import lower_bound
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.suite.instances import Instance
from hybrid_scheduler.suite.score import Score, scored
from hybrid_scheduler.suite.scoreboard import Line, Scoreboard
from hybrid_scheduler.training import taught
from hybrid_scheduler.workers import carried_out
from hybrid_scheduler.workload.formats.format import Imported
from hybrid_scheduler.workload.generator import WorkloadGenerator

Progress = Callable[[int, int], None]
LESSONS = 4
"""Most other instances that a learner is taught on before it meets one."""
_KEPT: dict[str, tuple[Imported, Cluster]] = {}  # of this process: the instances it read last


@dataclass(frozen=True)
class Suite:
    """What to run."""

    instances: tuple[Instance, ...]
    policies: tuple[str, ...]
    cluster: Cluster | None = None  # instead of the instances' own
    seeds: tuple[int, ...] = (0,)
    processes: int = 1
    time_limit: float = 120.0  # seconds of one cell

    def __post_init__(self) -> None:
        for spec in self.policies:
            registry.schedulers.create(spec)  # fails here, before any work, if it is unknown
        if not self.policies or not self.seeds:
            raise InputError("a suite needs at least one policy and one seed: name some")


@dataclass(frozen=True)
class _Job:
    """One cell, or without a policy the line of an instance."""

    instance: Instance
    cluster: Cluster | None
    policy: str = ""
    seed: int = 0
    lessons: tuple[Instance, ...] = field(default=())


def run_suite(suite: Suite, progress: Progress | None = None) -> Scoreboard:
    """Run all cells; the order in which they end does not matter to the scoreboard."""
    jobs = list(_jobs(suite))
    results: list[Line | Score | None] = [None] * len(jobs)
    for done, outcome in enumerate(carried_out(_done, jobs, suite.processes, suite.time_limit), start=1):
        job = jobs[outcome.number]
        if outcome.problem and not job.policy:
            raise InputError(f"instance {job.instance.name} cannot be used: {outcome.problem}")
        failed = Score(job.instance.name, job.policy, job.seed, problem=outcome.problem)
        results[outcome.number] = failed if outcome.problem else outcome.value
        if progress:
            progress(done, len(jobs))
    lines = [each for each in results if isinstance(each, Line)]
    scores = [each for each in results if isinstance(each, Score)]
    return Scoreboard(tuple(lines), suite.policies, tuple(scores))


def _jobs(suite: Suite) -> Iterator[_Job]:
    for instance in suite.instances:
        yield _Job(instance, suite.cluster)
        lessons = tuple(_relatives(instance, suite.instances))
        for policy in suite.policies:
            for seed in suite.seeds:
                yield _Job(instance, suite.cluster, policy, seed, lessons)


def _relatives(instance: Instance, everyone: Sequence[Instance]) -> list[Instance]:
    """Return other instances from which a learner may learn for this one: same format, same folder first."""
    others = [each for each in everyone if each.format == instance.format and each != instance]
    return sorted(others, key=lambda each: each.folder != instance.folder)[:LESSONS]


def _done(job: _Job) -> Line | Score:
    imported, cluster = _read(job.instance, job.cluster)
    if not job.policy:
        return _line(job.instance, imported, cluster)
    scheduler = _prepared(job, cluster)
    return scored(job.instance.name, job.policy, job.seed, scheduler, imported.tasks, cluster)


def _read(instance: Instance, cluster: Cluster | None) -> tuple[Imported, Cluster]:
    """Read an instance once for all its cells; the cluster of a suite never changes."""
    if instance.name not in _KEPT:
        if len(_KEPT) > LESSONS:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[instance.name] = instance.read(cluster)
    return _KEPT[instance.name]


def _prepared(job: _Job, cluster: Cluster) -> Scheduler:
    """Return a policy whose loop is compiled, and that has learnt from other instances if it learns."""
    scheduler: Scheduler = registry.schedulers.create(job.policy, seed=job.seed)
    if scheduler.learn_every:
        lessons = [_read(each, job.cluster)[0].tasks for each in job.lessons]
        classes = {each.name for each in cluster.classes}
        usable = [each for each in lessons if not each.measured or classes & set(each.measured)]
        return taught(job.policy, usable, cluster, job.seed)
    warm = WorkloadGenerator(0).generate_preset("mixed", 2)
    Lane(registry.schedulers.create(job.policy, seed=0), VirtualMultiGPU(num_gpus=1)).run(warm)
    return scheduler


def _line(instance: Instance, imported: Imported, cluster: Cluster) -> Line:
    tasks = imported.tasks
    return Line(
        instance.name,
        instance.format,
        len(tasks),
        len(tasks.edges.parents),
        imported.rows,
        dict(imported.skipped),
        cluster.describe(),
        lower_bound(tasks, cluster).makespan,
        instance.best_known,
    )
