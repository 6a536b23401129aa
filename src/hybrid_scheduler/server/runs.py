"""What a list of runs tells: taken from settings and summaries, without asking for a single result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson

from hybrid_scheduler.core.metrics import MEASURES, Measure, bootstrap, paired, unpaired
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.jobs import state_of
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.run_summaries import scheduler_states, workload_of
from hybrid_scheduler.server.schemas.runs import (
    Difference,
    Estimate,
    MeasureInfo,
    Method,
    RunFigures,
    SchedulerEstimates,
)
from hybrid_scheduler.storage.batch_means import BatchMeans, Cut
from hybrid_scheduler.storage.store import COMPARISON, Run

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import Manager


SHOWN: dict[str, Measure] = {
    **{name: MEASURES[name] for name in ("mean_turnaround", "p95_turnaround", "mean_execution")},
    "energy_per_task": Measure("J", "energy / tasks that ran; of a comparison idle devices included"),
    "cost_per_task": Measure("$", "price of the busy seconds / tasks that ran"),
    **{name: MEASURES[name] for name in ("makespan", "makespan_over_bound")},
    "decision_seconds": Measure("s", "wall time of a decision on the machine that ran it"),
}
BATCHED = ("mean_turnaround", "p95_turnaround", "mean_execution", "energy_per_task", "cost_per_task")
MEANS_KEPT = 600.0  # seconds; batch means of the same tasks do not change
Values = dict[str, dict[str, list[float]]]  # by scheduler and measure, one for each seed or batch


@dataclass(frozen=True)
class Sample:
    """What the estimates of a run are made of, and for pairing the seeds with digests of their tasks."""

    run: Run
    values: Values
    tasks: int
    method: Method
    explanation: str
    draws: tuple[tuple[int, str], ...] = ()  # seed and digest; empty: a live run


async def sample_of(manager: Manager, run: Run) -> Sample:
    """Collect what a run has measured; 409 if that is nothing yet."""
    return _seeds(run) if run.kind == COMPARISON else await _batches(manager, run)


def _seeds(run: Run) -> Sample:
    if not run.summary:
        raise ConflictError(f"experiment {run.id} is {state_of(run)}: it has figures when it has finished")
    seeds = run.summary["seeds"]
    values: Values = {
        name: {measure: [_measured(seed, name, measure) for seed in seeds] for measure in SHOWN}
        for name in run.settings["schedulers"]
    }
    count = len(seeds)
    words = "one seed, so there is no interval" if count < 2 else f"95 % bootstrap intervals over {count} seeds"
    draws = tuple((seed["seed"], seed["digest"]) for seed in seeds)
    return Sample(run, values, seeds[0]["tasks"], "seeds", words, draws)


def _measured(seed: dict[str, Any], scheduler: str, measure: str) -> float:
    own = seed["measures"][scheduler]
    if measure == "decision_seconds":
        return float(seed["decision_seconds"][scheduler])
    if measure.endswith("_per_task"):
        ran = seed["tasks"] - own["rejected"]
        return _number(own[measure.removesuffix("_per_task")]) / ran if ran else float("nan")
    return _number(own[measure])


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


async def _batches(manager: Manager, run: Run) -> Sample:
    found = await _batch_means(manager, run)
    if found is None:
        raise ConflictError(f"run {run.id} has no stored results yet: wait for its first tasks")
    cut, means = found
    warm = 1 if cut.batches > 2 else 0
    values: Values = {}
    for each in means:
        if each.batch >= warm:
            own = values.setdefault(each.scheduler, {measure: [] for measure in BATCHED})
            for measure in BATCHED:
                own[measure].append(float(getattr(each, measure)))
    for state in scheduler_states(manager, run):
        if state["name"] in values:
            values[state["name"]] |= _once(state)
    return Sample(run, values, cut.last - cut.first + 1, "batch_means", _words(cut, warm))


def _once(state: dict[str, Any]) -> dict[str, list[float]]:
    """Return what a live run has one number of."""
    micro = _number(state["decision_microseconds"])
    return {
        "makespan": [_number(state["makespan"])],
        "makespan_over_bound": [_number(state["makespan_over_bound"])],
        "decision_seconds": [micro / 1e6],
    }


async def _batch_means(manager: Manager, run: Run) -> tuple[Cut, list[BatchMeans]] | None:
    last = await manager.store.last_task(run.id)
    key = f"batch_means:{run.id}:{run.started_at.isoformat()}:{last}"
    if kept := await manager.cache.get(key):
        cut, means = orjson.loads(kept)
        return Cut(**cut), [BatchMeans(**each) for each in means]
    found = await manager.store.batch_means(run.id, len(run.settings.get("schedulers", [])))
    if found is not None:
        await manager.cache.set(key, to_bytes([asdict(found[0]), [asdict(each) for each in found[1]]]), MEANS_KEPT)
    return found


def _words(cut: Cut, warm: int) -> str:
    if cut.batches < 2:
        return "too few tasks for batches, so there is no interval"
    left = f", the first {warm} dropped as warm-up" if warm else ""
    thinned = f"; one task of {cut.every} is looked at" if cut.every > 1 else ""
    return f"95 % bootstrap intervals over the means of {cut.batches} batches{left}{thinned}"


async def figures_of(sample: Sample) -> RunFigures:
    """Turn samples into estimates; in a thread, since thousands of resamples are drawn."""
    return await asyncio.to_thread(_figures, sample)


def _figures(sample: Sample) -> RunFigures:
    run, settings = sample.run, sample.run.settings
    rows = [
        SchedulerEstimates(scheduler=name, estimates={each: estimate(own[each]) for each in SHOWN if own.get(each)})
        for name, own in sample.values.items()
    ]
    known = [name for name in SHOWN if any(name in row.estimates for row in rows)]
    return RunFigures(
        run_id=run.id,
        title=run.title,
        kind=run.kind,
        status=run.status,
        workload=workload_of(run),
        load=settings.get("load"),
        rate=settings.get("rate"),
        num_gpus=settings.get("num_gpus"),
        seeds=settings["seeds"] if run.kind == COMPARISON else [run.seed],
        tasks=sample.tasks,
        method=sample.method,
        explanation=sample.explanation,
        measures=[MeasureInfo(name=name, **asdict(SHOWN[name])) for name in known],
        schedulers=sorted(rows, key=_turnaround),
    )


def _turnaround(row: SchedulerEstimates) -> float:
    mean = row.estimates["mean_turnaround"].mean
    return float("inf") if mean is None else mean


def estimate(values: list[float]) -> Estimate:
    """Return a mean with its interval; one number alone has none."""
    found = bootstrap(values)
    if len(values) < 2:
        return Estimate(mean=found.mean, low=None, high=None, n=len(values))
    return Estimate(mean=found.mean, low=found.low, high=found.high, n=len(values))


def differences(baseline: Sample, other: Sample) -> Iterator[Difference]:
    """Compare every scheduler and measure that both runs have."""
    together = pairs(baseline, other)
    for scheduler, own in other.values.items():
        for measure in SHOWN:
            ours, theirs = own.get(measure), baseline.values.get(scheduler, {}).get(measure)
            if ours and theirs:
                yield _difference(baseline, other, scheduler, measure, together)


def pairs(baseline: Sample, other: Sample) -> bool:
    """Whether the same seeds drew the same tasks in both, so that differences can be taken seed by seed."""
    return bool(baseline.draws) and baseline.draws == other.draws


def _difference(baseline: Sample, other: Sample, scheduler: str, measure: str, together: bool) -> Difference:
    ours, theirs = other.values[scheduler][measure], baseline.values[scheduler][measure]
    found = (paired if together else unpaired)(ours, theirs)
    alone = min(len(ours), len(theirs)) < 2
    before = sum(theirs) / len(theirs)
    return Difference(
        scheduler=scheduler,
        measure=measure,
        run_id=other.run.id,
        baseline=baseline.run.id,
        mean=found.mean,
        low=None if alone else found.low,
        high=None if alone else found.high,
        relative=found.mean / before if before else None,
        paired=together,
        differs=not alone and found.excludes_zero(),
    )


def notes(samples: list[Sample]) -> list[str]:
    """Say what to keep in mind when these runs are compared."""
    first, found = samples[0], []
    for name, of in (
        ("workloads", lambda each: workload_of(each.run)),
        ("loads", lambda each: (each.run.settings.get("load"), each.run.settings.get("rate"))),
        ("numbers of GPUs", lambda each: each.run.settings.get("num_gpus")),
    ):
        if len({of(each) for each in samples}) > 1:
            found.append(f"the runs have different {name}")
    if len({each.method for each in samples}) > 1:
        found.append("a comparison and a live run are measured differently: see how each interval was made")
    if not all(pairs(first, each) for each in samples[1:]):
        found.append("not all runs drew the same tasks from the same seeds: their differences are not paired")
    return found
