"""Batch means are what NumPy makes of the same rows, also of thinned runs and of tasks that started again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.storage import batch_means
from hybrid_scheduler.storage.batch_means import BatchPlan
from hybrid_scheduler.storage.rows import Batch, ResultRows, TaskRows
from hybrid_scheduler.storage.store import Store
from stored import MEASURES, new_run

pytestmark = pytest.mark.asyncio
Columns = dict[str, Any]


def columns(count: int, seed: int) -> Columns:
    drawn = np.random.default_rng(seed)
    return {name: drawn.lognormal(0.0, 1.0, count) for name in MEASURES}


def results(name: str, ids: np.ndarray, values: Columns, attempt: int = 1) -> ResultRows:
    device = np.zeros(len(ids), int)
    return ResultRows(name, ids, np.full(len(ids), 0.5), device, device, **values, attempt=attempt)


async def filled(store: Store, count: int, first: int = 0) -> tuple[int, dict[str, Columns]]:
    run_id, ids = await new_run(store), np.arange(first, first + count)
    values = {"greedy": columns(count, 1), "oracle": columns(count, 2)}
    rows = tuple(results(name, ids, each) for name, each in values.items())
    some = np.full(count, 1.0)
    await store.write(Batch(run_id, (TaskRows(ids, some, some * 0.5, some, some),), rows))
    return run_id, values


async def test_every_batch_has_the_means_of_its_tasks(store: Store) -> None:
    run_id, values = await filled(store, 2000, first=300)
    found = await store.batch_means(run_id, 2)
    assert found is not None
    cut, means = found
    assert cut == BatchPlan(300, 2299, 20, 1)
    assert [(each.scheduler, each.batch) for each in means] == [
        (n, b) for n in ("greedy", "oracle") for b in range(20)
    ]
    for each in means:
        own = {
            name: column[each.batch * 100 : each.batch * 100 + 100] for name, column in values[each.scheduler].items()
        }
        assert each.tasks == 100
        assert each.mean_turnaround == pytest.approx(own["turnaround_time"].mean())
        assert each.mean_execution == pytest.approx(own["actual_time"].mean())
        assert each.energy_per_task == pytest.approx(own["energy_consumption"].mean())
        assert each.cost_per_task == pytest.approx(own["execution_cost"].mean())
        assert each.p95_turnaround == np.quantile(own["turnaround_time"], 0.95, method="inverted_cdf")


async def test_a_task_that_started_again_counts_as_it_ended_and_a_rejected_one_not_at_all(store: Store) -> None:
    run_id, values = await filled(store, 40)
    again, empty = columns(3, 5), {name: np.full(1, np.nan) for name in MEASURES}
    await store.write(Batch(run_id, results=(results("greedy", np.arange(3), again, attempt=2),)))
    await store.write(Batch(run_id, results=(results("greedy", np.arange(3, 4), empty, attempt=2),)))
    found = await store.batch_means(run_id, 2)
    assert found is not None
    first = found[1][0]
    kept = [*again["turnaround_time"], values["greedy"]["turnaround_time"][4]]
    assert (first.scheduler, first.batch, first.tasks) == ("greedy", 0, 4)
    assert first.mean_turnaround == pytest.approx(np.mean(kept))


async def test_of_a_long_run_one_task_of_several_is_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_means, "MAX_RESULTS", 1000)
    run_id, values = await filled(store, 1500)
    found = await store.batch_means(run_id, 2)
    assert found is not None
    cut, means = found
    assert (cut.stride, cut.batches) == (3, 20)
    assert sum(each.tasks for each in means) == pytest.approx(1000, rel=0.02)
    looked = [n for n in range(75) if n * batch_means.GOLDEN % batch_means.MODULUS < batch_means.MODULUS // 3]
    assert means[0].mean_turnaround == pytest.approx(values["greedy"]["turnaround_time"][looked].mean())


@pytest.mark.parametrize("turns", [2, 3, 4, 5, 8, 64])
@pytest.mark.parametrize("every", [2, 3, 4, 5, 8, 10, 100])
async def test_a_policy_that_takes_turns_is_seen_on_all_its_sides(turns: int, every: int) -> None:
    tasks = np.arange(200_000)
    looked = tasks[tasks * batch_means.GOLDEN % batch_means.MODULUS < batch_means.MODULUS // every]
    shares = np.bincount(looked % turns, minlength=turns) / len(looked)
    assert shares * turns == pytest.approx(np.ones(turns), abs=0.1)


async def test_a_run_without_tasks_has_no_batches(store: Store) -> None:
    assert await store.batch_means(await new_run(store), 2) is None


@pytest.mark.parametrize(("tasks", "batches"), [(1, 1), (9, 1), (10, 2), (99, 19), (100, 20), (10**6, 20)])
async def test_a_short_run_has_fewer_batches(tasks: int, batches: int) -> None:
    assert BatchPlan.for_tasks(0, tasks - 1, 1).batches == batches
