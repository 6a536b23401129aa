"""A walk through a file of tasks, in order of arrival, that begins again at its end."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.workload.library import Library, obstacle


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
