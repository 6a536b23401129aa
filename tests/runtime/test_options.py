"""What is asked for single calls: retries, timeouts, priority, shares, cancelling; actors, warm-up, guessed sizes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import real_tasks
from hybrid_scheduler import HybridScheduler, task
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.actors import ActorLostError
from hybrid_scheduler.runtime.jobs import TaskFunction, guess_size

DEADLINE = 300.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices="cpu,gpu=emulated:slowdown=1") as scheduler:
        yield scheduler


def fail_until(path: str, runs: int) -> int:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("x")
    count = len(Path(path).read_text(encoding="utf-8"))
    if count < runs:
        raise ValueError(f"run {count}")
    return count


def append(path: str, word: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(word)


class Account:
    """Keeps its balance where it is."""

    def __init__(self, balance: float) -> None:
        if balance < 0:
            raise ValueError("no credit")
        self.balance = balance

    def pay(self, amount: float) -> float:
        self.balance += amount
        return self.balance

    def pid(self) -> int:
        return os.getpid()


def test_a_call_that_raises_is_run_again_as_often_as_asked(scheduler: HybridScheduler, tmp_path: Path) -> None:
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    assert scheduler.submit_with(fail_until, [good, 3], retries=2).result(DEADLINE) == 3
    with pytest.raises(ValueError, match="run 2"):
        scheduler.submit_with(fail_until, [bad], {"runs": 3}, retries=1).result(DEADLINE)


def test_a_timeout_ends_the_task_and_nothing_else(scheduler: HybridScheduler) -> None:
    endless = scheduler.submit_with(sum, [range(10**13)], timeout=0.3)
    others = [scheduler.submit(real_tasks.nap, 0.01, number) for number in range(10)]
    with pytest.raises(TimeoutError, match=r"longer than 0\.3 s"):
        endless.result(DEADLINE)
    assert [each.result(DEADLINE) for each in others] == list(range(10))


def test_a_running_call_can_be_cancelled(scheduler: HybridScheduler) -> None:
    endless = scheduler.submit(sum, range(10**13))
    deadline = time.monotonic() + DEADLINE
    while not endless.running():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not endless.cancel()
    assert scheduler.cancel(endless)
    with pytest.raises(CancelledError):
        endless.result(DEADLINE)
    assert scheduler.submit(real_tasks.double, 2).result(DEADLINE) == 4
    assert not scheduler.cancel(endless)


def test_calls_of_a_higher_priority_are_placed_first(tmp_path: Path) -> None:
    path = str(tmp_path / "order")
    with HybridScheduler(devices="cpu", ahead=1) as scheduler:
        first = scheduler.submit(real_tasks.wait_for, str(tmp_path / "go"))
        words = [("c", 0.0), ("d", -1.0), ("a", 2.0), ("b", 2.0)]
        rest = [scheduler.submit_with(append, [path, word], priority=priority) for word, priority in words]
        (tmp_path / "go").touch()
        for each in (first, *rest):
            each.result(DEADLINE)
    # The first of them may be with the device already when the others come.
    assert Path(path).read_text(encoding="utf-8").replace("c", "") == "abd"


def test_a_share_of_the_gpu_is_obeyed(scheduler: HybridScheduler) -> None:
    @task
    def where() -> str:
        return "cpu"

    @where.on("gpu")
    def where_on_gpu() -> str:
        return "gpu"

    for share, kind in ((0, "cpu"), (1, "gpu")):
        futures = [scheduler.submit_with(where, gpu_share=share) for _ in range(6)]
        assert {each.result(DEADLINE) for each in futures} == {kind}
    parts = scheduler.submit_with(real_tasks.total, [[1, 2, 3, 4]], gpu_share=0.5).result(DEADLINE)
    assert [part for part, _ in parts] == [3, 7]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"retries": -1}, "retries is -1"),
        ({"timeout": 0.0}, "timeout is 0.0"),
        ({"memory": -1.0}, "memory is -1.0"),
        ({"gpu_share": 2.0}, "gpu_share is 2.0"),
        ({"gpu_share": 0.5}, "cannot be split"),
    ],
)
def test_options_without_sense_are_refused(
    scheduler: HybridScheduler, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        scheduler.submit_with(real_tasks.double, [1], **options)


def test_an_actor_keeps_its_state_on_its_device(scheduler: HybridScheduler) -> None:
    account = scheduler.actor(Account, 10.0, on="gpu")
    payments = [account.pay(1.0) for _ in range(5)]
    assert [each.result(DEADLINE) for each in payments] == [11.0, 12.0, 13.0, 14.0, 15.0]
    assert account.pay(scheduler.submit(real_tasks.double, 5)).result(DEADLINE) == 25.0
    assert account.pid().result(DEADLINE) == scheduler.backend.pids[1]
    restarts = scheduler.backend.restarts
    os.kill(scheduler.backend.pids[1], 9)
    while scheduler.backend.restarts == restarts:
        time.sleep(0.01)
    with pytest.raises(ActorLostError, match="gone with its worker"):
        account.pay(0.0).result(DEADLINE)


def test_an_actor_that_cannot_be_created_says_why(scheduler: HybridScheduler) -> None:
    account = scheduler.actor(Account, -1.0)
    with pytest.raises((ValueError, ActorLostError)):
        account.pay(1.0).result(DEADLINE)
    with pytest.raises(ValueError, match="no credit"):
        account.pay(1.0)
    with pytest.raises(InputError, match="kind 'tpu'"):
        scheduler.actor(Account, 1.0, on="tpu")


def test_what_waits_for_one_device_holds_up_no_other(scheduler: HybridScheduler, tmp_path: Path) -> None:
    path = tmp_path / "go"
    for_gpu = [scheduler.submit_with(real_tasks.wait_for, [str(path)], gpu_share=1) for _ in range(100)]
    assert scheduler.submit_with(abs, [-1], gpu_share=0).result(DEADLINE) == 1, "while all places are taken"
    path.touch()
    assert len([each.result(DEADLINE) for each in for_gpu]) == 100


def test_warming_up_runs_a_call_on_every_device(scheduler: HybridScheduler, tmp_path: Path) -> None:
    path = str(tmp_path / "runs")
    scheduler.warm(append, path, "x")
    assert Path(path).read_text(encoding="utf-8") == "xx"


def test_sizes_are_guessed_from_bytes_and_lengths() -> None:
    array = np.ones(10)
    assert guess_size((array, [1, 2], "mode", 3)) == 82.0
    assert guess_size(("mode", 3)) == 1.0
    assert TaskFunction(abs).create_job(0, (array,), {}, 0.0).size == 80.0
    assert TaskFunction(abs).create_job(0, (), {"named": array}, 0.0).size == 80.0
    assert TaskFunction(abs, size=3.0).create_job(0, (array,), {}, 0.0).size == 3.0


def test_chosen_context_variables_go_with_a_call() -> None:
    with HybridScheduler(devices="cpu", context=["real_tasks:REQUEST_NUMBER"]) as scheduler:
        assert scheduler.submit(real_tasks.read_request_number).result(DEADLINE) == 0
        token = real_tasks.REQUEST_NUMBER.set(7)
        later = scheduler.submit(real_tasks.read_request_number, scheduler.submit(real_tasks.nap, 0.05))
        real_tasks.REQUEST_NUMBER.reset(token)
        assert later.result(DEADLINE) == 7
        assert scheduler.submit(real_tasks.read_request_number).result(DEADLINE) == 0, "none is left in the worker"
    with pytest.raises(InputError, match="no context variable"):
        HybridScheduler(devices="cpu", context=["real_tasks:double"])


def test_log_records_of_workers_are_handled_here(
    scheduler: HybridScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.submit(real_tasks.log_warning, 3).result(DEADLINE)
    assert ("real_tasks", 30, "task 3") in caplog.record_tuples
