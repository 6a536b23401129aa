"""The state of a live race at one moment as plain data, for the REST API, the WebSocket and the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.learning.insight import (
    AgentHistory,
    AgentInsight,
    ForestHistory,
    ForestInsight,
    History,
    Insight,
    OtherInsight,
)
from hybrid_scheduler.live.records import TaskRecord
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
    """Averages over the last tasks, 1000 at most."""

    tasks: int
    avg_time: FloatOrNaN
    """Execution time, s."""
    mean_turnaround: FloatOrNaN
    """From arrival to finish, s."""
    p50_turnaround: FloatOrNaN
    p95_turnaround: FloatOrNaN
    p99_turnaround: FloatOrNaN
    mean_waiting: FloatOrNaN
    energy: FloatOrNaN
    """J per task"""
    cost: FloatOrNaN
    """USD per task"""
    gpu_share: FloatOrNaN
    """Mean share of a task on a GPU."""


@dataclass(frozen=True)
class SchedulerFigures:
    """One scheduler: totals since the start, averages of the last tasks, and the state of its queues."""

    name: str
    tasks: int
    rejected: int
    restarts: int
    """Tasks started again because their GPU failed."""
    spilled: int
    """Tasks that ran elsewhere than it said, because they do not fit there."""
    wins: int
    """Tasks that it ended first."""
    avg_time: FloatOrNaN
    """Mean execution time, s."""
    mean_turnaround: FloatOrNaN
    """Mean time from arrival to finish, s."""
    total_time: FloatOrNaN
    """Execution times added up, s."""
    energy: FloatOrNaN
    """J in total"""
    cost: FloatOrNaN
    """USD in total"""
    makespan: FloatOrNaN
    """When its last task ends, simulated seconds."""
    makespan_over_bound: FloatOrNaN
    """1.0 is optimal: no schedule can do better."""
    backlog: FloatOrNaN
    """Seconds of work queued on the mean device."""
    queue_length: int
    """Shares of tasks that wait."""
    saturated: bool
    """Whether its queue keeps growing."""
    utilisation: list[FloatOrNaN]
    """Busy share of every device, last 60 simulated seconds."""
    window: WindowFigures
    turnaround_cdf: list[FloatOrNaN]
    """Turnaround at 0 %, 5 %, … 100 % of the last tasks."""
    decision_microseconds: FloatOrNaN
    """Wall time of a decision."""
    insight: Insight | None
    """What a learner reports about itself; null: it does not learn."""


@dataclass(frozen=True)
class Snapshot:
    """One moment of a live race."""

    state: str  # ready, running, paused, stopped, failed
    measured: bool  # whether tasks really run
    tasks_processed: int
    sim_time: float
    tasks_per_second: FloatOrNaN  # of wall time, lately
    arrival_rate: FloatOrNaN  # tasks per simulated second
    bound: FloatOrNaN  # no schedule can have ended all tasks so far before this moment
    settings: dict[str, Any]
    devices: list[DeviceState]
    schedulers: list[SchedulerFigures]
    latest: TaskRecord | None
    error: str


@dataclass(frozen=True)
class Quantiles:
    """Three quantiles; null without any tasks."""

    p50: FloatOrNaN
    p95: FloatOrNaN
    p99: FloatOrNaN


@dataclass(frozen=True)
class Analysis:
    """What changes slowly; about the last tasks (2000 at most)."""

    tasks: int
    schedulers: list[str]
    wins: list[list[int]]
    """[i][j]: tasks that i ended before j."""
    features: list[str]
    """Features of tasks, then every scheduler by its name: its turnaround, s.

    size (problem size N), intensity (0 to 1), memory (MB), GPU share (the best one, were the cluster idle), best
    time (shortest whole time on any device, s).
    """
    correlation: list[list[FloatOrNaN]]
    """[i][j]: Pearson's r of features i and j, -1 to 1."""
    size_edges: list[float]
    size_counts: list[int]
    log_sizes: bool
    """Whether the edges of the sizes grow by factors, as they do if the largest is over 20 times the least."""
    size_quantiles: Quantiles
    """Of the sizes."""
    intensity_edges: list[float]
    heatmap: list[list[float | None]]
    """[size][intensity]: best GPU share of the mean task there; null: none seen."""
    gpu_wins: list[list[float | None]]
    """[size][intensity]: share of tasks that are faster whole on a GPU."""
    speedup: list[list[float | None]]
    """[size][intensity]: median of log2(time on a CPU / time on a GPU) of the tasks there, whole.

    1: the GPU takes half the time, below 0: the CPU is faster; null: none seen that both can run.
    """
    histories: dict[str, History]
    """The last training updates of every scheduler that learns."""


MAX_ENTRIES, MAX_DEPTH, MAX_TEXT = 20, 3, 200  # of a plug-in's insight: collection size, nesting, characters


def read_insight(scheduler: Scheduler) -> Insight | None:
    """Return what a scheduler reports about itself, as plain data; None if it reports nothing."""
    try:
        insight = getattr(scheduler, "insight", None)
        if insight is None or isinstance(insight, ForestInsight | AgentInsight | OtherInsight):
            return insight
        plain = _to_plain(insight)
        return OtherInsight(values=plain if isinstance(insight, Mapping) else {"insight": plain})
    except Exception as error:  # noqa: BLE001  # a plug-in whose insight raises must not stop the race; it is shown
        return OtherInsight(values={"error": f"{type(error).__name__}: {error}"[:MAX_TEXT]})


def read_history(scheduler: Scheduler) -> History | None:
    """Return the last training updates of a scheduler; None if it is not one of the known learners."""
    if not isinstance(read_insight(scheduler), ForestInsight | AgentInsight):
        return None  # the `history` of a plug-in may be anything
    history = getattr(scheduler, "history", None)
    return history if isinstance(history, ForestHistory | AgentHistory) else None


def _to_plain(value: Any, depth: int = 0) -> Any:
    """Return what JSON can hold, limited in size."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, int) or abs(value) < 2**53 else float(value)
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        entries = islice(value.items(), MAX_ENTRIES)
        return {_to_plain(str(key)): _to_plain(each, depth + 1) for key, each in entries}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [_to_plain(each, depth + 1) for each in value[-MAX_ENTRIES:]]
    return str(value)[:MAX_TEXT].encode(errors="replace").decode()  # half a surrogate pair has no JSON
