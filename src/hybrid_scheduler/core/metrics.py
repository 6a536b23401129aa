"""Measures of placements, and statistics over several seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats

SLOWDOWN_FLOOR = 0.01
"""Execution times below this many seconds count as this many (bounded slowdown) unless a comparison has its own."""


@dataclass(frozen=True)
class Measure:
    """Unit and meaning of a measure, and whether lower values are better."""

    unit: str
    meaning: str
    less_is_better: bool = True


MEASURES: dict[str, Measure] = {
    "makespan": Measure("s", "end of the last task"),
    "makespan_over_bound": Measure("×", "makespan / certified lower bound; 1 is provably optimal"),
    "total_time": Measure("s", "sum of execution times"),
    "mean_execution": Measure("s", "mean of the longer share of each task"),
    "execution_over_best": Measure("×", "total time / closed-form optimum of the isolated tasks"),
    "mean_waiting": Measure("s", "mean time that a ready task did not run"),
    "mean_turnaround": Measure("s", "mean time from arrival to finish"),
    "turnaround_over_bound": Measure("×", "mean turnaround / certified lower bound of it; 1 is provably optimal"),
    "p50_turnaround": Measure("s", "median turnaround"),
    "p95_turnaround": Measure("s", "95th percentile of turnaround"),
    "p99_turnaround": Measure("s", "99th percentile of turnaround"),
    "mean_slowdown": Measure(
        "×", "mean of turnaround / execution, both at least 10 ms, or 10 s for logs (bounded slowdown)"
    ),
    "throughput": Measure("tasks/s", "tasks ended / makespan", less_is_better=False),
    "utilisation": Measure("share", "busy share of all devices until the makespan", less_is_better=False),
    "load_balance": Measure("share", "mean / largest busy time of the GPUs", less_is_better=False),
    "energy": Measure("J", "energy of the tasks plus that of idle devices"),
    "energy_delay": Measure("J·s", "energy · makespan"),
    "cost": Measure("$", "price of the busy seconds"),
    "regret": Measure("s", "mean turnaround minus the oracle's on the same tasks"),
    "rejected": Measure("tasks", "tasks that no device can run"),
    "spilled": Measure("tasks", "tasks that did not fit where the policy sent them"),
    "split": Measure("tasks", "tasks that ran on a CPU and a GPU at once"),
}


def measure(
    placements: Placements,
    bound: float = float("nan"),
    turnaround_bound: float = float("nan"),
    slowdown_floor: float = SLOWDOWN_FLOOR,
) -> dict[str, float]:
    """Return all measures of one run but `regret`, which needs the oracle's run; bounds are those of its tasks."""
    ran = placements.ran
    count = int(ran.sum())
    makespan = placements.makespan
    execution, turnaround = placements.execution[ran], placements.turnaround[ran]
    slowdown = np.maximum(turnaround / np.maximum(execution, slowdown_floor), 1.0)
    p50, p95, p99 = np.percentile(turnaround, [50, 95, 99]) if count else (np.nan, np.nan, np.nan)
    energy = float(placements.energy.sum() + idle_energy(placements).sum())
    mean_turnaround = _mean(turnaround)
    return {
        "makespan": makespan,
        "makespan_over_bound": makespan / bound if bound > 0 else float("nan"),
        "total_time": float(execution.sum()),
        "mean_execution": _mean(execution),
        "mean_waiting": _mean(placements.waiting[ran]),
        "mean_turnaround": mean_turnaround,
        "turnaround_over_bound": mean_turnaround / turnaround_bound if turnaround_bound > 0 else float("nan"),
        "p50_turnaround": float(p50),
        "p95_turnaround": float(p95),
        "p99_turnaround": float(p99),
        "mean_slowdown": _mean(slowdown),
        "throughput": count / makespan if makespan else 0.0,
        "utilisation": float(device_utilisation(placements).mean()),
        "load_balance": load_balance(placements),
        "energy": energy,
        "energy_delay": energy * makespan,
        "cost": float(placements.cost.sum()),
        "rejected": float(len(placements) - count),
        "spilled": float(placements.spilled.sum()),
        "split": float(placements.split.sum()),
    }


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def device_utilisation(placements: Placements) -> Floats:
    """Return the busy share of every device until the makespan; above 1 in isolated mode, where tasks overlap."""
    makespan = placements.makespan
    return placements.busy / makespan if makespan else np.zeros(len(placements.busy))


def idle_energy(placements: Placements) -> Floats:
    """Return the joules that every device draws while idle before the makespan."""
    idle = np.maximum(placements.makespan - placements.busy, 0.0)
    joules: Floats = idle * placements.cluster.per_device("idle_watts")
    return joules


def load_balance(placements: Placements) -> float:
    """Return mean / max of the GPUs' busy times; 1 if the load is even or there is none."""
    busy = placements.busy[placements.cluster.is_gpu]
    return float(busy.mean() / busy.max()) if len(busy) and busy.max() > 0 else 1.0


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


def bootstrap(values: Sequence[float], resamples: int = 2000, seed: int = 0) -> Interval:
    """Return the mean and its 95 % percentile bootstrap interval; one value is its own interval."""
    sample = np.asarray(values, np.float64)
    mean = float(sample.mean())
    if len(sample) < 2 or not np.isfinite(sample).all():
        return Interval(mean, mean, mean)
    picks = np.random.default_rng(seed).integers(0, len(sample), (resamples, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def bootstrap_paired(values: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Return the interval of the differences seed by seed, which cancels the variance between seeds."""
    return bootstrap(np.subtract(values, baseline).tolist())


def bootstrap_unpaired(
    values: Sequence[float], baseline: Sequence[float], resamples: int = 2000, seed: int = 0
) -> Interval:
    """Return the interval of the difference of the means of two independent samples."""
    ours, theirs = np.asarray(values, np.float64), np.asarray(baseline, np.float64)
    mean = float(ours.mean() - theirs.mean())
    if min(len(ours), len(theirs)) < 2 or not np.isfinite(mean):
        return Interval(mean, mean, mean)
    generator = np.random.default_rng(seed)
    means = [each[generator.integers(0, len(each), (resamples, len(each)))].mean(axis=1) for each in (ours, theirs)]
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def sign_test(values: Sequence[float], baseline: Sequence[float]) -> float:
    """Return the two-sided p-value of the sign test; ties are left out."""
    gaps = np.subtract(values, baseline)
    wins, losses = int((gaps < 0).sum()), int((gaps > 0).sum())
    trials, fewer = wins + losses, min(wins, losses)
    tail = float(sum(math.comb(trials, number) for number in range(fewer + 1)) / 2**trials)
    return min(1.0, 2.0 * tail)


def win_counts(by_scheduler: Mapping[str, Sequence[float]]) -> dict[str, dict[str, int]]:
    """Return on how many seeds each scheduler had a smaller value than each other one."""
    return {
        one: {other: int(np.less(values, others).sum()) for other, others in by_scheduler.items() if other != one}
        for one, values in by_scheduler.items()
    }
