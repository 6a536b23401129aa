"""What a live race looks like at one moment: plain data for whoever watches (REST, WebSocket, dashboard)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.learning.insight import History, Insight


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
