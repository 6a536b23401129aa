"""Runs: their summaries in lists, their figures with intervals, and comparisons of several runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import orjson

from hybrid_scheduler.core.metrics import MEASURES, Measure, bootstrap, bootstrap_paired, bootstrap_unpaired
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.jobs import experiment_state
from hybrid_scheduler.server.lifecycle import is_measured
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import runs as schemas
from hybrid_scheduler.storage.batch_means import BatchMeans, BatchPlan
from hybrid_scheduler.storage.store import COMPARISON, Run

CERTIFIED = "turnaround_over_bound"  # not of every run: it takes long for many tasks, and older runs have none
SHOWN: dict[str, Measure] = {
    **{name: MEASURES[name] for name in ("mean_turnaround", "p95_turnaround", "mean_execution")},
    "energy_per_task": Measure("J", "energy / tasks that ran; of a comparison idle devices included"),
    "cost_per_task": Measure("$", "price of the busy seconds / tasks that ran"),
    **{name: MEASURES[name] for name in ("makespan", "makespan_over_bound", CERTIFIED)},
    "decision_seconds": Measure("s", "wall time of a decision on the machine that ran it"),
}
BATCHED = ("mean_turnaround", "p95_turnaround", "mean_execution", "energy_per_task", "cost_per_task")
MEANS_CACHE_SECONDS = 600.0  # batch means of the same tasks do not change
NAN = float("nan")
Values = dict[str, dict[str, list[float]]]  # by scheduler and measure, one for each seed or batch


async def summarize_runs(manager: RaceManager, runs: list[Run]) -> list[schemas.RunLine]:
    """Return runs as lines of a list, from settings and summaries only."""
    last_tasks = await manager.store.last_tasks([run.id for run in runs])
    return [schemas.RunLine(**asdict(run) | describe_run(manager, run, last_tasks.get(run.id))) for run in runs]


def describe_run(manager: RaceManager, run: Run, last_task: int | None) -> dict[str, Any]:
    """Return the fields of a line that are no columns of a run."""
    tasks = None if last_task is None else last_task + 1
    return {
        **_describe_workload(run),
        "current": run.id == manager.run_id,
        "measured": is_measured(run),
        "schedulers": run.settings.get("schedulers", []),
        "tasks": (run.summary or {}).get("tasks") if run.kind == COMPARISON else tasks,
        "duration": max(((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds(), 0.0),
        "headline": _find_headline(manager, run),
    }


def _describe_workload(run: Run) -> dict[str, Any]:
    """Return the workload that a run began with."""
    name = str(run.settings.get("workload" if run.kind == COMPARISON else "preset", ""))
    return {"workload": name, **{key: run.settings.get(key) for key in ("load", "rate", "num_gpus")}}


def _find_headline(manager: RaceManager, run: Run) -> schemas.Headline | None:
    """Return the best scheduler; None if it is not known yet."""
    if run.kind == COMPARISON:
        best = (run.summary or {}).get("headline")
        return schemas.Headline(**best) if best else None
    means = {each["name"]: each["mean_turnaround"] for each in _scheduler_figures(manager, run) if each["tasks"]}
    finite = {name: mean for name, mean in means.items() if mean is not None and math.isfinite(mean)}
    name = min(finite, key=finite.__getitem__, default=None)
    return None if name is None else schemas.Headline(scheduler=name, mean_turnaround=finite[name])


def _scheduler_figures(manager: RaceManager, run: Run) -> list[dict[str, Any]]:
    """Return the present figures of the schedulers of a live run, or those at its end; empty if unknown."""
    snapshot = manager.snapshot()
    if run.status == "running" and run.id == manager.run_id and snapshot is not None:
        return [asdict(each) for each in snapshot.schedulers]
    figures: list[dict[str, Any]] = (run.summary or {}).get("snapshot", {}).get("schedulers", [])
    return figures


@dataclass(frozen=True)
class Sample:
    """The values that the estimates of a run are made of, and the identity of its seeds for pairing."""

    run: Run
    values: Values
    tasks: int
    method: schemas.Method
    explanation: str
    seeds: tuple[tuple[int, str], ...] = ()  # each with the digest of its tasks; empty: a live run


async def collect_sample(manager: RaceManager, run: Run) -> Sample:
    """Return the values of a run; 409 if there are none yet."""
    if run.kind != COMPARISON:
        return await _sample_batches(manager, run)
    if not run.summary:
        raise ConflictError(f"experiment {run.id} is {experiment_state(run)}: it has figures when it has finished")
    seeds = run.summary["seeds"]
    certified = all(seed["measures"][name].get(CERTIFIED) for seed in seeds for name in run.settings["schedulers"])
    shown = [measure for measure in SHOWN if certified or measure != CERTIFIED]
    values: Values = {
        name: {measure: [_read_measure(seed, name, measure) for seed in seeds] for measure in shown}
        for name in run.settings["schedulers"]
    }
    count = len(seeds)
    text = "one seed, so there is no interval" if count < 2 else f"95 % bootstrap intervals over {count} seeds"
    digests = tuple((seed["seed"], seed["digest"]) for seed in seeds)
    return Sample(run, values, seeds[0]["tasks"], "seeds", text, digests)


def _read_measure(seed: dict[str, Any], scheduler: str, measure: str) -> float:
    measures = seed["measures"][scheduler]
    if measure == "decision_seconds":
        return float(seed["decision_seconds"][scheduler])
    if measure.endswith("_per_task"):
        ran = seed["tasks"] - measures["rejected"]
        return _to_float(measures[measure.removesuffix("_per_task")]) / ran if ran else NAN
    return _to_float(measures[measure])


def _to_float(value: float | None) -> float:
    return NAN if value is None else float(value)


async def _sample_batches(manager: RaceManager, run: Run) -> Sample:
    found = await _load_batch_means(manager, run)
    if found is None:
        raise ConflictError(f"run {run.id} has no stored results yet: wait for its first tasks")
    plan, means = found
    warm_up = 1 if plan.batches > 2 else 0
    values: Values = {}
    for each in means:
        if each.batch >= warm_up:
            own = values.setdefault(each.scheduler, {measure: [] for measure in BATCHED})
            for measure in BATCHED:
                own[measure].append(float(getattr(each, measure)))
    for figures in _scheduler_figures(manager, run):
        if figures["name"] in values:  # a live run has one value of each of these
            values[figures["name"]] |= {
                "makespan": [_to_float(figures["makespan"])],
                "makespan_over_bound": [_to_float(figures["makespan_over_bound"])],
                "decision_seconds": [_to_float(figures["decision_microseconds"]) / 1e6],
            }
            if isfinite(ratio := _to_float(figures.get(CERTIFIED))):
                values[figures["name"]][CERTIFIED] = [ratio]
    dropped = f", the first {warm_up} dropped as warm-up" if warm_up else ""
    thinned = f"; one task of {plan.stride} is looked at" if plan.stride > 1 else ""
    text = f"95 % bootstrap intervals over the means of {plan.batches} batches{dropped}{thinned}"
    if plan.batches < 2:
        text = "too few tasks for batches, so there is no interval"
    return Sample(run, values, plan.last - plan.first + 1, "batch_means", text)


async def _load_batch_means(manager: RaceManager, run: Run) -> tuple[BatchPlan, list[BatchMeans]] | None:
    last = await manager.store.last_task(run.id)
    key = f"batch_means:{run.id}:{run.started_at.isoformat()}:{last}"
    if cached := await manager.cache.get(key):
        plan, means = orjson.loads(cached)
        return BatchPlan(**plan), [BatchMeans(**each) for each in means]
    found = await manager.store.batch_means(run.id, len(run.settings.get("schedulers", [])))
    if found is not None:
        await manager.cache.set(key, encode_json(found), MEANS_CACHE_SECONDS)
    return found


def estimate_figures(sample: Sample) -> schemas.RunFigures:
    """Return the figures of a run; slow, since thousands of resamples are drawn."""
    run, rows = sample.run, []
    for name, own in sample.values.items():
        estimates = {each: _estimate(own[each]) for each in SHOWN if own.get(each)}
        rows.append(schemas.SchedulerEstimates(scheduler=name, estimates=estimates))
    known = [name for name in SHOWN if any(name in row.estimates for row in rows)]

    def mean_turnaround(row: schemas.SchedulerEstimates) -> float:
        mean = row.estimates["mean_turnaround"].mean
        return float("inf") if mean is None else mean

    return schemas.RunFigures(
        **vars(run) | _describe_workload(run),
        run_id=run.id,
        seeds=run.settings["seeds"] if run.kind == COMPARISON else [run.seed],
        tasks=sample.tasks,
        method=sample.method,
        explanation=sample.explanation,
        measures=[schemas.MeasureInfo(name=name, **asdict(SHOWN[name])) for name in known],
        schedulers=sorted(rows, key=mean_turnaround),
    )


def _estimate(values: list[float]) -> schemas.Estimate:
    """Return a mean with its interval; a single value has none."""
    found, count = bootstrap(values), len(values)
    low, high = (found.low, found.high) if count > 1 else (None, None)
    return schemas.Estimate(mean=found.mean, low=low, high=high, n=count)


def compare_samples(baseline: Sample, other: Sample) -> Iterator[schemas.Difference]:
    """Yield the differences of every scheduler and measure that both runs have."""
    for scheduler, own in other.values.items():
        for measure in SHOWN:
            if own.get(measure) and baseline.values.get(scheduler, {}).get(measure):
                yield _compare_measure(baseline, other, scheduler, measure)


def _compare_measure(baseline: Sample, other: Sample, scheduler: str, measure: str) -> schemas.Difference:
    ours, theirs = other.values[scheduler][measure], baseline.values[scheduler][measure]
    paired, single = _is_paired(baseline, other), min(len(ours), len(theirs)) < 2
    found = (bootstrap_paired if paired else bootstrap_unpaired)(ours, theirs)
    before = sum(theirs) / len(theirs)
    return schemas.Difference(
        scheduler=scheduler,
        measure=measure,
        run_id=other.run.id,
        baseline=baseline.run.id,
        mean=found.mean,
        low=None if single else found.low,
        high=None if single else found.high,
        relative=found.mean / before if before else None,
        paired=paired,
        differs=not single and found.excludes_zero(),
    )


def _is_paired(baseline: Sample, other: Sample) -> bool:
    """Whether both ran on the same tasks from the same seeds, so that differences can be taken seed by seed."""
    return bool(baseline.seeds) and baseline.seeds == other.seeds


def find_caveats(samples: list[Sample]) -> list[str]:
    """Return what a reader of a comparison of these runs must know."""
    aspects = {"workloads": ("workload",), "loads": ("load", "rate"), "numbers of GPUs": ("num_gpus",)}
    workloads = [_describe_workload(each.run) for each in samples]
    found = [
        f"the runs have different {name}"
        for name, keys in aspects.items()
        if len({tuple(each[key] for key in keys) for each in workloads}) > 1
    ]
    if len({each.method for each in samples}) > 1:
        found.append("a comparison and a live run are measured differently: see how each interval was made")
    if not all(_is_paired(samples[0], each) for each in samples[1:]):
        found.append("not all runs drew the same tasks from the same seeds: their differences are not paired")
    return found
