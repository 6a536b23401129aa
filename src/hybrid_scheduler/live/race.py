"""The live race: all lanes on one endless stream, one block at a time.

A simulated race depends on its seed and on the changes made to it, on nothing else.
"""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.cluster import Device
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.placements import LOST, QUEUE_FULL, Placements
from hybrid_scheduler.core.tasks import Floats, Task, Tasks
from hybrid_scheduler.learning.labels import label_isolated
from hybrid_scheduler.live.analysis import RecentTasks
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.execution_model import create_execution_model
from hybrid_scheduler.live.lane import METRICS, LiveLane
from hybrid_scheduler.live.records import PlacedBlock, build_task_records
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.snapshot import (
    Analysis,
    DeviceState,
    SchedulerFigures,
    Snapshot,
    WindowFigures,
    read_history,
    read_insight,
)
from hybrid_scheduler.live.stream import Stream
from hybrid_scheduler.schedulers.explain import Explanation, explain_next
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.workloads.library import Library

STREAM_SETTINGS = ("preset", "load", "rate", "num_gpus", "seed")
QUANTILES = np.linspace(0.0, 1.0, 21)


class LiveRace:
    """All lanes on one endless stream."""

    def __init__(self, settings: LiveSettings, library: Library | None = None) -> None:
        self.execution = create_execution_model(settings)
        try:
            self.stream = Stream(settings, library, self.execution.with_known_times)
            self.settings = settings = self.stream.pin_workload(settings)
            self.bound = LiveBound(settings.cluster)
            self.lanes = {name: self._create_lane(name) for name in settings.schedulers}
            self.recent = RecentTasks()
            self._last_block: PlacedBlock | None = None
            self._update_failed_gpus(settings)
        except BaseException:
            self.execution.close()
            raise

    def _create_lane(self, name: str) -> LiveLane:
        settings, now = self.settings, self.stream.now
        scheduler = self.execution.create_scheduler(name, settings)
        if is_learner(scheduler):
            scheduler.set_energy_weight(settings.energy_weight)
        bound = LiveBound(settings.cluster, now) if self.stream.number else self.bound
        return LiveLane(self.execution.create_lane(scheduler, settings.cluster), now, bound)

    def close(self) -> None:
        """Release what the schedulers and the execution model hold."""
        for lane in self.lanes.values():
            if is_learner(lane.scheduler):
                lane.scheduler.close()
        self.execution.close()

    # --- placing -----------------------------------------------------------------------------------------------

    def advance(self, count: int) -> PlacedBlock:
        """Let the next tasks arrive, and place them in every lane."""
        return self.place(self.stream.take(count))

    def submit(self, task: Task) -> tuple[PlacedBlock, dict[str, Explanation]]:
        """Let a given task arrive now; return its placements and why each scheduler chose its own."""
        tasks = self.stream.insert(Tasks.from_iterable([task]))
        explanations = self.explain(tasks)  # before it is placed: that changes the queues
        return self.place(tasks, explanations), explanations

    def explain(self, tasks: Tasks) -> dict[str, Explanation]:
        """Return why each scheduler will place the first of these tasks as it will; changes nothing."""
        tasks = self.execution.with_known_times(tasks)
        times = class_times(tasks, self.settings.cluster)
        return {name: explain_next(lane.lane, tasks, times) for name, lane in self.lanes.items()}

    def place(self, tasks: Tasks, explanations: dict[str, Explanation] | None = None) -> PlacedBlock:
        """Place tasks that arrive now in every lane."""
        cluster, tasks = self.settings.cluster, self.execution.with_known_times(tasks)
        known = class_times(tasks, cluster)
        max_queue, now = self.settings.max_queue, float(tasks.arrival_time[0])
        placed = {name: lane.run(tasks, known, now, max_queue) for name, lane in self.lanes.items()}
        before, times = self.bound.fork(), self.execution.realized_times(known, placed)
        self.bound.add(tasks.arrival_time, times)
        for name, lane in self.lanes.items():
            self._update_own_bound(lane, placed[name], times, before)
            lane.forget(self.stream.now)
        self._count_wins(placed)
        self.recent.add(placed)
        optimum = label_isolated(times, cluster), best_split_times(times, cluster)
        devices = tuple((self.execution.display_name(each), each.device_class.kind) for each in cluster.devices)
        self._last_block = PlacedBlock(tasks, placed, *optimum, explanations or {}, devices)
        return self._last_block

    def _update_own_bound(self, lane: LiveLane, placed: Placements, times: Floats, before: LiveBound) -> None:
        """Update the bound of a lane that has not run all tasks: it joined late, or has rejected some."""
        taken = (placed.status != QUEUE_FULL) & (placed.status != LOST)
        if lane.bound is self.bound and not taken.all():
            lane.bound = before.fork()
        if lane.bound is not self.bound:
            lane.bound.add(placed.tasks.arrival_time[taken], times[taken])

    def _count_wins(self, placed: dict[str, Placements]) -> None:
        ends = np.array([np.where(each.ran, each.finish, np.inf) for each in placed.values()])
        winners = ends.argmin(axis=0)[np.isfinite(ends.min(axis=0))]
        for name, count in zip(placed, np.bincount(winners, minlength=len(placed)), strict=True):
            self.lanes[name].totals.wins += int(count)

    # --- changing ----------------------------------------------------------------------------------------------

    def change(self, settings: LiveSettings) -> dict[str, Placements]:
        """Continue with other settings; return the tasks that were placed again because their GPU failed."""
        old, self.settings = self.settings, settings
        if any(getattr(old, name) != getattr(settings, name) for name in STREAM_SETTINGS):
            self.stream.use_settings(settings)
        self._choose_lanes(settings)
        for lane in self.lanes.values():
            if is_learner(lane.scheduler):
                lane.scheduler.set_energy_weight(settings.energy_weight)
        restarted = self._use_cluster(old, settings) if settings.num_gpus != old.num_gpus else {}
        return restarted | self._update_failed_gpus(settings)

    def _choose_lanes(self, settings: LiveSettings) -> None:
        for name in [name for name in self.lanes if name not in settings.schedulers]:
            scheduler = self.lanes.pop(name).scheduler
            if is_learner(scheduler):
                scheduler.close()
        self.lanes = {name: self.lanes.get(name) or self._create_lane(name) for name in settings.schedulers}

    def _use_cluster(self, old: LiveSettings, settings: LiveSettings) -> dict[str, Placements]:
        """Add or remove GPUs; removed ones fail first, so that their tasks start again elsewhere."""
        gpus = old.cluster.gpus.tolist()
        # GPUs that fail in the same change go first too, so that no task starts again twice.
        gone = {*gpus[settings.num_gpus :], *(gpus[number] for number in settings.failed_gpus if number < len(gpus))}
        restarted: dict[str, Placements] = {}
        for name, lane in self.lanes.items():
            if lane.cluster.counts.sum() == settings.cluster.counts.sum():
                continue  # it has just joined
            restarted |= self._fail_gpus(name, gone & set(lane.lane.machine.view.gpus.tolist()))
            lane.use_cluster(settings.cluster, self.stream.now)
        return restarted

    def _update_failed_gpus(self, settings: LiveSettings) -> dict[str, Placements]:
        """Fail and restore GPUs in every lane as the settings say; return the tasks that start again."""
        cluster, now = settings.cluster, self.stream.now
        failed = {int(cluster.gpus[number]) for number in settings.failed_gpus}
        restarted: dict[str, Placements] = {}
        for name, lane in self.lanes.items():
            working = set(lane.lane.machine.view.gpus.tolist())
            lane.restore(set(cluster.gpus.tolist()) - working - failed, now)
            restarted |= self._fail_gpus(name, failed & working)
        counts = cluster.counts.copy()
        for device in failed:
            counts[cluster.class_index[device]] -= 1
        for bound in (self.bound, *(lane.bound for lane in self.lanes.values())):
            bound.use_devices(counts, now)
        return restarted

    def _fail_gpus(self, name: str, gpus: set[int]) -> dict[str, Placements]:
        lane, now = self.lanes[name], self.stream.now
        lost = lane.fail(gpus, now)
        return {} if lost is None else {name: lane.rerun(lost, now)}

    # --- state -------------------------------------------------------------------------------------------------

    def snapshot(self, state: str, tasks_per_second: float, error: str) -> Snapshot:
        """Return this moment as plain data."""
        settings = self.settings
        failed = {int(settings.cluster.gpus[number]) for number in settings.failed_gpus}
        return Snapshot(
            state=state,
            measured=settings.is_measured,
            tasks_processed=self.stream.number,
            sim_time=self.stream.now,
            tasks_per_second=tasks_per_second,
            arrival_rate=self.stream.rate,
            bound=self.bound.seconds,
            settings=settings.to_dict(),
            devices=[self._device_state(each, each.index in failed) for each in settings.cluster.devices],
            schedulers=[self._scheduler_figures(name, lane) for name, lane in self.lanes.items()],
            latest=build_task_records(self._last_block, slice(-1, None))[0] if self._last_block else None,
            error=error,
        )

    def _device_state(self, device: Device, failed: bool) -> DeviceState:
        kind, name = device.device_class.kind, device.device_class.name
        return DeviceState(device.index, self.execution.display_name(device), kind, name, failed)

    def _scheduler_figures(self, name: str, lane: LiveLane) -> SchedulerFigures:
        totals, now = lane.totals, self.stream.now
        sums = dict(zip(METRICS, totals.sums.tolist(), strict=True))
        recent = lane.recent[:, METRICS.index("turnaround")]
        return SchedulerFigures(
            name=name,
            tasks=totals.tasks,
            rejected=totals.rejected,
            restarts=totals.restarts + lane.lane.deaths,
            spilled=totals.spilled,
            wins=totals.wins,
            avg_time=sums["execution"] / max(1, totals.tasks),
            mean_turnaround=sums["turnaround"] / max(1, totals.tasks),
            total_time=sums["execution"],
            energy=sums["energy"],
            cost=sums["cost"],
            makespan=totals.makespan,
            makespan_over_bound=totals.makespan / max(lane.bound.seconds, 1e-12) if totals.tasks else 1.0,
            backlog=lane.backlog(now),
            queue_length=lane.queue_length(now),
            saturated=lane.is_saturated,
            utilisation=lane.utilisation(now),
            window=_window_figures(lane.recent),
            turnaround_cdf=np.quantile(recent, QUANTILES).tolist() if len(recent) else [],
            decision_microseconds=1e6 * lane.lane.seconds / max(1, totals.tasks),
            insight=read_insight(lane.scheduler),
        )

    def analysis(self) -> Analysis:
        """Return the statistics that are slow to compute."""
        histories = {name: read_history(lane.scheduler) for name, lane in self.lanes.items()}
        return self.recent.analyse(list(self.lanes), {name: each for name, each in histories.items() if each})


def _window_figures(recent: Floats) -> WindowFigures:
    if not len(recent):
        return WindowFigures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mean = dict(zip(METRICS, recent.mean(axis=0).tolist(), strict=True))
    p50, p95, p99 = np.quantile(recent[:, METRICS.index("turnaround")], (0.5, 0.95, 0.99)).tolist()
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
