"""Queues of calls: what is sent to a worker together, and which calls are retried when it dies."""

from __future__ import annotations

import math

import pytest

from hybrid_scheduler.runtime.backend import MAX_BYTES, MAX_CALLS, MAX_FUNCTIONS, FunctionSlots
from hybrid_scheduler.runtime.jobs import LOST, SMALL_SECONDS, VALUE, Call
from hybrid_scheduler.runtime.objects import Pickled
from scripted_backend import ScriptedBackend

UNKNOWN = math.nan


def create_calls(count: int, expected: float = 1e-5, first: int = 0, size: int = 10) -> list[Call]:
    return [Call(first + number, 0, b"f" * size, Pickled(b""), 0.5, expected) for number in range(count)]


def test_small_calls_that_come_while_two_batches_are_under_way_go_together() -> None:
    backend = ScriptedBackend.open()
    for call in create_calls(9):
        backend.send([call])
    assert backend.batches == [[0], [1]]
    backend.answer(0)
    assert backend.batches == [[0], [1], [2, 3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize(
    ("expected", "size", "held"),
    [
        (1e-6, 10, MAX_CALLS),
        (SMALL_SECONDS / 4, 10, 4),
        (SMALL_SECONDS, 10, 2),  # the second is there when the first has ended
        (UNKNOWN, 10, 2),
        (1e-6, MAX_BYTES // 2, 3),  # the first is with the worker already
        (1e-6, MAX_BYTES + 1, 1),
    ],
)
def test_a_worker_holds_few_calls_of_long_or_unknown_seconds_or_many_bytes(
    expected: float, size: int, held: int
) -> None:
    backend = ScriptedBackend.open()
    backend.send(create_calls(2 * MAX_CALLS, expected, size=size))
    assert len(backend.queues[0].in_flight) == held


def test_a_call_that_may_take_long_is_in_a_batch_of_its_own() -> None:
    backend = ScriptedBackend.open()
    backend.send([*create_calls(3), *create_calls(1, UNKNOWN, first=3)])
    assert [call.batch for call in backend.queues[0].in_flight] == [0, 0, 0, 1]


def test_where_answers_come_one_by_one_the_call_that_was_running_is_retried_alone() -> None:
    backend = ScriptedBackend.open()
    backend.send(create_calls(4))
    backend.answer(0)
    backend.die()
    assert backend.batches == [[0, 1, 2, 3], [1]]
    backend.answer(1)
    assert backend.batches[2:] == [[2, 3]]
    backend.answer(2, 3)
    assert backend.ended == [(number, VALUE) for number in range(4)]


@pytest.mark.parametrize("deadly", [0, 2, 3])
def test_where_answers_come_in_batches_the_deadly_call_is_found_and_the_others_complete(deadly: int) -> None:
    backend = ScriptedBackend.open(answers_in_batches=True)
    backend.send(create_calls(4))
    assert backend.batches == [[0, 1, 2, 3]]
    tried = 0
    while len(backend.ended) < 4:
        if deadly in backend.batches[-1]:
            tried += 1
            backend.die()
        else:
            backend.answer(*backend.batches[-1])
    assert sorted(backend.ended) == [(number, LOST if number == deadly else VALUE) for number in range(4)]
    assert tried == backend.max_attempts
    assert all(len(batch) == 1 for batch in backend.batches[1:])


def test_a_worker_is_sent_a_function_once_until_others_have_taken_its_place() -> None:
    slots = FunctionSlots()
    slot, function = slots.refer(b"f")
    assert function == b"f"
    assert slots.refer(b"f") == (slot, b"")
    others = [slots.refer(b"%d" % number) for number in range(MAX_FUNCTIONS)]
    assert all(function for _, function in others)
    assert len({other for other, _ in others}) == MAX_FUNCTIONS
    assert slots.refer(b"f")[1] == b"f", "it had to go"


def test_a_new_worker_has_no_functions() -> None:
    backend = ScriptedBackend.open()
    slots = backend.queues[0].functions
    slots.refer(b"f")
    backend.die()
    assert b"f" not in backend.queues[0].functions


def test_an_answer_that_comes_twice_counts_once() -> None:
    backend = ScriptedBackend.open()
    backend.send(create_calls(2))
    backend.answer(0)
    backend.answer(0, 1)
    assert backend.ended == [(0, VALUE), (1, VALUE)]
