"""Calls with futures among their arguments: found wherever they are, resolved whatever happens, kept by nobody."""

from __future__ import annotations

import gc
import operator
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

import real_tasks
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.runtime.deferred import DeferredCall, find_futures, replace_futures
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import HybridScheduler
from hybrid_scheduler.runtime.jobs import TaskFunction, WorkerLostError
from scripted_backend import ScriptedBackend

DEADLINE = 300.0
LONG = 1200  # calls, deeper than the stack of Python allows


def done(value: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def submit(dispatcher: Dispatcher, function: Callable[..., object], *args: object) -> Future[Any]:
    """Submit as the executor does."""
    task = TaskFunction(function)
    if awaited := find_futures(args, {}):
        call = DeferredCall(lambda args, kwargs: dispatcher.create_job(task, args, kwargs), args, {}, awaited)
        future = call.future
        dispatcher.submit_deferred(call)
        return future
    job = dispatcher.create_job(task, args, {})
    dispatcher.submit(job)
    return job.future


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend("cpu")


@pytest.fixture
def dispatcher(backend: ScriptedBackend) -> Dispatcher:
    made = Dispatcher(schedulers.create("eft"), backend)
    made.start()
    return made


def test_futures_are_found_and_replaced_in_containers_of_any_depth() -> None:
    first, second = done(1), done("two")
    argument = {"a": [first, (second, {3})], "b": {"c": [[first]]}}
    assert sorted(map(id, find_futures((argument, 7), {"x": second}))) == sorted(
        map(id, [first, second, first, second])
    )
    assert replace_futures(argument) == {"a": [1, ("two", {3})], "b": {"c": [[1]]}}


def test_a_container_without_futures_is_passed_on_as_it_is_even_if_it_contains_itself() -> None:
    loop: list[object] = [1]
    loop.append(loop)
    assert find_futures((loop,), {}) == []
    assert replace_futures(loop) is loop


@pytest.mark.parametrize("fails", [False, True])
def test_a_chain_of_any_length_resolves_from_end_to_end(
    dispatcher: Dispatcher, backend: ScriptedBackend, fails: bool
) -> None:
    source: Future[Any] = Future()
    chain = [submit(dispatcher, operator.neg, source)]
    for _ in range(LONG):
        chain.append(submit(dispatcher, operator.neg, chain[-1]))
    fan = [submit(dispatcher, operator.neg, source) for _ in range(LONG)]
    if fails:
        source.set_exception(KeyError("plum"))
    else:
        source.set_result(1)
        backend.answer_all()
    assert all(each.done() for each in (*chain, *fan))
    assert isinstance(chain[-1].exception(), KeyError) == fails
    assert dispatcher.wait(timeout=0)


def test_cancelling_the_first_of_a_chain_cancels_the_rest(dispatcher: Dispatcher) -> None:
    source: Future[Any] = Future()
    chain = [submit(dispatcher, operator.neg, source)]
    for _ in range(LONG):
        chain.append(submit(dispatcher, operator.neg, chain[-1]))
    source.cancel()
    assert wait(chain[:-1], timeout=0).not_done == set()
    with pytest.raises(CancelledError):
        chain[-1].result(timeout=0)


def test_results_that_nobody_holds_are_freed_at_once(dispatcher: Dispatcher, backend: ScriptedBackend) -> None:
    class Value:
        """What a future holds."""

    def count_values() -> int:
        return sum(each() is not None for each in made)

    source, made = Future[Any](), list[weakref.ref[Any]]()
    future = submit(dispatcher, operator.neg, source)
    last = submit(dispatcher, operator.neg, future)
    gc.disable()
    try:
        source.set_result(value := Value())
        made.append(weakref.ref(value))
        del value, source
        assert count_values() == 0, "the arguments are pickled: nobody needs the value any more"
        backend.answer_all()
        made.append(weakref.ref(future))
        del future
        assert count_values() == 0
        assert last.result(timeout=0) == 1
    finally:
        gc.enable()


def test_an_exception_does_not_keep_its_future_alive(dispatcher: Dispatcher) -> None:
    source: Future[Any] = Future()
    child = submit(dispatcher, operator.neg, source)
    gc.disable()
    try:
        source.set_exception(KeyError("fig"))
        assert isinstance(child.exception(timeout=0), KeyError)
        known = weakref.ref(child)
        del child
        assert known() is None
    finally:
        gc.enable()


def test_a_future_of_another_executor_is_waited_for_at_the_end() -> None:
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with HybridScheduler("eft", devices="cpu") as scheduler:
            child = scheduler.submit(real_tasks.double, pool.submit(lambda: go.wait(DEADLINE) and 21))
            threading.Timer(0.2, go.set).start()
        assert child.result(timeout=0) == 42


def test_what_waits_for_a_future_that_nobody_runs_fails_at_the_end() -> None:
    foreign: Future[int] = Future()
    with HybridScheduler("eft", devices="cpu") as scheduler:
        child = scheduler.submit(real_tasks.double, foreign)
        grandchild = scheduler.submit(real_tasks.double, child)
    for each in (child, grandchild):
        assert isinstance(each.exception(timeout=0), WorkerLostError)
    foreign.set_result(1)  # too late: nothing happens
