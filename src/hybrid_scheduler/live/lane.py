"""Shares of tasks on the devices of one lane that run, wait or have just ended: as columns."""

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

ROOM = 512
_ROW = np.dtype([("start", "f8"), ("end", "f8"), ("device", "i8"), ("task_id", "i8"), ("block", "i8"), ("row", "i8")])


class Share(NamedTuple):
    """A share of a task on a device."""

    start: float
    end: float
    placed: Placements
    row: int


class Shares:
    """Remembers blocks of placements, and answers what is going on at a moment."""

    def __init__(self) -> None:
        self._rows: npt.NDArray[np.void] = np.empty(ROOM, _ROW)
        self._count, self._enough = 0, ROOM
        self._blocks: dict[int, Placements] = {}
        self._next = 0

    def add(self, placed: Placements) -> None:
        """Remember a block."""
        self._blocks[self._next] = placed
        for device, start, seconds in (
            (placed.gpu, placed.gpu_start, placed.gpu_seconds),
            (placed.cpu, placed.cpu_start, placed.cpu_seconds),
        ):
            rows = np.flatnonzero(device >= 0)
            new = self._new(len(rows))
            new["start"] = start[rows]
            new["end"] = new["start"] + seconds[rows]
            new["device"], new["task_id"] = device[rows], placed.tasks.task_id[rows]
            new["block"], new["row"] = self._next, rows
        self._next += 1

    def _new(self, count: int) -> npt.NDArray[np.void]:
        if self._count + count > len(self._rows):
            larger = np.empty(2 * (self._count + count), _ROW)
            larger[: self._count] = self._now
            self._rows = larger
        self._count += count
        return self._rows[self._count - count : self._count]

    @property
    def _now(self) -> npt.NDArray[np.void]:
        return self._rows[: self._count]

    def forget(self, before: float) -> None:
        """Drop what ended before a moment; now and then, since what is too old does no harm."""
        if self._count >= self._enough:
            self._keep(self._now["end"] >= before)
            self._enough = max(ROOM, 2 * self._count)

    def _keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        kept = self._now[wanted]
        self._count = len(kept)
        self._rows[: self._count] = kept
        alive = set(kept["block"].tolist())
        self._blocks = {number: placed for number, placed in self._blocks.items() if number in alive}

    def busy(self, first: float, now: float, devices: int) -> Floats:
        """Return the busy seconds of every device between two moments."""
        rows = self._now
        seconds = np.minimum(rows["end"], now) - np.maximum(rows["start"], first)
        busy: Floats = np.bincount(rows["device"], np.maximum(seconds, 0.0), devices).astype(np.float64)
        return busy

    def waiting(self, now: float) -> int:
        """Return how many shares have not begun."""
        return int((self._now["start"] > now).sum())

    def renumber(self, places: Sequence[int]) -> None:
        """Give devices other numbers; shares on a device with the number -1 are dropped."""
        rows = self._now
        rows["device"] = np.asarray(places)[rows["device"]]
        self._keep(rows["device"] >= 0)

    def lose(self, devices: Collection[int], now: float) -> list[Share]:
        """Forget the tasks that have not ended on some devices, all their shares; return one share of each."""
        rows = self._now
        hit = np.isin(rows["device"], list(devices)) & (rows["end"] > now)
        order = np.flatnonzero(hit)[np.argsort(rows["device"][hit], kind="stable")]
        lost = {int(rows["task_id"][number]): self._share(number) for number in order}  # no task is on two GPUs
        self._keep(~np.isin(rows["task_id"], list(lost)))
        return list(lost.values())

    def _share(self, number: int) -> Share:
        row = self._rows[number]
        return Share(float(row["start"]), float(row["end"]), self._blocks[int(row["block"])], int(row["row"]))


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
