"""Graphs of calls, planned as a whole by HEFT before the first one runs; Dask's graphs among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from statistics import median
from threading import get_ident
from typing import Any

import numpy as np

from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks, edges_from_ids
from hybrid_scheduler.runtime.deferred import find_futures
from hybrid_scheduler.runtime.dispatcher import Decider
from hybrid_scheduler.runtime.jobs import CallOptions, TaskFunction, TaskFuture, guess_size
from hybrid_scheduler.runtime.measured_times import MeasuredTimes

Submit = Callable[[TaskFunction, tuple[Any, ...], dict[str, Any], CallOptions, TaskFuture], object]


@dataclass
class GraphCall:
    """A call of a graph that is not submitted yet."""

    task: TaskFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: CallOptions
    future: TaskFuture = field(default_factory=TaskFuture)

    @property
    def awaited(self) -> list[Future[Any]]:
        """The futures among its arguments."""
        return find_futures(self.args, self.kwargs)

    def estimate_size(self, times: MeasuredTimes) -> float:
        """Return its size; that of a call that waits for arguments is what its task has had before, in the median."""
        known = [
            size for (name, _), each in times.histories.items() if name == self.task.name for size in each.log_size
        ]
        if self.awaited:
            return math.exp(median(known)) if known else 1.0
        return self.task.create_job(-1, self.args, self.kwargs, 0.0).size if self.args else guess_size(self.args)


def plan_graph(calls: Sequence[GraphCall], decider: Decider) -> list[CallOptions]:
    """Return options that let calls be placed in the order and on the devices of HEFT's plan.

    Devices are those of the plan where all times are known; else the policy places a call when it is ready.
    """
    from hybrid_scheduler.schedulers.heft import Heft  # which loads Numba

    sizes = [call.estimate_size(decider.times) for call in calls]
    seconds, known = decider.predict_sizes([call.task for call in calls], sizes)
    rows = {id(call.future): row for row, call in enumerate(calls)}
    parents = [sorted({rows[id(each)] for each in call.awaited if id(each) in rows}) for call in calls]
    tasks = Tasks.build(
        size=sizes,
        compute_intensity=np.full(len(calls), 0.5),
        memory_required=[call.options.memory or 0.0 for call in calls],
        edges=edges_from_ids(list(range(len(calls))), parents),
        measured={each.name: seconds[:, number] for number, each in enumerate(decider.cluster.classes)},
    )
    placed = VirtualMultiGPU(cluster=decider.cluster).run(tasks, Heft())
    order = np.empty(len(calls), np.int64)
    order[np.argsort(np.where(placed.ran, placed.start, np.inf), kind="stable")] = np.arange(len(calls))
    devices = np.where(placed.gpu_fraction >= 0.5, placed.gpu, placed.cpu)
    return [
        call.options._replace(
            priority=call.options.priority - float(order[row]) / len(calls),
            planned=int(devices[row]) if known[row] and placed.ran[row] else -1,
        )
        for row, call in enumerate(calls)
    ]


class Graph:
    """Collects calls inside a `with` block and submits them, planned, at its end; after an exception none."""

    def __init__(self, decider: Decider, submit: Submit, on_end: Callable[[], None]) -> None:
        self.calls: list[GraphCall] = []
        self._decider, self._submit, self._on_end = decider, submit, on_end

    def add(
        self, task: TaskFunction, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions
    ) -> TaskFuture:
        """Note a call; return the future of its result."""
        self.calls.append(GraphCall(task, args, kwargs, options))
        self.calls[-1].future.collected_by = get_ident()
        return self.calls[-1].future

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._on_end()
        for call in self.calls:
            call.future.collected_by = 0
        if kind is not None:
            for call in self.calls:
                call.future.cancel()
                call.future.set_running_or_notify_cancel()
        elif self.calls:
            for call, options in zip(self.calls, plan_graph(self.calls, self._decider), strict=True):
                self._submit(call.task, call.args, call.kwargs, options, call.future)


def submit_dask_graph(dsk: Any, submit: Callable[..., Future[Any]]) -> dict[Any, Any]:
    """Submit the tasks of one of Dask's graphs, parents first; return futures, or values, by key.

    A type of task is what Dask's own scheduler takes for one: the function in the key, such as `sum` or `read-csv`.
    """
    from dask._task_spec import Alias, DataNode, convert_legacy_graph
    from dask.core import toposort
    from dask.utils import key_split

    graph = convert_legacy_graph(dict(dsk.__dask_graph__() if hasattr(dsk, "__dask_graph__") else dsk))
    found = dict[Any, Any]()
    for key in toposort(graph, dependencies={key: set(node.dependencies) for key, node in graph.items()}):
        node = graph[key]
        if isinstance(node, Alias):
            found[key] = found[node.target]
        elif isinstance(node, DataNode):
            found[key] = node.value
        else:
            values = {each: found[each] for each in node.dependencies}
            found[key] = submit(
                TaskFunction(_run_node, name=f"dask:{key_split(key)}"), node, list(values), list(values.values())
            )
    return found


def _run_node(node: Callable[[dict[Any, Any]], Any], keys: list[Any], values: list[Any]) -> Any:
    return node(dict(zip(keys, values, strict=True)))


def collect_dask(keys: Any, found: dict[Any, Any]) -> Any:
    """Return the results of keys, which may be nested in lists."""
    if isinstance(keys, list):
        return [collect_dask(each, found) for each in keys]
    value = found[keys]
    return value.result() if isinstance(value, Future) else value
