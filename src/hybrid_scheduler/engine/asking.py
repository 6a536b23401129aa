"""Asking schedulers why, without a trace: the race goes on as if nobody had asked."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.placements import RAN
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.physics import expected_times
from hybrid_scheduler.schedulers.explain import Explanation, explained
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.view import TaskView

A_SECOND = 25.0  # explanations, at most: a few more than blocks of a paced race
SHARE = 0.05  # of the time of a race that has none to spare
Reasons = dict[str, Explanation]


class Asking:
    """Says how often one may ask: credit grows with wall time and is spent by the time that asking takes."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._credit, self._seen = A_SECOND, clock()

    def ask(self, question: Callable[[], Reasons], hurried: bool) -> Reasons:
        """Ask if there is credit for it; a race that is `hurried` spends more than one that would only sleep."""
        begin = self._clock()
        self._credit = min(A_SECOND, self._credit + A_SECOND * (begin - self._seen))
        self._seen = begin
        if self._credit < 1.0:
            return {}
        reasons = question()
        took = self._clock() - begin
        self._credit -= max(1.0, A_SECOND * took / SHARE) if hurried else 1.0
        return reasons


def asked(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    """Ask a lane's scheduler about the first of some tasks, before they are placed."""
    try:
        return _answer(lane, tasks, times)
    except Exception as error:  # noqa: BLE001  # who cannot say why may race all the same; the page shows the error
        rule = f"cannot say why: {type(error).__name__}: {error}"
        return Explanation(float("nan"), -1, rule, (), {})


def _answer(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    twin, machine = lane.scheduler.twin(), lane.machine.twin()
    view = lane.machine.twin().view_at(float(tasks.arrival_time[0]))
    part = tasks.part(0, lane.scheduler.learn_every or len(tasks))  # as the lane will hand them over
    # In the compiled loop, because interpreted the agent alone takes 50 ms.
    placed = machine.step(part, twin, times=times[: len(part)])
    seen = expected_times(part, machine.cluster, times[: len(part)])
    task = _first(part, seen if twin.sighted else np.full_like(seen, np.nan))
    if placed.status[0] != RAN or type(twin).explain is not Scheduler.explain:
        return twin.explain(task, view)  # where it wanted to go is not where it went
    return explained(twin, task, view, *placed.decision(0))


def _first(tasks: Tasks, seen: Floats) -> TaskView:
    task = tasks[0]
    return TaskView(
        row=0,
        size=task.size,
        compute_intensity=task.compute_intensity,
        memory_required=task.memory_required,
        arrival_time=task.arrival_time,
        duration_estimate=float(tasks.duration_estimate[0]),
        ready_time=task.arrival_time,
        times=seen[0],
    )
