"""The race itself, one block at a time: what it does depends on its seed and on the changes made, on nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hybrid_scheduler.core.physics import class_times, fastest
from hybrid_scheduler.core.placements import LOST, QUEUE_FULL, Placements
from hybrid_scheduler.core.tasks import Floats, Task, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.labels import isolated_labels
from hybrid_scheduler.live.analysis import Memory
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.execution_model import Ground
from hybrid_scheduler.live.lane import COLUMNS, LiveLane
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.snapshot import (
    Analysis,
    DeviceState,
    SchedulerState,
    Snapshot,
    TaskRecord,
    TaskResult,
    WindowFigures,
    history_of,
    insight_of,
)
from hybrid_scheduler.live.stream import Stream
from hybrid_scheduler.schedulers.explain import Explanation, asked
from hybrid_scheduler.workloads.library import Library

QUANTILES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True)
class Placed:
    """A block of tasks, what every scheduler made of it, and tasks that a failure has placed anew."""

    tasks: Tasks
    placements: dict[str, Placements]
    restarted: dict[str, Placements]
    optimal_gpu_fraction: Floats
    optimal_time: Floats
    now: float
    reasons: dict[str, Explanation] = field(default_factory=dict)  # for the first task; empty: nobody asked
    devices: tuple[tuple[str, str], ...] = ()  # names for people, and kinds

    @property
    def measured(self) -> bool:
        """Whether the tasks really ran."""
        return any(each.measured for each in self.placements.values())


class LiveRace:
    """All lanes on one endless stream."""

    def __init__(self, settings: LiveSettings, library: Library | None = None, ground: Ground | None = None) -> None:
        if settings.measured and ground is None:
            raise InputError(f"backend '{settings.backend}' needs its devices: see execution/live.py")
        self.ground = ground or Ground()
        self.stream = Stream(settings, library, self.ground.dressed)
        self.settings = settings = self.stream.pinned(settings)
        self.bound = LiveBound(settings.cluster)
        self.lanes = {name: self._new_lane(name) for name in settings.schedulers}
        self.memory = Memory()
        self.latest: TaskRecord | None = None
        self._use_devices(settings)

    def _new_lane(self, name: str) -> LiveLane:
        settings = self.settings
        policy = self.ground.policy(name, settings)
        policy.weigh_energy(settings.energy_weight)
        now = self.stream.now
        bound = LiveBound(settings.cluster, now) if self.stream.number else self.bound
        return LiveLane(self.ground.lane(policy, settings.cluster), now, bound)

    # --- moving on ---------------------------------------------------------------------------------------------

    def advance(self, count: int) -> Placed:
        """Let the next tasks arrive and be placed by all."""
        return self.place(self.stream.take(count))

    def submit(self, task: Task) -> tuple[Placed, dict[str, Explanation]]:
        """Let a task by hand arrive now; return also why each scheduler placed it as it did."""
        tasks = self.stream.insert(Tasks.of([task]))
        reasons = self.explain(tasks)  # before it is placed: that changes the queues
        return self.place(tasks, reasons), reasons

    def explain(self, tasks: Tasks) -> dict[str, Explanation]:
        """Return why each scheduler will place the first of these tasks as it will; asking changes nothing."""
        tasks = self.ground.dressed(tasks)
        times = class_times(tasks, self.settings.cluster)
        return {name: asked(lane.lane, tasks, times) for name, lane in self.lanes.items()}

    def place(self, tasks: Tasks, reasons: dict[str, Explanation] | None = None) -> Placed:
        """Let all place the tasks that arrive now."""
        cluster, tasks = self.settings.cluster, self.ground.dressed(tasks)
        known = class_times(tasks, cluster)
        most, now = self.settings.max_queue, float(tasks.arrival_time[0])
        placed = {name: lane.run(tasks, known, now, most) for name, lane in self.lanes.items()}
        before, times = self.bound.fork(), self.ground.passed(known, placed)
        self.bound.add(tasks.arrival_time, times)
        for name, lane in self.lanes.items():
            self._move_own_bound(lane, placed[name], times, before)
        for lane in self.lanes.values():
            lane.forget(self.stream.now)
        self._count_wins(placed)
        self.memory.add(placed)
        labels = isolated_labels(times, cluster), fastest(times, cluster)
        block = Placed(tasks, placed, {}, *labels, self.stream.now, reasons or {}, self._devices())
        self.latest = record(block, len(tasks) - 1)
        return block

    def _move_own_bound(self, lane: LiveLane, placed: Placements, times: Floats, before: LiveBound) -> None:
        """Keep the bound of a lane that has not had all tasks: it joined later, or has turned some away."""
        taken = (placed.status != QUEUE_FULL) & (placed.status != LOST)
        if lane.bound is self.bound and not taken.all():
            lane.bound = before.fork()
        if lane.bound is not self.bound:
            lane.bound.add(placed.tasks.arrival_time[taken], times[taken])

    def _count_wins(self, placed: dict[str, Placements]) -> None:
        ends = np.array([np.where(each.ran, each.finish, np.inf) for each in placed.values()])
        first = ends.argmin(axis=0)[np.isfinite(ends.min(axis=0))]
        for number, count in enumerate(np.bincount(first, minlength=len(placed))):
            self.lanes[list(placed)[number]].totals.wins += int(count)

    def _devices(self) -> tuple[tuple[str, str], ...]:
        devices = self.settings.cluster.devices
        return tuple((self.ground.label(each), each.device_class.kind) for each in devices)

    # --- changing ----------------------------------------------------------------------------------------------

    def change(self, settings: LiveSettings) -> dict[str, Placements]:
        """Go on by other settings; return tasks that were placed anew because their GPU failed, by scheduler."""
        old, self.settings = self.settings, settings
        if (old.preset, old.load, old.rate, old.num_gpus, old.seed) != (
            settings.preset, settings.load, settings.rate, settings.num_gpus, settings.seed,
        ):  # fmt: skip
            self.stream.turn(settings)
        self._choose_lanes(settings)
        for lane in self.lanes.values():
            lane.scheduler.weigh_energy(settings.energy_weight)
        restarted = self._use_cluster(old, settings) if settings.num_gpus != old.num_gpus else {}
        return self._use_devices(settings, restarted)

    def _use_cluster(self, old: LiveSettings, settings: LiveSettings) -> dict[str, Placements]:
        """Go on with more or fewer GPUs; those that leave do so as if they had failed."""
        gpus = [int(gpu) for gpu in old.cluster.gpus]
        # Those that fail in the same change go with them, so that no task starts again twice.
        gone = {*gpus[settings.num_gpus :], *(gpus[number] for number in settings.failed_gpus if number < len(gpus))}
        restarted, now = {}, self.stream.now
        for name, lane in self.lanes.items():
            if lane.cluster.counts.sum() == settings.cluster.counts.sum():
                continue  # it has just joined
            lost = lane.fail(gone & {int(gpu) for gpu in lane.lane.machine.view.gpus}, now)
            if lost is not None:
                restarted[name] = lane.rerun(lost, now)
            lane.use(settings.cluster, now)
        return restarted

    def _choose_lanes(self, settings: LiveSettings) -> None:
        for name in [name for name in self.lanes if name not in settings.schedulers]:
            self.lanes.pop(name).scheduler.close()
        self.lanes = {name: self.lanes.get(name) or self._new_lane(name) for name in settings.schedulers}

    def _use_devices(
        self, settings: LiveSettings, restarted: dict[str, Placements] | None = None
    ) -> dict[str, Placements]:
        """Fail and restore GPUs in every lane until they are as the settings say; add what starts again."""
        gpus = settings.cluster.gpus
        wanted = {int(gpus[number]) for number in settings.failed_gpus}
        restarted, now = dict(restarted or {}), self.stream.now
        for name, lane in self.lanes.items():
            working = {int(gpu) for gpu in lane.lane.machine.view.gpus}
            lane.restore({int(gpu) for gpu in gpus} - working - wanted, now)
            lost = lane.fail(wanted & working, now)
            if lost is not None:
                restarted[name] = lane.rerun(lost, now)
        counts = settings.cluster.counts.copy()
        for device in wanted:
            counts[settings.cluster.class_index[device]] -= 1
        for bound in (self.bound, *(lane.bound for lane in self.lanes.values())):
            bound.use(counts, now)
        return restarted

    def close(self) -> None:
        """Let go of what the schedulers and the ground hold."""
        for lane in self.lanes.values():
            lane.scheduler.close()
        self.ground.close()

    # --- looking -----------------------------------------------------------------------------------------------

    def snapshot(self, state: str, tasks_per_second: float, error: str) -> Snapshot:
        """Return this moment as plain data."""
        settings, now = self.settings, self.stream.now
        gpus = settings.cluster.gpus.tolist()
        failed = {gpus[number] for number in settings.failed_gpus}
        return Snapshot(
            state=state,
            measured=settings.measured,
            tasks_processed=self.stream.number,
            sim_time=now,
            tasks_per_second=tasks_per_second,
            arrival_rate=self.stream.rate,
            bound=self.bound.seconds,
            settings=settings.to_dict(),
            devices=[
                DeviceState(each.index, self.ground.label(each), kind.kind, kind.name, each.index in failed)
                for each, kind in ((each, each.device_class) for each in settings.cluster.devices)
            ],
            schedulers=[self._scheduler_state(name, lane) for name, lane in self.lanes.items()],
            latest=self.latest,
            error=error,
        )

    def _scheduler_state(self, name: str, lane: LiveLane) -> SchedulerState:
        totals, now = lane.totals, self.stream.now
        mean = dict(zip(COLUMNS, totals.sums / max(1, totals.tasks), strict=True))
        sums = dict(zip(COLUMNS, totals.sums, strict=True))
        recent = lane.recent[:, COLUMNS.index("turnaround")]
        return SchedulerState(
            name=name,
            tasks=totals.tasks,
            rejected=totals.rejected,
            restarts=totals.restarts + lane.lane.deaths,
            spilled=totals.spilled,
            wins=totals.wins,
            avg_time=float(mean["execution"]),
            mean_turnaround=float(mean["turnaround"]),
            total_time=float(sums["execution"]),
            energy=float(sums["energy"]),
            cost=float(sums["cost"]),
            makespan=totals.makespan,
            makespan_over_bound=totals.makespan / max(lane.bound.seconds, 1e-12) if totals.tasks else 1.0,
            backlog=lane.backlog(now),
            queue_length=lane.queue_length(now),
            saturated=lane.saturated,
            utilisation=lane.utilisation(now),
            window=_window(lane.recent),
            turnaround_cdf=np.quantile(recent, QUANTILES).tolist() if len(recent) else [],
            decision_microseconds=1e6 * lane.lane.seconds / max(1, totals.tasks),
            insight=insight_of(lane.scheduler),
        )

    def analysis(self) -> Analysis:
        """Return the slow pictures."""
        histories = {name: history_of(lane.scheduler) for name, lane in self.lanes.items()}
        return self.memory.analysis(list(self.lanes), {name: each for name, each in histories.items() if each})


def _window(recent: Floats) -> WindowFigures:
    if not len(recent):
        return WindowFigures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mean = dict(zip(COLUMNS, recent.mean(axis=0).tolist(), strict=True))
    p50, p95, p99 = np.quantile(recent[:, COLUMNS.index("turnaround")], (0.5, 0.95, 0.99)).tolist()
    return WindowFigures(
        tasks=len(recent),
        avg_time=mean["execution"],
        mean_turnaround=mean["turnaround"],
        p50_turnaround=p50,
        p95_turnaround=p95,
        p99_turnaround=p99,
        mean_waiting=mean["waiting"],
        energy=mean["energy"],
        cost=mean["cost"],
        gpu_share=mean["gpu_fraction"],
    )


def record(block: Placed, row: int) -> TaskRecord:
    """Return one task of a block and what all schedulers made of it."""
    task = block.tasks[row]
    return TaskRecord(
        task_id=task.task_id,
        size=task.size,
        compute_intensity=task.compute_intensity,
        memory_required=task.memory_required,
        arrival_time=task.arrival_time,
        optimal_gpu_fraction=float(block.optimal_gpu_fraction[row]),
        optimal_time=float(block.optimal_time[row]),
        results={name: result(placed, row) for name, placed in block.placements.items()},
        explained=row == 0 and bool(block.reasons),
        measured=block.measured,
    )


def result(placed: Placements, row: int, attempt: int = 1) -> TaskResult:
    """Return what one scheduler made of one task."""
    if not placed.ran[row]:
        nan = float("nan")
        return TaskResult(0.0, -1, nan, nan, nan, nan, nan, 0.0, 0.0, int(placed.status[row]), attempt)
    decision = placed.decision(row)
    return TaskResult(
        gpu_fraction=decision.gpu_fraction,
        device=decision.device,
        start=float(placed.start[row]),
        finish=float(placed.finish[row]),
        time=float(placed.execution[row]),
        waiting=float(placed.waiting[row]),
        turnaround=float(placed.turnaround[row]),
        energy=float(placed.energy[row]),
        cost=float(placed.cost[row]),
        status=int(placed.status[row]),
        attempt=attempt,
    )
