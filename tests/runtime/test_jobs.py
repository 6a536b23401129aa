"""Functions are pickled by name where a worker can import them, else by value, once; sizes of calls are checked."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import real_tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.jobs import TaskFunction, serialize

WORDS = ("fig", "plum")


def test_a_function_of_a_module_is_pickled_by_name_and_a_closure_by_value() -> None:
    def inner(x: int) -> int:
        return x + len(WORDS)

    assert serialize(real_tasks.double) == serialize(real_tasks.double)
    assert len(serialize(real_tasks.double)) < 60
    assert len(serialize(inner)) > 200


def test_a_closure_is_pickled_once_and_again_when_what_it_names_is_another_object() -> None:
    number = 1

    def inner() -> int:
        return number + len([word for word in WORDS if word])

    blob = serialize(inner)
    assert serialize(inner) is blob
    number = 2
    assert pickle.loads(serialize(inner))() == 4  # noqa: S301  # our own bytes
    assert serialize(inner) is serialize(inner)


def test_a_method_is_pickled_with_its_object_as_it_is_now() -> None:
    numbers = [1]
    method = numbers.count
    assert pickle.loads(serialize(method))(1) == 1  # noqa: S301  # our own bytes
    numbers.append(1)
    assert pickle.loads(serialize(method))(1) == 2  # noqa: S301  # our own bytes


def test_a_pickled_closure_keeps_nothing_alive() -> None:
    class Holder:
        """Refers to a function that refers to it."""

    def make() -> weakref.ref[Holder]:
        holder = Holder()
        holder.function = lambda: holder  # type: ignore[attr-defined]  # any attribute will do
        serialize(holder.function)  # type: ignore[attr-defined]  # as above
        return weakref.ref(holder)

    known = make()
    gc.collect()
    assert known() is None


@pytest.mark.parametrize(("size", "counts"), [(np.int64(10), 10.0), (np.float32(0.5), 0.5), (0, 0.5), (7, 7.0)])
def test_sizes_of_numpy_and_of_empty_lists_count(size: float, counts: float) -> None:
    assert TaskFunction(len, size=size).create_job(0, ((),), {}, 0.0).size == counts


@pytest.mark.parametrize("size", [-1, float("nan"), float("inf"), "3", None])
def test_other_sizes_are_refused(size: float) -> None:
    with pytest.raises(InputError, match="expected a number from 0"):
        TaskFunction(len, size=size).create_job(0, ((),), {}, 0.0)
