"""Task records are the placements, row by row; rejected tasks have neither device nor times."""

from __future__ import annotations

import math

import pytest

from hybrid_scheduler.core.placements import RESULT_COLUMNS
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.snapshot import PlacedBlock, build_task_records


@pytest.fixture
def block() -> PlacedBlock:
    """A block of ten tasks, the third of which no device can run."""
    race = LiveRace(LiveSettings(schedulers=("eft", "greedy")))
    nowhere = {"cpu": math.inf, "gpu": math.inf}
    rows = [Task(row, 500.0 * (row + 1), 0.8, 10.0, measured=nowhere if row == 2 else {}) for row in range(10)]
    tasks = race.stream.insert(Tasks.from_iterable(rows))
    return race.place(tasks, race.explain(tasks))


def test_a_record_has_the_columns_of_its_task_and_of_every_placement(block: PlacedBlock) -> None:
    records = build_task_records(block)
    assert [each.task_id for each in records] == list(range(10))
    assert [each.size for each in records] == block.tasks.size.tolist()
    assert [each.optimal_time for each in records] == block.optimal_time.tolist()
    assert [each.explained for each in records] == [True, *[False] * 9]
    for name, placed in block.placements.items():
        columns = placed.result_columns()
        assert tuple(columns) == RESULT_COLUMNS
        result = records[4].results[name]
        expected = {column: values[4].item() for column, values in columns.items()}
        assert (result.time, result.device, result.status) == (expected["execution"], *placed.decision(4)[1:], 0)
        assert (result.start, result.finish, result.turnaround) == (
            expected["start"],
            expected["finish"],
            expected["turnaround"],
        )
        assert (result.gpu_fraction, result.waiting) == (expected["gpu_fraction"], expected["waiting"])
        assert (result.energy, result.cost) == (expected["energy"], expected["cost"])


def test_a_rejected_task_has_no_device_and_no_times(block: PlacedBlock) -> None:
    (record,) = build_task_records(block, slice(2, 3))
    for result in record.results.values():
        assert (result.device, result.gpu_fraction, result.energy, result.cost) == (-1, 0.0, 0.0, 0.0)
        assert all(math.isnan(each) for each in (result.start, result.finish, result.time, result.turnaround))
        assert result.status > 1


def test_some_rows_are_those_of_all_rows(block: PlacedBlock) -> None:
    every = build_task_records(block)
    assert build_task_records(block, slice(-3, None)) == every[-3:]
    assert build_task_records(block, slice(4, 6)) == every[4:6]


def test_columns_may_be_rounded_by_name(block: PlacedBlock) -> None:
    rounded = build_task_records(block, to_list=lambda name, column: [float(name == "start")] * len(column))
    result = rounded[0].results["eft"]
    assert (result.start, result.finish, rounded[0].size) == (1.0, 0.0, 0.0)
