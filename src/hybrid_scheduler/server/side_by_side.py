"""Several runs side by side: how each scheduler differs from the first run, and whether that is more than luck."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid_scheduler.metrics import paired, unpaired
from hybrid_scheduler.server.figures import SHOWN, Sample
from hybrid_scheduler.server.run_lines import workload_of
from hybrid_scheduler.server.schemas.figures import Difference


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
