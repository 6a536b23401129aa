"""A lane of a live race: a scheduler on its own cluster, the work that runs there, and its totals."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import QUEUE_FULL, Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.live.bound import LiveBound

UTILISATION_SECONDS = 60.0  # simulated seconds that utilisation and device lanes cover
WINDOW = 1000  # tasks of the sliding averages
MIN_GROWTH = 0.05  # seconds of backlog gained per second, over the samples, that count as growing
MIN_BACKLOG = 20.0  # mean tasks: a shorter backlog is no sign of saturation
SAMPLES, SAMPLE_INTERVAL = 20, 25  # backlogs that are kept, and tasks between two of them
METRICS = ("execution", "turnaround", "waiting", "energy", "cost", "gpu_fraction")

INITIAL_CAPACITY = 512
_ROW = np.dtype([("start", "f8"), ("end", "f8"), ("device", "i8"), ("task_id", "i8"), ("block", "i8"), ("row", "i8")])


class BusyInterval(NamedTuple):
    """When a device works on a task, and the placement behind it."""

    start: float
    end: float
    placed: Placements
    row: int


class RunningWork:
    """The busy intervals of a lane's devices: work that runs, waits or has ended lately, as columns."""

    def __init__(self) -> None:
        self._buffer: npt.NDArray[np.void] = np.empty(INITIAL_CAPACITY, _ROW)
        self._count, self._prune_at = 0, INITIAL_CAPACITY
        self._blocks: dict[int, Placements] = {}
        self._next_block = 0

    @property
    def _rows(self) -> npt.NDArray[np.void]:
        return self._buffer[: self._count]

    def add(self, placed: Placements) -> None:
        """Add the intervals of a block of placements."""
        self._blocks[self._next_block] = placed
        for device, start, seconds in (
            (placed.gpu, placed.gpu_start, placed.gpu_seconds),
            (placed.cpu, placed.cpu_start, placed.cpu_seconds),
        ):
            used = np.flatnonzero(device >= 0)
            new = self._allocate(len(used))
            new["start"] = start[used]
            new["end"] = new["start"] + seconds[used]
            new["device"], new["task_id"] = device[used], placed.tasks.task_id[used]
            new["block"], new["row"] = self._next_block, used
        self._next_block += 1

    def _allocate(self, count: int) -> npt.NDArray[np.void]:
        if self._count + count > len(self._buffer):
            larger = np.empty(2 * (self._count + count), _ROW)
            larger[: self._count] = self._rows
            self._buffer = larger
        self._count += count
        return self._buffer[self._count - count : self._count]

    def forget_before(self, moment: float) -> None:
        """Drop what ended before a moment, once enough has piled up to be worth a copy."""
        if self._count >= self._prune_at:
            self._keep(self._rows["end"] >= moment)
            self._prune_at = max(INITIAL_CAPACITY, 2 * self._count)

    def _keep(self, mask: npt.NDArray[np.bool_]) -> None:
        kept = self._rows[mask]
        self._count = len(kept)
        self._buffer[: self._count] = kept
        used = set(kept["block"].tolist())
        self._blocks = {number: placed for number, placed in self._blocks.items() if number in used}

    def busy_seconds(self, begin: float, end: float, devices: int) -> Floats:
        """Return the busy seconds of every device between two moments."""
        rows = self._rows
        seconds = np.minimum(rows["end"], end) - np.maximum(rows["start"], begin)
        busy: Floats = np.bincount(rows["device"], np.maximum(seconds, 0.0), devices).astype(np.float64)
        return busy

    def count_waiting(self, now: float) -> int:
        """Return how many intervals have not begun."""
        return int((self._rows["start"] > now).sum())

    def renumber(self, indices: Sequence[int]) -> None:
        """Give devices new indices; intervals on a device with index -1 are dropped."""
        rows = self._rows
        rows["device"] = np.asarray(indices)[rows["device"]]
        self._keep(rows["device"] >= 0)

    def remove_unfinished(self, devices: Collection[int], now: float) -> list[BusyInterval]:
        """Remove all intervals of the tasks that have not ended on these GPUs; return one of each task."""
        rows = self._rows
        hit = np.isin(rows["device"], list(devices)) & (rows["end"] > now)
        order = np.flatnonzero(hit)[np.argsort(rows["device"][hit], kind="stable")]
        removed = {int(rows["task_id"][index]): self._interval(index) for index in order}  # no task is on two GPUs
        self._keep(~np.isin(rows["task_id"], list(removed)))
        return list(removed.values())

    def _interval(self, index: int) -> BusyInterval:
        row = self._buffer[index]
        return BusyInterval(float(row["start"]), float(row["end"]), self._blocks[int(row["block"])], int(row["row"]))


@dataclass
class Totals:
    """Sums over all tasks of a lane."""

    tasks: int = 0
    rejected: int = 0
    restarts: int = 0
    spilled: int = 0
    wins: int = 0
    makespan: float = 0.0
    sums: Floats = field(default_factory=lambda: np.zeros(len(METRICS)))


