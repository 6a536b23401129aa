"""A live race as plain data, for the REST API, the WebSocket and the dashboard: its placed tasks and its state.

`build_task_records` is the only conversion from placements (columns) to records (rows); the recorder stores the same
columns, `Placements.result_columns`, without making rows of them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.learning.insight import AgentInsight, ForestInsight, History, Insight, OtherInsight
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.scheduler import Scheduler

MAX_ENTRIES, MAX_DEPTH, MAX_TEXT = 20, 3, 200  # of a plug-in's insight: collection size, nesting, characters
TASK_COLUMNS = ("size", "compute_intensity", "memory_required", "arrival_time")
ToList = Callable[[str, Floats], list[float]]


@dataclass(frozen=True)
class TaskResult:
    """The placement of one task by one scheduler; null where the task was rejected or still waits."""

    gpu_fraction: FloatOrNaN
    device: int
    """Where it runs, or waits in an ordered queue; -1: rejected, or it waits for whichever device takes it."""
    start: FloatOrNaN
    finish: FloatOrNaN
    time: FloatOrNaN
    """Execution, s."""
    waiting: FloatOrNaN
    turnaround: FloatOrNaN
    energy: FloatOrNaN
    """J"""
    cost: FloatOrNaN
    """USD"""
    status: int
    attempt: int = 1


@dataclass(frozen=True)
class TaskRecord:
    """One task and its placements by all schedulers."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    optimal_gpu_fraction: FloatOrNaN
    optimal_time: FloatOrNaN
    results: dict[str, TaskResult]
    explained: bool = False
    """Whether GET /api/tasks/{task_id} explains the decisions; the last 500 of them are kept."""
    measured: bool = False
    """Whether it really ran."""


@dataclass(frozen=True)
class PlacedBlock:
    """A block of tasks and its placements by every scheduler."""

    tasks: Tasks
    placements: dict[str, Placements]
    optimal_gpu_fraction: Floats
    optimal_time: Floats
    explanations: dict[str, Explanation] = field(default_factory=dict)  # of the first task; may be empty
    devices: tuple[tuple[str, str], ...] = ()  # display names and kinds

    @property
    def is_measured(self) -> bool:
        """Whether the tasks really ran."""
        return any(each.measured for each in self.placements.values())


def to_plain_list(_name: str, column: Floats) -> list[float]:
    """Return a column as it is."""
    values: list[float] = column.tolist()
    return values


def build_task_records(
    block: PlacedBlock, rows: slice = slice(None), to_list: ToList = to_plain_list
) -> list[TaskRecord]:
    """Return records of some tasks of a block; `to_list` converts each column of floats and may round it."""
    tasks = block.tasks
    columns = {name: getattr(tasks, name) for name in TASK_COLUMNS}
    columns |= {"optimal_gpu_fraction": block.optimal_gpu_fraction, "optimal_time": block.optimal_time}
    values = [to_list(name, column[rows]) for name, column in columns.items()]
    results = {name: build_results(each, rows, to_list) for name, each in block.placements.items()}
    by_task = [dict(zip(results, each, strict=True)) for each in zip(*results.values(), strict=True)]
    explained = [bool(block.explanations) and row == 0 for row in range(len(tasks))][rows]
    measured = [block.is_measured] * len(explained)
    records = zip(tasks.task_id[rows].tolist(), *values, by_task, explained, measured, strict=True)
    return [TaskRecord(*record) for record in records]


def build_results(
    placed: Placements, rows: slice | Ints = slice(None), to_list: ToList = to_plain_list, attempt: Ints | None = None
) -> list[TaskResult]:
    """Return the results of some tasks by one scheduler."""
    columns = placed.result_columns(rows)
    device, status = columns.pop("device").tolist(), columns.pop("status").tolist()
    columns["gpu_fraction"] = np.where(placed.rejected[rows], 0.0, columns["gpu_fraction"])
    fraction, *figures = (to_list(name, column) for name, column in columns.items())
    attempts = [1] * len(status) if attempt is None else attempt[rows].tolist()
    return [TaskResult(*row) for row in zip(fraction, device, *figures, status, attempts, strict=True)]


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
class CertifiedFigures:
    """One scheduler on the certified window."""

    mean_turnaround: FloatOrNaN
    """s"""
    energy: FloatOrNaN
    """J per task"""
    cost: FloatOrNaN
    """USD per task"""
    splits: bool
    """Whether it split some of the tasks: then only the bounds of all schedules cover it."""


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
    turnaround_over_bound: FloatOrNaN
    """The same of the mean turnaround on the certified window; null: it did not take all tasks of it."""
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
    certified: CertifiedFigures | None
    """What `turnaround_over_bound` is made of; null as that is."""


@dataclass(frozen=True)
class CertifiedWindow:
    """Consecutive tasks, 500 at most, and what is proved about every schedule of them.

    A front is a list of points (mean turnaround, measure per task), fewest joules or dollars first: no schedule lies
    below the line through them, which goes straight up from the first and straight right from the last one.
    """

    first_task: int
    tasks: int
    mean_turnaround: FloatOrNaN
    """Bound of schedules that split no task, s."""
    mean_turnaround_split: FloatOrNaN
    """Bound of all schedules, s."""
    energy_front: list[list[float]]
    """(s, J) of schedules that split no task."""
    cost_front: list[list[float]]
    """(s, USD) of schedules that split no task."""
    energy_front_split: list[list[float]]
    """(s, J) of all schedules."""
    cost_front_split: list[list[float]]
    """(s, USD) of all schedules."""


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
    certified_window: CertifiedWindow | None  # null: too few tasks yet


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


def read_insight(scheduler: Scheduler) -> Insight | None:
    """Return what a scheduler reports about itself, as plain data; None if it reports nothing."""
    try:
        insight = getattr(scheduler, "insight", None)
        if insight is None or isinstance(insight, Insight):
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
    return history if isinstance(history, History) else None


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
