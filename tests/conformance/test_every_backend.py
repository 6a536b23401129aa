"""What every registered backend must do, plug-ins included: calls go in, each comes out exactly once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

import real_tasks
from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import parse_devices
from hybrid_scheduler.runtime.jobs import CANCELLED, ERROR, LOST, VALUE, Answer, Call, serialize, serialize_arguments
from ray_nodes import RayCluster

NAMES = sorted(registry.backends.table)
DEVICES = "cpu,gpu=emulated:slowdown=2"
DEADLINE = 600.0
CLOCK_ERROR = 0.005
"""Seconds by which the sleep of a process may end before the clock that measures it says so."""


class Sender:
    """Sends calls to a backend and collects the answers."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.ended: list[tuple[Call, Answer]] = []
        self._news = threading.Condition()
        self._sent = 0
        backend.listen(self._receive, on_stranded=backend.send)  # on a busy machine a worker may be back late

    def _receive(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        with self._news:
            self.ended += ended
            self._news.notify_all()

    def send(
        self, device: int, function: Callable[..., object], *args: object, future: Future[None] | None = None
    ) -> int:
        begin = future.set_running_or_notify_cancel if future else None
        arguments = partial(serialize_arguments, args, {})  # called with the backend's object store
        call = Call(self._sent, device, serialize(function), arguments, 0.5, float("nan"), begin)
        self._sent += 1
        self.backend.send([call])
        return call.number

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def answers(self, seconds: float = DEADLINE) -> dict[int, Answer]:
        """Wait until all calls have ended and return their answers; none may have ended twice."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.ended) >= self._sent, seconds), "calls are missing"
            numbers = [call.number for call, _ in self.ended]
            assert len(numbers) == len(set(numbers))
            return {call.number: answer for call, answer in self.ended}


@pytest.fixture(scope="module", params=NAMES)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param != "ray":
        made: Backend = registry.backends.create(request.param, devices=parse_devices(DEVICES))
        yield made
        made.close()
        return
    # Ray keeps what it read when it was first imported, so a process goes to one cluster only.
    cluster: RayCluster = request.getfixturevalue("ray_cluster")
    made = registry.backends.create("ray", devices=parse_devices(DEVICES), address=cluster.address)
    yield made
    made.close()


@pytest.fixture
def sender(backend: Backend) -> Sender:
    return Sender(backend)


def test_says_that_it_measures_and_what_its_devices_are(backend: Backend) -> None:
    assert backend.measured
    assert [each.label for each in backend.devices] == ["cpu", "gpu0 (emulated)"]


def test_gives_every_call_one_answer_from_its_own_device(sender: Sender) -> None:
    numbers = [[sender.send(device, real_tasks.worker_number) for _ in range(10)] for device in (0, 1)]
    answers = sender.answers()
    workers = [{answers[number].value() for number in each} for each in numbers]
    assert [len(each) for each in workers] == [1, 1]
    assert workers[0] != workers[1]


def test_calls_of_a_device_run_one_after_another_by_our_clock(sender: Sender) -> None:
    before = time.perf_counter()
    numbers = [sender.send(0, real_tasks.nap, 0.01) for _ in range(8)]
    answers = sender.answers()
    spans = [(answers[number].start, answers[number].end) for number in numbers]
    assert before - 0.01 < spans[0][0]
    assert spans[-1][1] < time.perf_counter() + 0.01
    assert all(end - start >= 0.01 for start, end in spans)
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(spans))


def test_an_answer_does_not_wait_for_the_call_behind_it(sender: Sender, tmp_path: Path) -> None:
    """The second call ends when the test has seen the answer to the first."""
    mark = tmp_path / "seen"
    first, _ = sender.send(0, real_tasks.double, 1), sender.send(0, real_tasks.wait_for, str(mark))
    sender.wait_for(lambda: len(sender.ended) > 0)
    seen = [call.number for call, _ in sender.ended]
    mark.touch()
    sender.answers()
    assert seen == [first]


def test_an_emulated_device_is_slower_by_its_factor(sender: Sender) -> None:
    numbers = [[sender.send(device, real_tasks.nap, 0.1) for _ in range(5)] for device in (0, 1)]
    answers = sender.answers()
    fastest = [min(answers[number].end - answers[number].start for number in each) for each in numbers]
    assert fastest[0] + CLOCK_ERROR >= 0.1
    assert fastest[0] < 0.2 <= fastest[1] + CLOCK_ERROR


def test_exceptions_come_back_with_their_traceback(sender: Sender) -> None:
    number = sender.send(0, real_tasks.complain, "fig")
    answer = sender.answers()[number]
    assert answer.outcome == ERROR
    error = answer.error()
    assert isinstance(error, KeyError)
    assert "in complain" in str(error.__cause__)


def test_an_exception_whose_methods_fail_is_named_and_kills_no_worker(sender: Sender) -> None:
    restarts = sender.backend.restarts
    number = sender.send(0, real_tasks.raise_speechless)
    answer = sender.answers()[number]
    assert "SpeechlessError" in str(answer.error())
    assert "in raise_speechless" in str(answer.error().__cause__)
    assert sender.backend.restarts == restarts


def test_arguments_that_cannot_be_pickled_are_an_error_of_their_call(sender: Sender) -> None:
    wrong, right = sender.send(0, real_tasks.nap, 0.0, threading.Lock()), sender.send(0, real_tasks.double, 2)
    answers = sender.answers()
    assert isinstance(answers[wrong].error(), TypeError)
    assert answers[right].value() == 4


def test_what_was_cancelled_before_it_began_never_runs(sender: Sender, tmp_path: Path) -> None:
    for _ in range(2):
        sender.send(0, real_tasks.nap, 0.2)
    future: Future[None] = Future()
    number = sender.send(0, real_tasks.die_once, str(tmp_path / "never"), future=future)
    future.cancel()
    assert sender.answers()[number].outcome == CANCELLED
    assert not (tmp_path / "never").exists()


def test_survives_the_death_of_a_worker(sender: Sender) -> None:
    worker = sender.send(0, real_tasks.worker_number)
    pid = sender.answers()[worker].value()
    restarts = sender.backend.restarts
    numbers = [sender.send(0, real_tasks.nap, 0.02, value) for value in range(20)]
    sender.wait_for(lambda: len(sender.ended) > 1)
    os.kill(pid, 9)
    answers = sender.answers()
    assert [answers[number].value() for number in numbers] == list(range(20))
    sender.wait_for(lambda: sender.backend.restarts == restarts + 1)


def test_a_call_that_kills_every_worker_is_given_up_and_the_next_one_runs(sender: Sender) -> None:
    deadly, harmless = sender.send(0, real_tasks.kill_worker), sender.send(0, real_tasks.double, 4)
    answers = sender.answers()
    assert answers[deadly].outcome == LOST
    assert answers[harmless].outcome == VALUE
    assert answers[harmless].value() == 8


def test_an_unknown_backend_is_named_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match="did you mean 'local'"):
        registry.backends.load("locale")


def test_only_a_cluster_takes_an_address() -> None:
    from hybrid_scheduler.runtime.executor import create_backend

    with pytest.raises(InputError, match="'local' takes no address"):
        create_backend("local", parse_devices("cpu"), "127.0.0.1:1")
