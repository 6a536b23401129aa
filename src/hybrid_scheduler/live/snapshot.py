"""What a live race looks like at one moment: plain data for whoever watches (REST, WebSocket, dashboard)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hybrid_scheduler.learning.insight import (
    AgentHistory,
    AgentInsight,
    ForestHistory,
    ForestInsight,
    History,
    Insight,
    OtherInsight,
)
from hybrid_scheduler.schedulers.scheduler import Scheduler


@dataclass(frozen=True)
class DeviceState:
    """A device of the cluster."""

    index: int
    name: str
    kind: str  # cpu or gpu
    device_class: str
    failed: bool


@dataclass(frozen=True)
class WindowFigures:
    """Averages over the last tasks (1000 at most)."""

    tasks: int
    avg_time: float
    mean_turnaround: float
    p50_turnaround: float
    p95_turnaround: float
    p99_turnaround: float
    mean_waiting: float
    energy: float  # joules per task
    cost: float  # dollars per task
    gpu_share: float


@dataclass(frozen=True)
class SchedulerState:
    """One scheduler: totals since the start, sliding averages, and what its queues look like."""

    name: str
    tasks: int
    rejected: int
    restarts: int
    spilled: int
    wins: int  # tasks that it ended first
    avg_time: float  # mean execution time, s
    mean_turnaround: float
    total_time: float
    energy: float
    cost: float
    makespan: float
    makespan_over_bound: float
    backlog: float  # seconds of work before the mean device
    queue_length: int
    saturated: bool
    utilisation: list[float]  # by device, last 60 simulated seconds
    window: WindowFigures
    turnaround_cdf: list[float]  # 0 %, 5 %, … 100 % of the window
    decision_microseconds: float
    insight: Insight | None  # of a learner


@dataclass(frozen=True)
class TaskResult:
    """What one scheduler made of one task."""

    gpu_fraction: float
    device: int  # -1: rejected
    start: float
    finish: float
    time: float  # execution, s
    waiting: float
    turnaround: float
    energy: float
    cost: float
    status: int
    attempt: int = 1


@dataclass(frozen=True)
class TaskRecord:
    """One task and what all schedulers made of it."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    optimal_gpu_fraction: float
    optimal_time: float
    results: dict[str, TaskResult]
    explained: bool = False  # whether it was asked why
    measured: bool = False  # whether it really ran


@dataclass(frozen=True)
class Snapshot:
    """One moment of a live race."""

    state: str  # ready, running, paused, stopped, failed
    measured: bool  # whether tasks really run
    tasks_processed: int
    sim_time: float
    tasks_per_second: float  # of wall time, lately
    arrival_rate: float  # tasks per simulated second
    bound: float  # nobody can have ended all tasks so far before this moment
    settings: dict[str, Any]
    devices: list[DeviceState]
    schedulers: list[SchedulerState]
    latest: TaskRecord | None
    error: str


@dataclass(frozen=True)
class Quantiles:
    """Three quantiles; NaN without any tasks."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Analysis:
    """What takes longer to compute and changes slowly; about the last tasks (2000 at most)."""

    tasks: int
    schedulers: list[str]
    wins: list[list[int]]  # [i][j]: tasks that i ended before j
    features: list[str]  # of tasks, then the turnaround of every scheduler, by its name
    correlation: list[list[float]]
    size_edges: list[float]
    size_counts: list[int]
    log_sizes: bool  # whether the edges are spaced by factors
    size_quantiles: Quantiles
    intensity_edges: list[float]
    heatmap: list[list[float | None]]  # [size][intensity]: best GPU share of the mean task there; null: none seen
    gpu_wins: list[list[float | None]]  # [size][intensity]: share of tasks that are faster whole on a GPU
    speedup: list[list[float | None]]  # [size][intensity]: median of log2(CPU time / GPU time)
    histories: dict[str, History]  # by scheduler that learns


MOST, DEEPEST, LONGEST = 20, 3, 200  # entries of a collection, collections in one another, characters of a text


def insight_of(scheduler: Scheduler) -> Insight | None:
    """Return what a scheduler tells about itself; None if it tells nothing."""
    try:
        told = getattr(scheduler, "insight", None)
        if told is None or isinstance(told, ForestInsight | AgentInsight | OtherInsight):
            return told
        return OtherInsight(values=_plain(told) if isinstance(told, Mapping) else {"insight": _plain(told)})
    except Exception as error:  # noqa: BLE001  # a plug-in that cannot tell must not stop those who watch; it is shown
        return OtherInsight(values={"error": f"{type(error).__name__}: {error}"[:LONGEST]})


def history_of(scheduler: Scheduler) -> History | None:
    """Return how a scheduler's last lessons went; None if it is not one whose lessons are known here."""
    if not isinstance(insight_of(scheduler), ForestInsight | AgentInsight):
        return None  # its `history` may be anything
    history = getattr(scheduler, "history", None)
    return history if isinstance(history, ForestHistory | AgentHistory) else None


def _plain(value: Any, depth: int = 0) -> Any:
    """Return what JSON can hold, and not too much of it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, int) or abs(value) < 2**53 else float(value)
    if depth < DEEPEST and isinstance(value, Mapping):
        return {_plain(str(key)): _plain(each, depth + 1) for key, each in islice(value.items(), MOST)}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value[-MOST:]]
    return str(value)[:LONGEST].encode(errors="replace").decode()  # half a surrogate pair has no JSON
