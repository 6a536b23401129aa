"""Lines of calls: what goes to a worker together, who is blamed for its death; messages arrive whole."""

from __future__ import annotations

import math
import socket
from collections.abc import Sequence
from typing import ClassVar

import pytest

import real_tasks
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.runtime.backend import BYTES, DEPTH, Backend, Line
from hybrid_scheduler.runtime.calls import LOST, SMALL, VALUE, Answer, Call, packed
from hybrid_scheduler.runtime.devices import devices_of
from hybrid_scheduler.runtime.dispatcher import AHEAD, BLOCK, Dispatcher
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.user_tasks import Work
from hybrid_scheduler.runtime.worker import CHUNK, LENGTH, Wire

UNKNOWN = math.nan


class Paper(Backend):
    """A backend whose workers are played by the test."""

    name: ClassVar[str] = "paper"

    def __init__(self, devices: str = "cpu", *, answers_together: bool = False) -> None:
        super().__init__(devices_of(devices))
        self.answers_together = answers_together  # type: ignore[misc]  # of this one, not of its class
        self.posts: list[list[int]] = []
        self.ended: list[tuple[int, int]] = []

    def _open(self) -> None:
        for line in self.lines:
            self._came_up(line)

    def _post(self, line: Line, calls: list[Call]) -> None:
        self.posts.append([call.number for call in calls])

    def hear(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        self.ended += [(call.number, answer.outcome) for call, answer in ended]

    def answer(self, *numbers: int, device: int = 0) -> None:
        self._answered(self.lines[device], [(number, Answer(VALUE, 0.0, 1e-5, packed(1))) for number in numbers])

    def die(self) -> None:
        self._died(self.lines[0])
        self._came_up(self.lines[0])


def opened(*, answers_together: bool = False) -> Paper:
    paper = Paper(answers_together=answers_together)
    paper.listen(paper.hear)
    return paper


def calls(count: int, expected: float = 1e-5, first: int = 0, weight: int = 10) -> list[Call]:
    return [Call(first + number, 0, b"f" * weight, b"", 0.5, expected) for number in range(count)]


def test_small_calls_that_come_while_two_posts_are_under_way_go_together() -> None:
    paper = opened()
    for call in calls(9):
        paper.send([call])
    assert paper.posts == [[0], [1]]
    paper.answer(0)
    assert paper.posts == [[0], [1], [2, 3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize(
    ("expected", "weight", "posted"),
    [
        (1e-6, 10, DEPTH),
        (SMALL / 4, 10, 4),
        (SMALL, 10, 2),  # the second is there when the first has ended
        (UNKNOWN, 10, 2),
        (1e-6, BYTES // 2, 3),  # the first is with the worker already
        (1e-6, BYTES + 1, 1),
    ],
)
def test_a_worker_holds_few_calls_of_long_or_unknown_seconds_or_many_bytes(
    expected: float, weight: int, posted: int
) -> None:
    paper = opened()
    paper.send(calls(2 * DEPTH, expected, weight=weight))
    assert len(paper.lines[0].posted) == posted


def test_a_call_that_may_take_long_is_in_a_post_of_its_own() -> None:
    paper = opened()
    paper.send([*calls(3), *calls(1, UNKNOWN, first=3)])
    assert [call.post for call in paper.lines[0].posted] == [0, 0, 0, 1]


def test_where_answers_come_one_by_one_the_call_that_was_under_way_is_blamed_and_runs_alone() -> None:
    paper = opened()
    paper.send(calls(4))
    paper.answer(0)
    paper.die()
    assert paper.posts == [[0, 1, 2, 3], [1]]
    paper.answer(1)
    assert paper.posts[2:] == [[2, 3]]
    paper.answer(2, 3)
    assert paper.ended == [(number, VALUE) for number in range(4)]


@pytest.mark.parametrize("deadly", [0, 2, 3])
def test_where_answers_come_together_the_deadly_call_is_found_and_the_others_live(deadly: int) -> None:
    paper = opened(answers_together=True)
    paper.send(calls(4))
    assert paper.posts == [[0, 1, 2, 3]]
    tried = 0
    while len(paper.ended) < 4:
        if deadly in paper.posts[-1]:
            tried += 1
            paper.die()
        else:
            paper.answer(*paper.posts[-1])
    assert sorted(paper.ended) == [(number, LOST if number == deadly else VALUE) for number in range(4)]
    assert tried == paper.most_attempts
    assert all(len(post) == 1 for post in paper.posts[1:])


def test_an_answer_that_comes_twice_counts_once() -> None:
    paper = opened()
    paper.send(calls(2))
    paper.answer(0)
    paper.answer(0, 1)
    assert paper.ended == [(0, VALUE), (1, VALUE)]


def test_a_burst_of_small_jobs_is_decided_on_in_blocks_and_every_future_gets_its_result() -> None:
    paper = Paper("cpu,cpu")
    dispatcher = Dispatcher(schedulers.create("eft"), paper)
    asked = list[int]()
    decide = dispatcher.decider.decide
    dispatcher.decider.decide = lambda jobs, *rest: asked.append(len(jobs)) or decide(jobs, *rest)  # type: ignore[func-returns-value,method-assign]  # counts
    dispatcher.start()
    work = Work(real_tasks.double)
    jobs = [Job.of(number, work, (number,), {}, 0.0, 0.0) for number in range(400)]
    for job in jobs[:20]:
        dispatcher.submit(job)
        answer_all(paper)
    asked.clear()
    for job in jobs[20:]:
        dispatcher.submit(job)
    held = sum(len(line.posted) + len(line.waiting) for line in paper.lines)
    assert held > 2 * AHEAD, "small ones are decided on further ahead"
    assert len(asked) <= 4 + 380 / BLOCK
    answer_all(paper)
    assert all(job.future.result(timeout=0) == 1 for job in jobs)
    assert dispatcher.wait(timeout=0)


def test_when_a_device_runs_dry_the_policy_is_asked_again_about_what_no_worker_holds() -> None:
    paper = Paper("cpu,gpu=emulated:slowdown=1")
    dispatcher = Dispatcher(schedulers.create("eft"), paper)
    times, work = dispatcher.times, Work(real_tasks.double)
    for spec, seconds in zip(paper.devices, (9.0, 1.0), strict=True):
        for _ in range(9):
            times.observe(work.name, spec.signature, spec.name, 1.0, seconds)
    dispatcher.start()
    jobs = [Job.of(number, work, (number,), {}, 0.0, 0.0) for number in range(8)]
    for job in jobs:
        dispatcher.submit(job)
    assert [[call.tag[0].number for call in line.waiting] for line in paper.lines] == [[], [2, 3, 4, 5, 6, 7]]
    for _ in range(80):
        times.observe(work.name, paper.devices[0].signature, "cpu", 1.0, 0.5)  # the CPU has become quick
    first = paper.lines[1].posted[0]
    paper.answer(first.number, device=1)
    moved = [call.tag[0].number for call in (*paper.lines[0].posted, *paper.lines[0].waiting)]
    assert len(moved) >= 3
    assert all(job.number not in moved for job in jobs[:2]), "what a worker holds stays there"
    answer_all(paper)
    assert all(job.future.result(timeout=0) == 1 for job in jobs)
    assert sum(map(len, paper.posts)) == len(jobs), "every job was posted once"
    assert dispatcher.wait(timeout=0)


def answer_all(paper: Paper) -> None:
    while any(line.posted for line in paper.lines):
        for line in paper.lines:
            paper.answer(*(call.number for call in line.posted), device=line.device)


def test_messages_arrive_whole_however_they_were_cut() -> None:
    near, far = socket.socketpair()
    wire = Wire(far)
    sent, come = [b"", b"one", b"x" * 100], list[bytes]()
    for byte in b"".join(LENGTH.pack(len(each)) + each for each in sent):
        near.send(bytes([byte]))
        come += wire.receive()
    near.send(LENGTH.pack(5) + b"ha")
    assert wire.receive() == []
    near.send(b"lve" + LENGTH.pack(1))
    assert (come, wire.receive()) == (sent, [b"halve"])
    near.close()
    with pytest.raises(EOFError, match="hung up"):
        wire.receive()
    wire.close()


def test_small_and_large_messages_keep_their_order() -> None:
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * CHUNK)
    ours, theirs = Wire(near), Wire(far)
    sent = [b"a", b"b" * 70_000, b"c", b"d"]
    ours.send(sent)
    come = list[bytes]()
    while len(come) < len(sent):
        come += theirs.receive()
    assert come == sent
    ours.close()
    theirs.close()


def test_a_function_of_a_module_travels_by_name_and_a_closure_whole() -> None:
    def inner(x: int) -> int:
        return x + len(UNKNOWN_WORDS)

    assert packed(real_tasks.double) == packed(real_tasks.double)
    assert len(packed(real_tasks.double)) < 60
    assert len(packed(inner)) > 200


UNKNOWN_WORDS = ("fig", "plum")