class LiveLane:
    """A scheduler on its own cluster, with its running work, totals and sliding averages."""

    def __init__(self, lane: Lane, now: float, bound: LiveBound) -> None:
        self.scheduler = lane.scheduler
        self.bound = bound  # of the tasks that this lane was given: one that joins late starts from there
        self.lane = lane
        self.lane.machine.view.free[:] = now
        self.work = RunningWork()
        self.totals = Totals()
        self._window = np.zeros((WINDOW, len(METRICS)))
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)  # moment and backlog
        self._unsampled = 0
        self._is_full = False  # whether the last tasks were rejected because too many were waiting

    @property
    def cluster(self) -> Cluster:
        """The cluster, failed devices included."""
        return self.lane.machine.cluster

    def run(self, tasks: Tasks, times: Floats, now: float, max_queue: int | None) -> Placements:
        """Let the scheduler place tasks; with `max_queue` already waiting they are rejected."""
        self._is_full = max_queue is not None and self.queue_length(now) >= max_queue
        placed = reject_tasks(tasks, self.cluster, times) if self._is_full else self.lane.run(tasks, times)
        self.work.add(placed)
        self._count(placed)
        self._sample(len(tasks), float(tasks.arrival_time[-1]))
        return placed

    def _count(self, placed: Placements) -> None:
        ran = placed.ran
        rows = _metric_rows(placed)[ran]
        totals = self.totals
        self._window[(totals.tasks + np.arange(len(rows))) % WINDOW] = rows
        totals.tasks += len(rows)
        totals.sums += rows.sum(axis=0)
        totals.rejected += int((~ran).sum())
        totals.spilled += int(placed.spilled.sum())
        totals.makespan = max(totals.makespan, placed.makespan)

    def _sample(self, tasks: int, now: float) -> None:
        self._unsampled += tasks
        if self._unsampled >= SAMPLE_INTERVAL:
            self._unsampled = 0
            self._samples.append((now, self.backlog(now)))

    # --- devices -----------------------------------------------------------------------------------------------

    def use_cluster(self, cluster: Cluster, now: float) -> None:
        """Continue on another cluster: devices of the same name keep their clocks, work on others is dropped."""
        indices = {device.name: device.index for device in cluster.devices}
        machine = VirtualMultiGPU(cluster=cluster)
        machine.take_over(self.lane.machine, now)
        self.work.renumber([indices.get(device.name, -1) for device in self.cluster.devices])
        self.lane.machine = machine

    def fail(self, devices: set[int], now: float) -> Tasks | None:
        """Take GPUs away; return the tasks that were running or waiting there, None if there were none."""
        for device in sorted(devices):
            self.lane.machine.fail(device)
        lost = self.work.remove_unfinished(devices, now) if devices else []
        if not lost:
            return None
        self.totals.restarts += len(lost)
        self.totals.sums -= sum(_unspent_metrics(interval, now) for interval in lost)
        return Tasks.from_iterable([interval.placed.tasks[interval.row] for interval in lost])

    def restore(self, devices: set[int], now: float) -> None:
        """Bring GPUs back, idle."""
        for device in devices:
            self.lane.machine.restore(device, now)

    def rerun(self, tasks: Tasks, now: float) -> Placements:
        """Place the tasks of a failed device again; their turnaround still counts from their arrival."""
        placed = replace(self.lane.run(replace(tasks, arrival_time=np.full(len(tasks), now))), tasks=tasks)
        self.work.add(placed)
        self.totals.sums += _metric_rows(placed)[placed.ran].sum(axis=0)
        self.totals.makespan = max(self.totals.makespan, placed.makespan)
        return placed

    # --- state -------------------------------------------------------------------------------------------------

    def forget(self, now: float) -> None:
        """Drop work that ended before the seconds that utilisation covers."""
        self.work.forget_before(now - UTILISATION_SECONDS)

    def utilisation(self, now: float) -> list[float]:
        """Return the busy share of every device in the last seconds."""
        begin = max(0.0, now - UTILISATION_SECONDS)
        busy = self.work.busy_seconds(begin, now, len(self.cluster.devices)) / max(now - begin, 1e-9)
        shares: list[float] = np.minimum(busy, 1.0).tolist()
        return shares

    def queue_length(self, now: float) -> int:
        """Return how many tasks wait for a device; a split task counts on both."""
        return self.work.count_waiting(now)

    def backlog(self, now: float) -> float:
        """Return the seconds of work in front of the mean device."""
        return float(np.maximum(self.lane.machine.view.free - now, 0.0).mean())

    @property
    def is_saturated(self) -> bool:
        """Whether the backlog keeps growing, or would if no task were rejected; a short burst does not count."""
        if self._is_full:
            return True
        if len(self._samples) < SAMPLES:
            return False
        (begin, low), (end, high) = self._samples[0], self._samples[-1]
        mean = self.totals.sums[0] / max(1, self.totals.tasks)
        return high > MIN_BACKLOG * mean and high - low > MIN_GROWTH * max(end - begin, 1e-9)

    @property
    def recent(self) -> Floats:
        """The metrics of the last tasks, by (task, metric)."""
        return self._window[: min(self.totals.tasks, WINDOW)]


def _metric_rows(placed: Placements) -> Floats:
    return np.column_stack([getattr(placed, name) for name in METRICS])


def _unspent_metrics(interval: BusyInterval, now: float) -> Floats:
    """Return what a lost task had added to the totals, less the energy and cost that are already spent."""
    row: Floats = _metric_rows(interval.placed)[interval.row]
    spent = min(max((now - interval.start) / max(interval.end - interval.start, 1e-12), 0.0), 1.0)
    for name in ("energy", "cost"):
        row[METRICS.index(name)] *= 1.0 - spent
    return row


def reject_tasks(tasks: Tasks, cluster: Cluster, times: Floats, status: int = QUEUE_FULL) -> Placements:
    """Return placements of tasks that did not run."""
    count, nothing = len(tasks), np.full(len(tasks), np.nan)
    none = np.full(count, -1, np.int32)
    return Placements(
        tasks=tasks,
        cluster=cluster,
        times=times,
        gpu_fraction=np.zeros(count),
        gpu=none,
        cpu=none.copy(),
        gpu_start=nothing,
        cpu_start=nothing.copy(),
        ready=tasks.arrival_time.copy(),
        finish=nothing.copy(),
        status=np.full(count, status, np.uint8),
    )
