"""Tasks that submit others: every worker may wait, and yet all of them end."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

import real_tasks
from hybrid_scheduler import HybridScheduler, current_scheduler
from hybrid_scheduler.errors import SchedulerError

DEADLINE = 300.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices="cpu*2") as scheduler:
        yield scheduler


def fibonacci(number: int) -> int:
    if number < 2:
        return number
    inner = current_scheduler()
    one, other = inner.submit(fibonacci, number - 1), inner.submit(fibonacci, number - 2)
    return one.result() + other.result()


def sum_of_squares(count: int) -> int:
    return sum(current_scheduler().map(pow, range(count), [2] * count))


def sum_of_large(count: int) -> float:
    inner = current_scheduler()
    arrays = [inner.submit(np.ones, 100_000) for _ in range(count)]
    return float(sum(inner.submit(np.sum, each).result() for each in arrays))


def ask_and_fail() -> None:
    current_scheduler().submit(real_tasks.complain, "fig").result()


def die_inside(path: str) -> str:
    inner = current_scheduler()
    assert inner.submit(real_tasks.double, 2).result() == 4
    return str(inner.submit(real_tasks.die_once, path).result())


def test_calls_inside_calls_never_block_each_other(scheduler: HybridScheduler) -> None:
    assert scheduler.submit(fibonacci, 9).result(DEADLINE) == 34
    futures = [scheduler.submit(sum_of_squares, 10) for _ in range(60)]
    assert [each.result(DEADLINE) for each in futures] == [285] * 60


def test_one_worker_is_enough() -> None:
    with HybridScheduler(devices="cpu") as scheduler:
        assert scheduler.submit(fibonacci, 7).result(DEADLINE) == 13


def test_calls_inside_calls_wait_for_no_trial_of_their_own_task() -> None:
    with HybridScheduler(devices="cpu*2,gpu=emulated:slowdown=1") as scheduler:
        assert scheduler.submit(fibonacci, 8).result(DEADLINE) == 21


def test_large_results_of_nested_calls_are_mapped(scheduler: HybridScheduler) -> None:
    assert scheduler.submit(sum_of_large, 5).result(DEADLINE) == 500_000


def test_errors_of_nested_calls_reach_the_task_and_its_caller(scheduler: HybridScheduler) -> None:
    with pytest.raises(KeyError, match="fig"):
        scheduler.submit(ask_and_fail).result(DEADLINE)


def test_a_worker_that_dies_in_a_nested_call_is_replaced(scheduler: HybridScheduler, tmp_path: object) -> None:
    assert scheduler.submit(die_inside, os.path.join(str(tmp_path), "mark")).result(DEADLINE) == "survived"  # noqa: PTH118


def test_there_is_no_current_scheduler_outside_of_a_task() -> None:
    with pytest.raises(SchedulerError, match="inside a task"):
        current_scheduler()
