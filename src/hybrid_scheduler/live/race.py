"""The live race: all lanes on one endless stream, one block at a time.

A simulated race depends on its seed and on the changes made to it, on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hybrid_scheduler.core.cluster import Device
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.placements import LOST, QUEUE_FULL, Placements
from hybrid_scheduler.core.tasks import Floats, Ints, Task, Tasks
from hybrid_scheduler.errors import InputError, check_number
from hybrid_scheduler.learning.labels import label_isolated
from hybrid_scheduler.live.analysis import FirstFinishes, RecentTasks
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.lane import METRICS, UTILISATION_SECONDS, ExecutionModel, LiveLane, Started
from hybrid_scheduler.live.settings import LiveSettings, MeasuredSettings
from hybrid_scheduler.live.snapshot import (
    Analysis,
    DeviceState,
    PlacedBlock,
    SchedulerFigures,
    Snapshot,
    WindowFigures,
    build_task_records,
    read_history,
    read_insight,
)
from hybrid_scheduler.live.windows import CertifiedWindows, Window
from hybrid_scheduler.schedulers.explain import Explanation, explain_next
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.workloads.generator import WorkloadGenerator, saturation_rate
from hybrid_scheduler.workloads.library import Library, find_obstacle, is_upload

STREAM_SETTINGS = ("preset", "load", "rate", "num_gpus", "seed")
CHUNK = 1000  # tasks that are generated at a time
SAMPLE, SAMPLE_SEED = 4000, 2_000_003  # tasks from which the rate at full load is computed
MIN_FLOW, MAX_FLOW = 1e-12, 1e12  # tasks per simulated second that a load may come to
QUANTILES = np.linspace(0.0, 1.0, 21)


class Stream:
    """Tasks without end, generated from a preset or replayed from a trace, at the rate of the settings."""

    def __init__(
        self,
        settings: LiveSettings,
        library: Library | None = None,
        with_known_times: Callable[[Tasks], Tasks] = lambda tasks: tasks,
    ) -> None:
        self._with_known_times = with_known_times  # the times by which offered load counts
        self.number, self.now = 0, 0.0  # of the next task; arrival of the last one
        self._chunk, self._left = 0, 0
        self._tasks: Tasks | None = None
        self._library = library
        self._trace: TraceReplay | None = None  # None: a preset
        self.use_settings(settings)

    def pin_workload(self, settings: LiveSettings) -> LiveSettings:
        """Return settings that name a trace with its SHA-256; raises if no stream can be made of them."""
        if not is_upload(settings.preset):
            return settings
        trace = TraceReplay(settings.preset, self._library)
        self._arrival_rate(settings, trace)
        return replace(settings, preset=trace.spec)

    def use_settings(self, settings: LiveSettings) -> None:
        """Continue with these settings; tasks of a trace that were read ahead come again."""
        trace = self._trace
        if trace is not None:
            trace.put_back(self._left)
        if not is_upload(settings.preset):
            trace = None
        elif trace is None or trace.spec != settings.preset:
            trace = TraceReplay(settings.preset, self._library)
        self._settings, self._left, self._trace = settings, 0, trace
        self.rate = self._arrival_rate(settings, trace)

    def take(self, count: int) -> Tasks:
        """Return the next tasks, at most `count`, at least one."""
        if self._tasks is None or not self._left:
            self._tasks = self._next_chunk()
            self._left = len(self._tasks)
        first = len(self._tasks) - self._left
        taken = self._tasks.part(first, min(first + count, len(self._tasks)))
        self._left -= len(taken)
        self.now = float(taken.arrival_time[-1])
        return replace(taken, task_id=self._next_ids(len(taken)))

    def insert(self, tasks: Tasks) -> Tasks:
        """Give tasks from outside the next ids and let them arrive now."""
        return replace(tasks, task_id=self._next_ids(len(tasks)), arrival_time=np.full(len(tasks), self.now))

    def _next_ids(self, count: int) -> Ints:
        self.number += count
        return np.arange(self.number - count, self.number)

    def _next_chunk(self) -> Tasks:
        if self._trace is not None:
            return self._trace.take(CHUNK, self.rate, self.now)
        self._chunk += 1
        generator = WorkloadGenerator((self._settings.seed * 1_000_003 + self._chunk) % 2**63)
        generated = generator.generate_preset(self._settings.preset, CHUNK, rate=self.rate)
        return generated.with_arrival_times(generated.arrival_time + self.now)

    def _arrival_rate(self, settings: LiveSettings, trace: TraceReplay | None) -> float:
        if settings.rate:
            return settings.rate
        generator = WorkloadGenerator(SAMPLE_SEED)
        sample = trace.tasks if trace else generator.generate_preset(settings.preset, SAMPLE, rate=1.0)
        rate = (settings.load or 0.0) * saturation_rate(self._with_known_times(sample), settings.cluster)
        check_number(f"load {settings.load} of {settings.preset} in tasks a second", float(rate), MIN_FLOW, MAX_FLOW)
        return rate


class TraceReplay:
    """Replays a trace of the library over and over; gaps keep their proportions at any rate."""

    def __init__(self, spec: str, library: Library | None) -> None:
        if library is None:
            raise InputError(f"'{spec}' is an uploaded workload, but there is no folder of them: choose a preset")
        self.spec = library.resolve(spec).pinned_spec
        self.tasks = library.tasks(self.spec)
        if not self.tasks.in_order and not self.tasks.has_edges:
            self.tasks = self.tasks.select(np.argsort(self.tasks.arrival_time, kind="stable"))
        if why := find_obstacle(self.tasks):
            raise InputError(f"workload '{spec}' cannot race live: {why}")
        gaps = np.diff(self.tasks.arrival_time)
        mean = float(gaps.mean()) if len(gaps) else 1.0
        with np.errstate(all="ignore"):
            self._gaps = np.concatenate([[mean], gaps]) / mean  # between the last task and the first: the mean gap
        if not np.isfinite(self._gaps).all():
            raise InputError(f"workload '{spec}' cannot race live: its gaps are too short to be stretched")
        self.position = 0

    def take(self, count: int, rate: float, now: float) -> Tasks:
        """Return the next tasks, at most `count` and none beyond the end of the trace."""
        first, last = self.position, min(self.position + count, len(self.tasks))
        self.position = last % len(self.tasks)
        arrival = now + np.cumsum(self._gaps[first:last]) / rate
        return self.tasks.part(first, last).with_arrival_times(arrival)

    def put_back(self, count: int) -> None:
        """Go back by `count` tasks, which were taken last and have not arrived."""
        self.position = (self.position - count) % len(self.tasks)


class LiveRace:
    """All lanes on one endless stream."""

    def __init__(self, settings: LiveSettings, library: Library | None = None) -> None:
        self.execution = ExecutionModel()
        if isinstance(settings, MeasuredSettings):  # only then the runtime is loaded
            from hybrid_scheduler.live.real_devices import RealExecution

            self.execution = RealExecution(settings)
        try:
            self.stream = Stream(settings, library, self.execution.with_known_times)
            self.settings = settings = self.stream.pin_workload(settings)
            self.bound = LiveBound(settings.cluster)
            self.lanes = {name: self._create_lane(name) for name in settings.schedulers}
            self.recent, self._finishes = RecentTasks(), FirstFinishes()
            self.windows = CertifiedWindows(settings.cluster)
            self._last_block: PlacedBlock | None = None
            self._update_failed_gpus(settings)
        except BaseException:
            self.execution.close()
            raise

    def _create_lane(self, name: str) -> LiveLane:
        cluster, now = self.settings.cluster, self.stream.now
        scheduler = self.execution.create_scheduler(name, self.settings)
        if is_learner(scheduler):
            scheduler.set_energy_weight(self.settings.energy_weight)
        bound = LiveBound(cluster, now) if self.stream.number else self.bound
        return LiveLane(self.execution.create_lane(scheduler, cluster), now, bound)

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

    def has_room(self, count: int) -> bool:
        """Whether no lane can reject any of the next tasks, even if all of them wait on two devices."""
        most, now = self.settings.max_queue, self.stream.now
        return most is None or all(lane.count_waiting(now) + 2 * count < most for lane in self.lanes.values())

    def submit(self, task: Task) -> PlacedBlock:
        """Let a given task arrive now; return its placements and why each scheduler chose its own."""
        tasks = self.stream.insert(Tasks.from_iterable([task]))
        return self.place(tasks, self.explain(tasks))  # explained first: placing it changes the queues

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
            lane.work.forget_before(self.stream.now - UTILISATION_SECONDS)
        self.recent.add(placed)
        self._finishes.add(placed)
        self.windows.add(times, placed, self.settings.pace)
        self._collect_started()
        optimum = label_isolated(times, cluster), best_split_times(times, cluster)
        devices = tuple((self.execution.display_name(each), each.device_class.kind) for each in cluster.devices)
        self._last_block = PlacedBlock(tasks, placed, *optimum, explanations or {}, devices)
        return self._last_block

    def _collect_started(self) -> None:
        """Note the tasks of earlier blocks that have started, and count the wins that are decided by now."""
        for name, lane in self.lanes.items():
            for placed in lane.find_started():
                self.recent.settle(name, placed)
                self._finishes.settle(name, placed)
                self.windows.settle(name, placed)
        for name, count in self._finishes.count_wins(list(self.lanes), self.stream.now).items():
            self.lanes[name].totals.wins += count

    def take_started(self) -> dict[str, Started]:
        """Return the tasks of earlier blocks that have started since the last call, by scheduler."""
        return {name: started for name, lane in self.lanes.items() if (started := lane.take_started())}

    def _update_own_bound(self, lane: LiveLane, placed: Placements, times: Floats, before: LiveBound) -> None:
        """Update the bound of a lane that has not run all tasks: it joined late, or has rejected some."""
        taken = (placed.status != QUEUE_FULL) & (placed.status != LOST)
        if lane.bound is self.bound and not taken.all():
            lane.bound = before.fork()
        if lane.bound is not self.bound:
            lane.bound.add(placed.tasks.arrival_time[taken], times[taken])

    # --- changing ----------------------------------------------------------------------------------------------

    def change(self, settings: LiveSettings) -> dict[str, Placements]:
        """Continue with other settings; return the tasks that were placed again because their GPU failed."""
        old, self.settings = self.settings, settings
        if any(getattr(old, name) != getattr(settings, name) for name in STREAM_SETTINGS):
            self.stream.use_settings(settings)
        lanes = self.lanes
        self.lanes = {name: lanes.get(name) or self._create_lane(name) for name in settings.schedulers}
        for name, lane in lanes.items():
            if name not in self.lanes and is_learner(lane.scheduler):
                lane.scheduler.close()
        for lane in self.lanes.values():
            if is_learner(lane.scheduler):
                lane.scheduler.set_energy_weight(settings.energy_weight)
        restarted = self._use_cluster(old, settings) if settings.num_gpus != old.num_gpus else {}
        restarted |= self._update_failed_gpus(settings)
        for name, placed in restarted.items():
            self.windows.settle(name, placed)
        self._collect_started()
        return restarted

    def _use_cluster(self, old: LiveSettings, settings: LiveSettings) -> dict[str, Placements]:
        """Add or remove GPUs; removed ones fail first, so that their tasks start again elsewhere."""
        self.windows.use_cluster(settings.cluster, self.stream.number)
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
        placed = self.lanes[name].fail(gpus, self.stream.now)
        return {} if placed is None else {name: placed}

    # --- state -------------------------------------------------------------------------------------------------

    def snapshot(self, state: str, tasks_per_second: float, error: str, certify: bool = True) -> Snapshot:
        """Return this moment as plain data; without `certify` only with a certificate that is there already."""
        settings = self.settings
        failed = {int(settings.cluster.gpus[number]) for number in settings.failed_gpus}
        window = self.windows.find_shown() if certify else self.windows.find_certified()
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
            schedulers=[self._scheduler_figures(name, lane, window) for name, lane in self.lanes.items()],
            latest=build_task_records(self._last_block, slice(-1, None))[0] if self._last_block else None,
            error=error,
            certified_window=window.describe() if window else None,
        )

    def _device_state(self, device: Device, failed: bool) -> DeviceState:
        kind, name = device.device_class.kind, device.device_class.name
        return DeviceState(device.index, self.execution.display_name(device), kind, name, failed)

    def _scheduler_figures(self, name: str, lane: LiveLane, window: Window | None) -> SchedulerFigures:
        totals, now, outlook = lane.totals, self.stream.now, lane.outlook()
        measured, certified = lane.measure(outlook), window.measure(name, outlook) if window else None
        execution, turnaround, _, energy, cost, _ = measured.sums.tolist()
        recent = measured.recent[:, METRICS.index("turnaround")]
        return SchedulerFigures(
            name=name,
            tasks=totals.tasks,
            rejected=totals.rejected,
            restarts=totals.restarts + lane.lane.deaths,
            spilled=totals.spilled,
            wins=totals.wins,
            avg_time=execution / max(1, totals.tasks),
            mean_turnaround=turnaround / max(1, totals.tasks),
            total_time=execution,
            energy=energy,
            cost=cost,
            makespan=measured.makespan,
            makespan_over_bound=measured.makespan / max(lane.bound.seconds, 1e-12) if totals.tasks else 1.0,
            turnaround_over_bound=window.compare(certified) if window and certified else float("nan"),
            backlog=lane.backlog(now),
            queue_length=lane.count_waiting(now),
            saturated=lane.is_saturated,
            utilisation=lane.utilisation(now),
            window=_window_figures(measured.recent),
            turnaround_cdf=np.quantile(recent, QUANTILES).tolist() if len(recent) else [],
            decision_microseconds=1e6 * lane.lane.seconds / max(1, totals.tasks),
            insight=read_insight(lane.scheduler),
            certified=certified,
        )

    def analysis(self) -> Analysis:
        """Return the statistics that are slow to compute."""
        histories = {name: read_history(lane.scheduler) for name, lane in self.lanes.items()}
        outlooks = {name: each for name, lane in self.lanes.items() if (each := lane.outlook())}
        return self.recent.analyse(
            list(self.lanes), {name: each for name, each in histories.items() if each}, outlooks
        )


def _window_figures(recent: Floats) -> WindowFigures:
    if not len(recent):
        return WindowFigures(0, *[0.0] * 9)
    execution, turnaround, *others = recent.mean(axis=0).tolist()
    quantiles = np.quantile(recent[:, METRICS.index("turnaround")], (0.5, 0.95, 0.99)).tolist()
    return WindowFigures(len(recent), execution, turnaround, *quantiles, *others)
