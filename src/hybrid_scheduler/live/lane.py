"""A lane of a live race: a scheduler on its own cluster, how tasks are executed there, running work and totals."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster, Device
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import QUEUE_FULL, WAITING, Placements, concatenate_placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks, concatenate_tasks
from hybrid_scheduler.learning.background import AS_READY
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import load_or_train

UTILISATION_SECONDS = 60.0  # simulated seconds that utilisation and device lanes cover
WINDOW = 1000  # tasks of the sliding averages
MIN_GROWTH = 0.05  # seconds of backlog gained per second, over the samples, that count as growing
MIN_BACKLOG = 20.0  # mean tasks: a shorter backlog is no sign of saturation
SAMPLES, SAMPLE_INTERVAL = 20, 25  # backlogs that are kept, and tasks between two of them
TRAINING_LAG = 50  # tasks after which a background fit takes effect; at the default pace it is done long before
UNREPEATABLE_BLOCK = 50  # tasks that a learner predicts and learns from at once where nobody waits for it
METRICS = ("execution", "turnaround", "waiting", "energy", "cost", "gpu_fraction")  # as in `WindowFigures`

INITIAL_CAPACITY = 512
_ROW = np.dtype([("start", "f8"), ("end", "f8"), ("device", "i8"), ("task_id", "i8"), ("block", "i8"), ("row", "i8")])


class ExecutionModel:
    """Simulated execution: a task takes its own times, or those of the formulas."""

    def with_known_times(self, tasks: Tasks) -> Tasks:
        """Return tasks with the times that are known before they run."""
        return tasks

    def create_scheduler(self, name: str, settings: LiveSettings) -> Scheduler:
        """Return a scheduler; learners are pretrained and train in the background."""
        scheduler = load_or_train(name, settings.cluster, settings.seed, warm_start=True)
        if is_learner(scheduler):
            scheduler.train_in_background(TRAINING_LAG if settings.repeatable else AS_READY)
            if not settings.repeatable and scheduler.learn_every:
                scheduler.learn_every = max(scheduler.learn_every, UNREPEATABLE_BLOCK)
        return scheduler

    def create_lane(self, scheduler: Scheduler, cluster: Cluster) -> Lane:
        """Return the lane of a scheduler, all devices idle."""
        return Lane(scheduler, VirtualMultiGPU(cluster=cluster))

    def realized_times(self, times: Floats, placed: Mapping[str, Placements]) -> Floats:
        """Return the class times of a placed block, by which the bound is computed."""
        return times

    def display_name(self, device: Device) -> str:
        """Return the name of a device for people."""
        return device.name

    def close(self) -> None:
        """Release devices and workers."""


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
            used = np.flatnonzero((device >= 0) & placed.ran)
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

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a checkpoint: a pickle of a thousand small blocks takes seconds."""
        self._join_blocks()
        return self.__dict__

    def _join_blocks(self) -> None:
        """Join blocks that have the same columns, without the rows that nothing refers to any more."""
        groups: dict[Hashable, list[int]] = {}
        for number, placed in self._blocks.items():
            groups.setdefault(_describe_columns(placed), []).append(number)
        blocks, self._blocks = self._blocks, {}
        rows = self._rows
        for numbers in groups.values():  # ascending, as they came
            parts = [blocks[number] for number in numbers]
            offsets = np.cumsum([0, *map(len, parts[:-1])])
            here = np.isin(rows["block"], numbers)
            used, place = np.unique(
                rows["row"][here] + offsets[np.searchsorted(numbers, rows["block"][here])], return_inverse=True
            )
            joined = concatenate_placements(parts, concatenate_tasks([each.tasks for each in parts]))
            if len(used):
                self._blocks[numbers[0]] = joined.select(used)
            rows["row"][here], rows["block"][here] = place, numbers[0]

    def busy_seconds(self, begin: float, end: float, devices: int) -> Floats:
        """Return the busy seconds of every device between two moments."""
        rows = self._rows
        seconds = np.minimum(rows["end"], end) - np.maximum(rows["start"], begin)
        busy: Floats = np.bincount(rows["device"], np.maximum(seconds, 0.0), devices).astype(np.float64)
        return busy

    def count_waiting(self, now: float) -> int:
        """Return how many intervals have not begun; a split task counts on both devices."""
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
        removed: dict[int, BusyInterval] = {}
        for start, end, _, task_id, block, row in rows[order].tolist():
            removed[task_id] = BusyInterval(start, end, self._blocks[block], row)  # no task is on two GPUs
        self._keep(~np.isin(rows["task_id"], list(removed)))
        return list(removed.values())


