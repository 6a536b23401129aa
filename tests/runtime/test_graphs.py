"""Graphs are planned as a whole: HEFT's order and devices, every result right; Dask's graphs with Dask itself."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path

import dask
import dask.array
import numpy as np
import pytest

import real_tasks
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.runtime.graphs import GraphCall, plan_graph
from hybrid_scheduler.runtime.jobs import DEFAULT_OPTIONS, TaskFunction

DEADLINE = 300.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices="cpu,gpu=emulated:slowdown=1") as scheduler:
        yield scheduler


def test_calls_of_a_graph_start_at_the_end_of_its_block(scheduler: HybridScheduler) -> None:
    with scheduler.graph() as graph:
        one = scheduler.submit(real_tasks.double, 1)
        both = scheduler.submit(operator.add, one, scheduler.submit(real_tasks.double, 2))
        assert len(graph.calls) == 3
        assert not one.running()
    assert both.result(DEADLINE) == 6
    assert scheduler.submit(real_tasks.double, both).result(DEADLINE) == 12


def test_a_result_that_cannot_come_before_the_end_of_the_block_is_not_waited_for(scheduler: HybridScheduler) -> None:
    with scheduler.graph():
        one = scheduler.submit(real_tasks.double, 1)
        with pytest.raises(SchedulerError, match="end of its graph's block"):
            one.result(DEADLINE)
    assert one.result(DEADLINE) == 2


def test_after_an_exception_nothing_of_a_graph_runs(scheduler: HybridScheduler, tmp_path: Path) -> None:
    def fail() -> None:
        with scheduler.graph():
            futures.append(scheduler.submit(real_tasks.die_once, str(tmp_path / "never")))
            raise KeyError("fig")

    futures: list[object] = []
    with pytest.raises(KeyError):
        fail()
    assert futures[0].cancelled()  # type: ignore[attr-defined]  # a future
    assert scheduler.submit(real_tasks.double, 1).result(DEADLINE) == 2


def test_graphs_are_not_nested(scheduler: HybridScheduler) -> None:
    with scheduler.graph(), pytest.raises(InputError, match="open in this thread"):
        scheduler.graph()


def test_the_longest_way_to_the_end_goes_first_where_it_is_fastest(scheduler: HybridScheduler) -> None:
    decider, names = scheduler._dispatcher.decider, ("short", "long", "end")
    signatures = [each.signature for each in scheduler.devices]
    for name, seconds in (("short", (0.1, 0.1)), ("long", (0.9, 0.3)), ("end", (0.2, 0.2))):
        for signature, each in zip(signatures, seconds, strict=True):
            for _ in range(4):
                decider.times.observe(name, signature, signature, 1.0, each)
    short, long, end = (GraphCall(TaskFunction(abs, name=name), (1,), {}, DEFAULT_OPTIONS) for name in names)
    end.args = (long.future,)
    plan = plan_graph([short, long, end], decider)
    assert plan[1].priority > plan[2].priority, "before what follows"
    assert plan[1].planned == 1, "on the GPU"
    assert plan[0].planned == 0
    unknown = GraphCall(TaskFunction(abs, name="unknown"), (1,), {}, DEFAULT_OPTIONS)
    assert plan_graph([unknown], decider)[0].planned == -1, "left to the policy, which tries it"


def test_dask_computes_with_it_and_tasks_are_typed_by_their_function(scheduler: HybridScheduler) -> None:
    array = dask.array.ones((400, 400), chunks=(200, 200))
    total, first = dask.compute((array + array.T).sum(), dask.delayed(real_tasks.double)(4), scheduler=scheduler.get)
    assert total == 320_000
    assert first == 8
    names = {name for name, _ in scheduler.times.histories if name.startswith("dask:")}
    assert "dask:double" in names
    assert len(names) >= 2
    assert np.array_equal(array.compute(scheduler=scheduler.get), np.ones((400, 400)))


def test_dask_takes_the_scheduler_itself_and_its_tasks_keep_their_types(scheduler: HybridScheduler) -> None:
    assert dask.compute(dask.delayed(real_tasks.double)(5), scheduler=scheduler) == (10,)
    assert not any(name.startswith("dask.local") for name, _ in scheduler.times.histories)
