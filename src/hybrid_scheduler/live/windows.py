"""Certified turnaround, moved along the stream: some hundred tasks at a time, and what no schedule does better.

Take any schedule of the stream and look at the tasks of a window alone. They start and end where they did, so no
device does two of them at once and none starts before it has come: this is a schedule of the window's tasks for a
machine that has nothing else to do. Their mean turnaround is therefore at least the bound of these tasks alone; to
leave the other tasks out only relaxes the problem. The same holds for energy, cost and every mix. The bound is tight
while queues empty now and then, and loose under overload, where a window inherits the queues of those before it.

A GPU that fails counts as if it worked, which relaxes the problem too. With another number of GPUs windows begin
anew, since what waits may end on devices that were not there when it came.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.bounds.turnaround import certified_front, turnaround_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import rejections
from hybrid_scheduler.core.placements import RAN, WAITING, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks, concatenate_tasks
from hybrid_scheduler.live.snapshot import CertifiedFigures, CertifiedWindow

TASKS, STEP = 500, 100  # of a window, and by how many the first ones grow
SECONDS = 10.0  # of wall time from one window to the next, for each takes up to a second to certify
FULL_SPEED = 10_000.0  # tasks a second that are assumed of a race without a pace
SHOWN_AFTER = 0.25  # of the way to the next window: until then it is certified, at no cost to the race
ITERATIONS, FRONT_ITERATIONS, FRONT_POINTS = 100, 60, 5  # fewer than offline: any number proves a bound
RING = 2 * TASKS  # last tasks whose results are kept
MEASURES = ("energy", "cost")


class Certificate(NamedTuple):
    """What no schedule of some tasks does better, of those that split no task and of all."""

    whole: float  # mean turnaround, s
    split: float
    fronts: dict[str, Floats]  # by measure: vertices of (mean turnaround, measure per task)
    split_fronts: dict[str, Floats]


def certify(tasks: Tasks, cluster: Cluster) -> Certificate:
    """Find the bound of the mean turnaround of some tasks, and the fronts of energy and cost."""

    def prove(whole: bool) -> tuple[float, dict[str, Floats]]:
        options = {"points": FRONT_POINTS, "iterations": FRONT_ITERATIONS}
        fronts = {name: certified_front(tasks, cluster, name, whole=whole, **options) for name in MEASURES}
        mean = turnaround_bound(tasks, cluster, whole=whole, iterations=ITERATIONS).mean
        return max(mean, *(float(front[-1, 0]) for front in fronts.values())), fronts  # each of them proves one

    (whole, fronts), (split, split_fronts) = prove(whole=True), prove(whole=False)
    return Certificate(max(whole, split), split, fronts, split_fronts)


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive tasks, what every lane made of them, and their certificate once somebody asks for it."""

    tasks: Tasks
    cluster: Cluster
    shown_from: int  # the number of the task from which on it is shown
    results: dict[str, Floats]  # by scheduler, then by task: turnaround, energy, cost, whether it was split
    executor: ThreadPoolExecutor

    @cached_property
    def certificate(self) -> Future[Certificate]:
        """The certificate, which is found in the background: it takes no time of the race."""
        return self.executor.submit(certify, self.tasks, self.cluster)

    @property
    def is_certified(self) -> bool:
        """Whether its certificate is there."""
        return "certificate" in self.__dict__ and self.certificate.done()

    @cached_property
    def _runs(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the cluster can run each task at all."""
        times = np.column_stack([self.tasks.measured[each.name] for each in self.cluster.classes])
        runs: np.ndarray[tuple[int], np.dtype[np.bool_]] = rejections(self.tasks, times, self.cluster) == RAN
        return runs

    def settle(self, name: str, placed: Placements) -> None:
        """Take the results of tasks that have started late."""
        if name in self.results:
            self._fill(self.results[name], placed)

    def _fill(self, rows: Floats, placed: Placements) -> None:
        places = placed.tasks.task_id - self.tasks.task_id[0]
        inside = (places >= 0) & (places < len(rows))
        rows[places[inside]] = _read_results(placed)[inside]

    def measure(self, name: str, outlook: Placements | None) -> CertifiedFigures | None:
        """Return the figures of a scheduler, None if it did not take all tasks.

        What waits counts as if no more tasks came (`outlook`).
        """
        if name not in self.results:
            return None
        rows = self.results[name].copy()
        if outlook is not None:
            self._fill(rows, outlook)
        rows = rows[self._runs]
        if not len(rows) or not np.isfinite(rows).all():
            return None
        turnaround, energy, cost, split = rows.mean(axis=0).tolist()
        return CertifiedFigures(turnaround, energy, cost, split > 0)

    def compare(self, figures: CertifiedFigures) -> float:
        """Return mean turnaround over the bound that covers the scheduler; 1 is optimal."""
        certificate = self.certificate.result()
        return figures.mean_turnaround / max(certificate.split if figures.splits else certificate.whole, 1e-12)

    def describe(self) -> CertifiedWindow:
        """Return the window and its certificate as plain data."""
        certificate = self.certificate.result()
        fronts = (each[name].tolist() for each in (certificate.fronts, certificate.split_fronts) for name in MEASURES)
        first, count = int(self.tasks.task_id[0]), int(self._runs.sum())
        return CertifiedWindow(first, count, certificate.whole, certificate.split, *fronts)


class CertifiedWindows:
    """The window that is shown and those to come; one that nobody looks at is never certified.

    Which window is shown depends on the number of tasks and on the pace, not on the clock.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._executor = ThreadPoolExecutor(1, "certificates")
        self.use_cluster(cluster)

    def use_cluster(self, cluster: Cluster, number: int = 0) -> None:
        """Begin anew with another cluster and the task of this number."""
        self._cluster, self._first, self._number, self._next = cluster, number, number, number + STEP
        self._blocks: deque[Tasks] = deque()
        self._results: dict[str, Floats] = {}  # rings by task: NaN, it did not run; infinite, it waits
        self._windows: list[Window] = []

    def add(self, times: Floats, placed: Mapping[str, Placements], pace: float | None) -> None:
        """Add a block of tasks with their times on every class, and what every scheduler made of them."""
        tasks = next(iter(placed.values())).tasks
        columns = {each.name: times[:, column] for column, each in enumerate(self._cluster.classes)}
        self._blocks.append(replace(tasks, measured=columns, expected={}))
        while self._blocks[0].task_id[-1] < tasks.task_id[-1] - RING:
            self._blocks.popleft()
        known, self._results = self._results, {}
        for name, each in placed.items():
            self._results[name] = known.get(name, np.full((RING, 4), np.nan))
            self._results[name][tasks.task_id % RING] = _read_results(each)
        self._number = int(tasks.task_id[-1]) + 1
        while self._next <= self._number:
            self._open_window(pace)

    def _open_window(self, pace: float | None) -> None:
        stride = STEP * math.ceil(SECONDS * (pace or FULL_SPEED) / STEP)
        first, end = max(self._next - TASKS, self._first), self._next
        recent = concatenate_tasks(list(self._blocks))
        recent = recent.select(recent.task_id >= self._number - RING)
        self._blocks = deque([recent])  # a checkpoint writes one block in no time, a thousand in seconds
        tasks = recent.select((recent.task_id >= first) & (recent.task_id < end))
        results = {name: ring[tasks.task_id % RING] for name, ring in self._results.items()}
        self._next = end + (STEP if len(tasks) < TASKS else stride)
        shown_from = end + math.ceil(SHOWN_AFTER * (self._next - end))
        window = Window(tasks, self._cluster, shown_from, results, self._executor)
        self._windows = [window] if shown_from <= self._number else [*self._windows[-1:], window]

    def settle(self, name: str, placed: Placements) -> None:
        """Take the results of tasks that have started late."""
        recent = placed.tasks.task_id >= self._number - RING
        if name in self._results and recent.any():
            self._results[name][placed.tasks.task_id[recent] % RING] = _read_results(placed)[recent]
        for window in self._windows:
            window.settle(name, placed)

    def find_shown(self) -> Window | None:
        """Return the window that is to be shown by now; the next one begins to be certified."""
        if self._windows:
            _ = self._windows[-1].certificate
        return self._find_due()

    def _find_due(self) -> Window | None:
        return next((each for each in reversed(self._windows) if each.shown_from <= self._number), None)

    def find_certified(self) -> Window | None:
        """Return the window that is to be shown by now if it is certified already; begins nothing."""
        found = self._find_due()
        return found if found is not None and found.is_certified else None

    def wait(self) -> None:
        """Wait until the window that is to be shown is certified."""
        if window := self.find_shown():
            window.certificate.result()


def _read_results(placed: Placements) -> Floats:
    turnaround = np.where(placed.status == WAITING, np.inf, placed.turnaround)
    return np.column_stack([turnaround, placed.energy, placed.cost, placed.split])
