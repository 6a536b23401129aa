"""One scheduler of a live race: its cluster, what runs where at this moment, and what it has added up to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from hybrid_scheduler.engine.bound import LiveBound
from hybrid_scheduler.engine.shares import Share, Shares
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import QUEUE_FULL, Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.simulator import VirtualMultiGPU

LOOK_BACK = 60.0  # simulated seconds that utilisation and device lanes show
WINDOW = 1000  # tasks of the sliding averages
GROWTH = 0.05  # seconds of backlog gained per second, over the last samples, that make a queue "growing"
LONG = 20.0  # mean tasks: a shorter backlog is no sign of saturation
SAMPLES, SAMPLE_EVERY = 20, 25  # backlogs remembered, and tasks between two of them
COLUMNS = ("execution", "turnaround", "waiting", "energy", "cost", "gpu_fraction")


@dataclass
class Totals:
    """What a lane has added up to."""

    tasks: int = 0
    rejected: int = 0
    restarts: int = 0
    spilled: int = 0
    wins: int = 0
    makespan: float = 0.0
    sums: Floats = field(default_factory=lambda: np.zeros(len(COLUMNS)))


class LiveLane:
    """A scheduler on its own cluster, with memory of what is running."""

    def __init__(self, lane: Lane, now: float, bound: LiveBound) -> None:
        self.scheduler = lane.scheduler
        self.bound = bound  # of the tasks that it was given: one that joins later owes nothing of what came before
        self.lane = lane
        self.lane.machine.view.free[:] = now
        self.shares = Shares()
        self.totals = Totals()
        self.window = np.zeros((WINDOW, len(COLUMNS)))
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        self._unsampled = 0
        self._is_full = False  # whether the last tasks found too many others waiting

    @property
    def cluster(self) -> Cluster:
        """The cluster, failed devices included."""
        return self.lane.machine.cluster

    def run(self, tasks: Tasks, times: Floats, now: float, max_queue: int | None) -> Placements:
        """Let the scheduler place tasks; beyond `max_queue` waiting ones they are rejected unseen."""
        self._is_full = max_queue is not None and self.queue_length(now) >= max_queue
        placed = turned_away(tasks, self.cluster, times) if self._is_full else self.lane.run(tasks, times)
        self.shares.add(placed)
        self._count(placed)
        self._sample(len(tasks), float(tasks.arrival_time[-1]))
        return placed

    # --- devices -----------------------------------------------------------------------------------------------

    def use(self, cluster: Cluster, now: float) -> None:
        """Go on with another cluster: devices of the same name keep their clocks, what runs on others ends there."""
        places = {device.name: device.index for device in cluster.devices}
        machine = VirtualMultiGPU(cluster=cluster)
        machine.take_over(self.lane.machine, now)
        self.shares.renumber([places.get(device.name, -1) for device in self.cluster.devices])
        self.lane.machine = machine

    def fail(self, devices: set[int], now: float) -> Tasks | None:
        """Take GPUs away; return the tasks that were running or waiting on them, None if there were none."""
        for device in sorted(devices):
            self.lane.machine.fail(device)
        lost = self.shares.lose(devices, now) if devices else []
        if not lost:
            return None
        self.totals.restarts += len(lost)
        self.totals.sums -= sum(_undone(share, now) for share in lost)
        return Tasks.of([share.placed.tasks[share.row] for share in lost])

    def restore(self, devices: set[int], now: float) -> None:
        """Bring GPUs back, empty."""
        for device in devices:
            self.lane.machine.restore(device, now)

    def rerun(self, tasks: Tasks, now: float) -> Placements:
        """Place tasks that a failure has thrown back; their turnaround still counts from their arrival."""
        again = self.lane.run(replace(tasks, arrival_time=np.full(len(tasks), now)))
        placed = replace(again, tasks=tasks)
        self.shares.add(placed)
        ran = placed.ran
        self.totals.sums += _rows(placed)[ran].sum(axis=0)
        self.totals.makespan = max(self.totals.makespan, placed.makespan)
        return placed

    # --- what is going on --------------------------------------------------------------------------------------

    def forget(self, now: float) -> None:
        """Drop what ended longer ago than anyone looks back."""
        self.shares.forget(now - LOOK_BACK)

    def utilisation(self, now: float) -> list[float]:
        """Return the busy share of every device in the last seconds."""
        first = max(0.0, now - LOOK_BACK)
        busy = self.shares.busy(first, now, len(self.cluster.devices)) / max(now - first, 1e-9)
        shares: list[float] = np.minimum(busy, 1.0).tolist()
        return shares

    def queue_length(self, now: float) -> int:
        """Return how many shares wait."""
        return self.shares.waiting(now)

    def backlog(self, now: float) -> float:
        """Return the seconds of work before the mean device."""
        return float(np.maximum(self.lane.machine.view.free - now, 0.0).mean())

    @property
    def saturated(self) -> bool:
        """Whether the backlog keeps growing and is no passing burst, or would if no task were turned away."""
        if self._is_full:
            return True
        if len(self._samples) < SAMPLES:
            return False
        (begin, low), (end, high) = self._samples[0], self._samples[-1]
        mean = self.totals.sums[0] / max(1, self.totals.tasks)
        return high > LONG * mean and high - low > GROWTH * max(end - begin, 1e-9)

    def _sample(self, new: int, now: float) -> None:
        self._unsampled += new
        if self._unsampled >= SAMPLE_EVERY:
            self._unsampled = 0
            self._samples.append((now, self.backlog(now)))

    # --- totals ------------------------------------------------------------------------------------------------

    def _count(self, placed: Placements) -> None:
        ran = placed.ran
        rows = _rows(placed)[ran]
        totals = self.totals
        places = (totals.tasks + np.arange(len(rows))) % WINDOW
        self.window[places] = rows
        totals.tasks += len(rows)
        totals.sums += rows.sum(axis=0)
        totals.rejected += int((~ran).sum())
        totals.spilled += int(placed.spilled.sum())
        totals.makespan = max(totals.makespan, placed.makespan)

    @property
    def recent(self) -> Floats:
        """The last tasks' columns."""
        return self.window[: min(self.totals.tasks, WINDOW)]


def _rows(placed: Placements) -> Floats:
    return np.column_stack([getattr(placed, name) for name in COLUMNS])


def _undone(span: Share, now: float) -> Floats:
    """Return what a lost task had counted for, less the joules and dollars that are spent already."""
    row: Floats = _rows(span.placed)[span.row]
    spent = min(max((now - span.start) / max(span.end - span.start, 1e-12), 0.0), 1.0)
    for name in ("energy", "cost"):
        row[COLUMNS.index(name)] *= 1.0 - spent
    return row


def turned_away(tasks: Tasks, cluster: Cluster, times: Floats, why: int = QUEUE_FULL) -> Placements:
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
        status=np.full(count, why, np.uint8),
    )
