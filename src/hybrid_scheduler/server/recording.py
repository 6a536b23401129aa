"""`Recording`: a sink that turns the events of a simulation into rows for the recorder."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

import numpy as np

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.live.records import PlacedBlock
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.simulation import RUNNING, ContinuousSimulation, RaceEvent
from hybrid_scheduler.storage.recorder import Recorder
from hybrid_scheduler.storage.rows import Batch, ResultRows, SettingsChange, TaskRows, TrainingRows

WAIT = 0.2  # seconds to wait for room in the recorder, repeatedly


class Recording:
    """Records one run. A full recorder blocks the race; if the race is paused, its rows are held here."""

    def __init__(self, run_id: int, recorder: Recorder) -> None:
        self.run_id = run_id
        self.replaying = False
        self._recorder = recorder
        self._simulation: ContinuousSimulation | None = None
        self._held: deque[Batch] = deque()
        self._lock = threading.Lock()  # of the held batches
        self._changes = 0  # of the log that are recorded
        self._stored = 0  # tasks that were stored before a replay
        self._attempts: dict[tuple[str, int], int] = {}

    def follow(self, simulation: ContinuousSimulation) -> None:
        """Record the log of this simulation too, which has more than its events (steps)."""
        self._simulation = simulation

    def replay(self, stored: int, changes: int) -> None:
        """Record nothing of a replay that is stored already: so many tasks and changes."""
        self.replaying, self._stored, self._changes = True, stored, changes

    def __call__(self, block: RaceEvent) -> None:
        """Record an event, in the race's thread."""
        batch = Batch(self.run_id, *self._columns(block.placed), changes=self._new_changes())
        restarted = self._build_restart_rows(block)
        if not self.replaying:
            batch = Batch(self.run_id, batch.tasks, (*batch.results, *restarted), batch.training, batch.changes)
        if len(batch):
            with self._lock:
                self._held.append(batch)
            while not self.hand_over() and self._is_running():
                self._recorder.wait_for_room(WAIT)

    def hand_over(self) -> bool:
        """Pass held batches on while the recorder has room; returns whether none is left."""
        with self._lock:
            while self._held and self._recorder.add(self._held[0]):
                self._held.popleft()
            return not self._held

    async def flush(self) -> None:
        """Wait until everything so far is stored; for the event loop."""
        while not self.hand_over():
            await asyncio.sleep(0.05)
        await self._recorder.flush()

    def _is_running(self) -> bool:
        return self.replaying or (self._simulation is not None and self._simulation.state == RUNNING)

    def _columns(
        self, placed: PlacedBlock | None
    ) -> tuple[tuple[TaskRows, ...], tuple[ResultRows, ...], tuple[TrainingRows, ...]]:
        if placed is None or int(placed.tasks.task_id[0]) < self._stored:
            return (), (), ()
        results = tuple(ResultRows.from_placements(name, each) for name, each in placed.placements.items())
        return (TaskRows.from_tasks(placed.tasks),), results, _build_training_rows(placed)

    def _new_changes(self) -> tuple[SettingsChange, ...]:
        log: list[Change] = self._simulation.log if self._simulation else []
        new = log[self._changes :]
        self._changes = max(self._changes, len(log))
        return tuple(SettingsChange(each.at_task, each.at_time, each.change) for each in new)

    def _build_restart_rows(self, block: RaceEvent) -> list[ResultRows]:
        """Return the rows of tasks that a failed device has aborted, with their attempts counted."""
        return [
            ResultRows.from_placements(name, each, self._count_attempts(name, each))
            for name, each in block.restarted.items()
        ]

    def _count_attempts(self, name: str, placed: Placements) -> list[int]:
        keys = [(name, int(task_id)) for task_id in placed.tasks.task_id]
        for key in keys:
            self._attempts[key] = self._attempts.get(key, 1) + 1
        return [self._attempts[key] for key in keys]


def _build_training_rows(placed: PlacedBlock) -> tuple[TrainingRows, ...]:
    """Return training examples; a task that fits nowhere is none."""
    rows = np.flatnonzero(np.isfinite(placed.optimal_time) & np.isfinite(placed.optimal_gpu_fraction))
    if not len(rows):
        return ()
    tasks = placed.tasks
    columns = (tasks.task_id, tasks.size, tasks.compute_intensity, tasks.memory_required)
    labels = (placed.optimal_gpu_fraction, placed.optimal_time)
    return (TrainingRows(*(column[rows] for column in (*columns, *labels))),)
