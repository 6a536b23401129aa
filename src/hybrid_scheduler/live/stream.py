"""A walk through a file of tasks, in order of arrival, that begins again at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.workloads.generator import WorkloadGenerator, full_rate
from hybrid_scheduler.workloads.library import Library, is_upload, obstacle


class Walk:
    """Where a stream is in a file; gaps keep their proportions, whatever the rate is."""

    def __init__(self, spec: str, library: Library | None) -> None:
        if library is None:
            raise InputError(f"'{spec}' is an uploaded workload, but there is no folder of them: choose a preset")
        self.spec = library.resolve(spec).pinned
        self.tasks = _in_order(library.tasks(self.spec))
        if why := obstacle(self.tasks):
            raise InputError(f"workload '{spec}' cannot race live: {why}")
        gaps = np.diff(self.tasks.arrival_time)
        mean = float(gaps.mean()) if len(gaps) else 1.0
        self._gaps = np.concatenate([[mean], gaps]) / mean  # the mean gap stands between the last task and the first
        self._next = 0

    def take(self, count: int, rate: float, now: float) -> Tasks:
        """Return the next tasks, at most `count` and none beyond the end of the file, and move on."""
        first, last = self._next, min(self._next + count, len(self.tasks))
        self._next = last % len(self.tasks)
        arrival = now + np.cumsum(self._gaps[first:last]) / rate
        return self.tasks.part(first, last).arriving_at(arrival)

    def put_back(self, count: int) -> None:
        """Go back by so many tasks, which were taken last and have not arrived."""
        self._next = (self._next - count) % len(self.tasks)


def _in_order(tasks: Tasks) -> Tasks:
    """Return independent tasks in order of arrival; those that arrive together stay in order of the file."""
    if tasks.in_order or tasks.has_edges:
        return tasks
    return tasks.in_order_of(np.argsort(tasks.arrival_time, kind="stable"))


CHUNK = 1000
SAMPLE, SAMPLE_SEED = 4000, 2_000_003  # tasks from which the rate at full load is taken


class Stream:
    """Tasks without end, drawn by lot or walked from a file; `take` moves on, `turn` changes what comes next."""

    def __init__(
        self,
        settings: LiveSettings,
        library: Library | None = None,
        dressed: Callable[[Tasks], Tasks] = lambda tasks: tasks,
    ) -> None:
        self._dressed = dressed  # gives tasks the times by which offered load counts
        self.number, self.now = 0, 0.0  # of the next task; arrival of the last one
        self._chunk, self._left = 0, 0
        self._tasks: Tasks | None = None
        self._library = library
        self._walk: Walk | None = None  # through a file, if the tasks are not drawn
        self.turn(settings)

    def pinned(self, settings: LiveSettings) -> LiveSettings:
        """Return settings that name a file by its SHA-256 too; fails if no stream can be made of them."""
        if not is_upload(settings.preset):
            return settings
        walk = Walk(settings.preset, self._library)
        self._rate(settings, walk)
        return replace(settings, preset=walk.spec)

    def turn(self, settings: LiveSettings) -> None:
        """Go on by these settings: what was drawn and not taken is dropped, in a file it comes again."""
        walk = self._walk
        if walk is not None:
            walk.put_back(self._left)
        if not is_upload(settings.preset):
            walk = None
        elif walk is None or walk.spec != settings.preset:
            walk = Walk(settings.preset, self._library)
        self._settings, self._left, self._walk = settings, 0, walk
        self.rate = self._rate(settings, walk)

    def take(self, count: int) -> Tasks:
        """Return the next tasks, at most `count`, at least one."""
        if not self._left:
            self._draw()
        assert self._tasks is not None  # noqa: S101  # just drawn
        first = len(self._tasks) - self._left
        taken = self._tasks.part(first, min(first + count, len(self._tasks)))
        self._left -= len(taken)
        numbers = np.arange(self.number, self.number + len(taken))
        self.number += len(taken)
        self.now = float(taken.arrival_time[-1])
        return replace(taken, task_id=numbers)

    def insert(self, tasks: Tasks) -> Tasks:
        """Give tasks that come from elsewhere the next numbers and let them arrive now."""
        numbers = np.arange(self.number, self.number + len(tasks))
        self.number += len(tasks)
        return replace(tasks, task_id=numbers, arrival_time=np.full(len(tasks), self.now))

    def _draw(self) -> None:
        if self._walk is not None:
            self._tasks = self._walk.take(CHUNK, self.rate, self.now)
        else:
            self._chunk += 1
            generator = WorkloadGenerator((self._settings.seed * 1_000_003 + self._chunk) % 2**63)
            drawn = generator.generate_preset(self._settings.preset, CHUNK, rate=self.rate)
            self._tasks = drawn.arriving_at(drawn.arrival_time + self.now)
        self._left = len(self._tasks)

    def _rate(self, settings: LiveSettings, walk: Walk | None) -> float:
        if settings.rate:
            return settings.rate
        return (settings.load or 0.0) * full_rate(self._dressed(_sample(settings, walk)), settings.cluster)


def _sample(settings: LiveSettings, walk: Walk | None) -> Tasks:
    """Return tasks of the kind that will come."""
    if walk is not None:
        return walk.tasks
    return WorkloadGenerator(SAMPLE_SEED).generate_preset(settings.preset, SAMPLE, rate=1.0)