class Started(NamedTuple):
    """Tasks of earlier blocks that have started since, and which attempt each of them is."""

    placements: Placements
    attempt: Ints


@dataclass
class Totals:
    """Sums over all tasks of a lane; what waits counts as a task and is in no sum yet."""

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
        self._numbers: dict[int, int] = {}  # of the tasks that wait: how many had come before
        self._attempts: dict[int, int] = {}  # of the tasks that a failure took from an ordered queue
        self._started: list[Started] = []
        self._noticed = 0  # of those: how many `find_started` has returned
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)  # moment and backlog
        self._unsampled = 0
        self._is_full = False  # whether the last tasks were rejected because too many were waiting

    @property
    def cluster(self) -> Cluster:
        """The cluster, failed devices included."""
        return self.lane.machine.cluster

    def run(self, tasks: Tasks, times: Floats, now: float, max_queue: int | None) -> Placements:
        """Let the scheduler place tasks; with `max_queue` already waiting they are rejected."""
        self._is_full = max_queue is not None and self._has_waiting(max_queue, now)
        if self._is_full:
            placed = reject_tasks(tasks, self.cluster, times)
        else:
            placed, earlier = self.lane.run_on(tasks, times)
            self._settle(earlier)
        totals, waits = self.totals, placed.status == WAITING
        taken = placed.ran | waits
        numbers = totals.tasks + np.cumsum(taken) - 1
        totals.tasks += int(taken.sum())
        self._numbers |= zip(tasks.task_id[waits].tolist(), numbers[waits].tolist(), strict=True)
        self._window[numbers[placed.ran] % WINDOW] = self._add(placed)
        totals.rejected += int(placed.rejected.sum())
        totals.spilled += int(placed.spilled.sum())
        self._unsampled += len(tasks)
        if self._unsampled >= SAMPLE_INTERVAL:
            self._unsampled, last = 0, float(tasks.arrival_time[-1])
            self._samples.append((last, self.backlog(last)))
        return placed

    def _has_waiting(self, count: int, now: float) -> bool:
        """Whether so many shares of tasks wait when a task arrives."""
        stream = self.lane.stream
        if stream is not None and stream.waiting >= count:  # time passes though no task is taken
            stream.start_until(float(np.nextafter(now, -np.inf)))
            self._settle(stream.collect().earlier)
        return self.count_waiting(now) >= count

    def _settle(self, started: Placements | None) -> None:
        """Count tasks of earlier blocks that have started."""
        if started is None or not len(started):
            return
        ids = started.tasks.task_id.tolist()
        self._started.append(Started(started, np.array([self._attempts.get(each, 1) for each in ids])))
        rows, totals = self._add(started), self.totals
        totals.spilled += int(started.spilled.sum())
        numbers = np.array([self._numbers.pop(each, -WINDOW) for each in ids])
        shown = numbers >= totals.tasks - WINDOW
        self._window[numbers[shown] % WINDOW] = rows[shown]

    def find_started(self) -> list[Placements]:
        """Return the tasks of earlier blocks that have started since the last call."""
        found, self._noticed = self._started[self._noticed :], len(self._started)
        return [each.placements for each in found]

    def take_started(self) -> Started | None:
        """Hand out the tasks of earlier blocks that have started since the last call; None if there are none."""
        if not self._started:
            return None
        started, self._started, self._noticed = self._started, [], 0
        parts = [each.placements for each in started]
        placements = concatenate_placements(parts, concatenate_tasks([each.tasks for each in parts]))
        return Started(placements, np.concatenate([each.attempt for each in started]))

    def _add(self, placed: Placements) -> Floats:
        """Add placements to the running work and the totals; return the metrics of those that ran."""
        self.work.add(placed)
        rows = _metric_rows(placed)[placed.ran]
        self.totals.sums += rows.sum(axis=0)
        self.totals.makespan = max(self.totals.makespan, placed.makespan)
        return rows

    # --- devices -----------------------------------------------------------------------------------------------

    def use_cluster(self, cluster: Cluster, now: float) -> None:
        """Continue on another cluster: devices of the same name keep their clocks, work on others is dropped."""
        indices = {device.name: device.index for device in cluster.devices}
        machine = VirtualMultiGPU(cluster=cluster)
        machine.take_over(self.lane.machine, now)
        self.work.renumber([indices.get(device.name, -1) for device in self.cluster.devices])
        self.lane.machine = machine
        if self.lane.stream is not None:
            self.lane.stream.use_machine(machine)

    def restore(self, devices: set[int], now: float) -> None:
        """Return failed GPUs to service, free from now on."""
        for device in sorted(devices):
            self.lane.machine.restore(device, now)
        if devices and self.lane.stream is not None:
            self.lane.stream.use_machine(self.lane.machine)

    def fail(self, devices: set[int], now: float) -> Placements | None:
        """Take GPUs away, and place the tasks again that were running or waiting there; None if there were none.

        Their turnaround still counts from their arrival. What waits again in an ordered queue is returned, as all
        that waits there, by `take_started` once it has started.
        """
        for device in sorted(devices):
            self.lane.machine.fail(device)
        lost = self.work.remove_unfinished(devices, now) if devices else []
        self.totals.restarts += len(lost)
        self.totals.sums -= sum(_unspent_metrics(interval, now) for interval in lost)
        tasks = Tasks.from_iterable([interval.placed.tasks[interval.row] for interval in lost])
        if devices and self.lane.stream is not None:
            self._wait_again(tasks, devices, now)
            return None
        if not lost:
            return None
        placed, _ = self.lane.run_on(tasks, ready=now)
        self._add(placed)
        return placed

    def _wait_again(self, lost: Tasks, devices: set[int], now: float) -> None:
        """Let tasks that had started, and those that waited for the same GPUs, choose their queues again."""
        stream = self.lane.stream
        assert stream is not None  # noqa: S101  # the caller has looked
        for task_id in lost.task_id.tolist():
            self._attempts[task_id] = self._attempts.get(task_id, 1) + 1
        waiting = stream.take_back(devices, now)
        stream.use_machine(self.lane.machine)
        if tasks := concatenate_tasks([lost, waiting]):
            block, earlier = self.lane.run_on(tasks, ready=now)
            self._settle(earlier)
            self._settle(block.select(block.ran))

    # --- state -------------------------------------------------------------------------------------------------

    def utilisation(self, now: float) -> list[float]:
        """Return the busy share of every device in the last seconds."""
        begin = max(0.0, now - UTILISATION_SECONDS)
        busy = self.work.busy_seconds(begin, now, len(self.cluster.devices)) / max(now - begin, 1e-9)
        shares: list[float] = np.minimum(busy, 1.0).tolist()
        return shares

    def count_waiting(self, now: float) -> int:
        """Return how many shares of tasks wait."""
        stream = self.lane.stream
        return self.work.count_waiting(now) + (stream.waiting if stream is not None else 0)

    def backlog(self, now: float) -> float:
        """Return the seconds of work in front of the mean device."""
        if self.lane.stream is not None:
            return self.lane.stream.backlog(now)
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

    def measure(self, outlook: Placements | None) -> LaneFigures:
        """Return the figures of all tasks; those that wait count as if no more came (`outlook`)."""
        totals, window = self.totals, self._window[: self.totals.tasks]
        if outlook is None:
            return LaneFigures(totals.sums, window, totals.makespan)
        rows = _metric_rows(outlook)[outlook.ran]
        numbers = np.array([self._numbers.get(each, -WINDOW) for each in outlook.tasks.task_id[outlook.ran].tolist()])
        shown = numbers >= totals.tasks - WINDOW
        window = window.copy()
        window[numbers[shown] % WINDOW] = rows[shown]
        return LaneFigures(totals.sums + rows.sum(axis=0), window, max(totals.makespan, outlook.makespan))

    def outlook(self) -> Placements | None:
        """Return when the tasks that wait in ordered queues would run if no more came; None if there are none."""
        stream = self.lane.stream
        return stream.outlook() if stream is not None and stream.waiting else None


class LaneFigures(NamedTuple):
    """Sums of the metrics over all tasks, the metrics of the last ones, and when the last task ends."""

    sums: Floats
    recent: Floats
    makespan: float


def _metric_rows(placed: Placements) -> Floats:
    return np.column_stack([getattr(placed, name) for name in METRICS])


def _unspent_metrics(interval: BusyInterval, now: float) -> Floats:
    """Return what a lost task had added to the totals, less the energy and cost that are already spent."""
    row: Floats = _metric_rows(interval.placed)[interval.row]
    spent = min(max((now - interval.start) / max(interval.end - interval.start, 1e-12), 0.0), 1.0)
    for name in ("energy", "cost"):
        row[METRICS.index(name)] *= 1.0 - spent
    return row


def _describe_columns(placed: Placements) -> Hashable:
    """Return what blocks must have in common to be joined without a change of any value."""
    tasks = placed.tasks
    names = tuple(tuple(each) for each in (tasks.measured, tasks.expected, tasks.features, tasks.traits))
    return id(placed.cluster), placed.queued, placed.measured, names


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
