"""Results of comparisons made by hand, so that tests know the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_scheduler.bounds.makespan import Bound
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.studies.compare import ANY, WHOLE, Comparison, Outcome, Result, TurnaroundCertificate
from hybrid_scheduler.workloads.source import Source


def make_result(makespans: Mapping[str, Sequence[float]], mode: str = "queued", score: str = "makespan") -> Result:
    """Return a result with these makespans by scheduler and seed; the bounds are 1 s, all measures are the makespan.

    The oracle has split all tasks; turnaround is certified if it is the score.
    """
    seeds = tuple(range(len(next(iter(makespans.values())))))
    comparison = Comparison(Source.of("mixed", 10, load=1.0), tuple(makespans), mode=mode, seeds=seeds, score=score)
    certificates = {WHOLE: TurnaroundCertificate(1.0, "prices", True), ANY: TurnaroundCertificate(0.5, "srpt", True)}
    devices = dict.fromkeys((device.name for device in comparison.cluster.devices), 0.5)
    workload: dict[str, Any] = {"num_tasks": 10, "arrival_rate": 1.0, "digest": "0"}
    return Result(
        comparison,
        tuple(
            Outcome(
                seed,
                workload,
                Bound(1.0, "prices", {"cpu": 0.2, "gpu": 0.2}, 0.0),
                {
                    spec: dict.fromkeys(MEASURES, values[seed])
                    | {"rejected": 0.0, "spilled": 0.0, "split": 10.0 if spec == "oracle" else 0.0}
                    for spec, values in makespans.items()
                },
                dict.fromkeys(makespans, 1e-6),
                dict.fromkeys(makespans, devices),
                certificates if score == "turnaround" else {},
            )
            for seed in seeds
        ),
    )


CLEAR = {"eft": (1.1, 1.2, 1.3), "greedy": (2.2, 2.4, 2.6), "round_robin": (3.3, 3.6, 3.9)}
"""eft wins: it is twice as fast as greedy and three times as fast as round_robin on every seed."""
TIED = {"eft": (1.1, 1.3, 1.2), "oracle": (1.2, 1.2, 1.21), "round_robin": (3.3, 3.6, 3.9)}
"""eft and oracle cannot be told apart."""
