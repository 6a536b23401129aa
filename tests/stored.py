"""Small batches with values that tests can foretell."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.storage.rows import Batch, ResultRows, SettingsChange, TaskRows, TrainingRows
from hybrid_scheduler.storage.store import Store

SCHEDULERS = ("greedy", "oracle")
MEASURES = (
    "start_time",
    "finish_time",
    "actual_time",
    "waiting_time",
    "turnaround_time",
    "energy_consumption",
    "execution_cost",
)


async def new_run(store: Store, owner: str | None = None) -> int:
    return await store.begin_run("live", 42, {"gpus": 2}, {"rate": 5.0}, owner)


def make_tasks(first: int, last: int) -> TaskRows:
    ids = np.arange(first, last)
    return TaskRows(ids, ids + 0.5, np.full(len(ids), 0.25), np.full(len(ids), 100.0), ids * 2.0)


def make_results(name: str, first: int, last: int, attempt: int = 1) -> ResultRows:
    ids = np.arange(first, last)
    device, status = np.zeros(len(ids), np.int32), np.zeros(len(ids), np.uint8)
    columns: dict[str, Any] = {name: ids + 0.1 * number for number, name in enumerate(MEASURES)}
    return ResultRows(name, ids, np.full(len(ids), 0.75), device, status, **columns, attempt=attempt)


def make_training(first: int, last: int) -> TrainingRows:
    ids = np.arange(first, last)
    return TrainingRows(ids, ids + 0.5, ids * 0.0, ids * 0.0, np.full(len(ids), 0.5), ids + 1.0)


def make_batch(run_id: int, first: int, last: int, *changes: SettingsChange) -> Batch:
    """Return tasks `first` … `last - 1`, a result of either scheduler and an example for each."""
    results = tuple(make_results(name, first, last) for name in SCHEDULERS)
    return Batch(run_id, (make_tasks(first, last),), results, (make_training(first, last),), changes)


async def stored_keys(store: Store, run_id: int) -> list[tuple[int, str, int]]:
    """Return the key of every result, in order."""
    blocks = [block async for block in store.export(run_id)]
    return [(row.task_id, row.scheduler_name, row.attempt) for block in blocks for row in block]


def expected_keys(first: int, last: int) -> list[tuple[int, str, int]]:
    return [(task_id, name, 1) for task_id in range(first, last) for name in SCHEDULERS]
