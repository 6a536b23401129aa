"""The endless stream of tasks of a live race: generated from a preset, or a trace replayed over and over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hybrid_scheduler.core.tasks import Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.workloads.generator import WorkloadGenerator, saturation_rate
from hybrid_scheduler.workloads.library import Library, find_obstacle, is_upload

CHUNK = 1000  # tasks that are generated at a time
SAMPLE, SAMPLE_SEED = 4000, 2_000_003  # tasks from which the rate at full load is computed


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
        return (settings.load or 0.0) * saturation_rate(self._with_known_times(sample), settings.cluster)


class TraceReplay:
    """Replays a trace of the library over and over; gaps keep their proportions at any rate."""

    def __init__(self, spec: str, library: Library | None) -> None:
        if library is None:
            raise InputError(f"'{spec}' is an uploaded workload, but there is no folder of them: choose a preset")
        self.spec = library.resolve(spec).pinned_spec
        self.tasks = _sort_by_arrival(library.tasks(self.spec))
        if why := find_obstacle(self.tasks):
            raise InputError(f"workload '{spec}' cannot race live: {why}")
        gaps = np.diff(self.tasks.arrival_time)
        mean = float(gaps.mean()) if len(gaps) else 1.0
        self._gaps = np.concatenate([[mean], gaps]) / mean  # between the last task and the first: the mean gap
        self._next = 0

    def take(self, count: int, rate: float, now: float) -> Tasks:
        """Return the next tasks, at most `count` and none beyond the end of the trace."""
        first, last = self._next, min(self._next + count, len(self.tasks))
        self._next = last % len(self.tasks)
        arrival = now + np.cumsum(self._gaps[first:last]) / rate
        return self.tasks.part(first, last).with_arrival_times(arrival)

    def put_back(self, count: int) -> None:
        """Go back by `count` tasks, which were taken last and have not arrived."""
        self._next = (self._next - count) % len(self.tasks)


def _sort_by_arrival(tasks: Tasks) -> Tasks:
    """Return independent tasks in order of arrival; ties stay in order of the file."""
    if tasks.in_order or tasks.has_edges:
        return tasks
    return tasks.select(np.argsort(tasks.arrival_time, kind="stable"))
