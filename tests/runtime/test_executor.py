"""`HybridScheduler` is a standard executor: futures, map, cancel, timeouts, exceptions, await."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, as_completed, wait
from concurrent.futures import TimeoutError as Late
from pathlib import Path

import pytest

import real_tasks
from hybrid_scheduler import Command, HybridScheduler
from hybrid_scheduler.errors import InputError, PolicyError, SchedulerError
from hybrid_scheduler.runtime.jobs import RemoteTraceback, WorkerLostError
from hybrid_scheduler.runtime.tasks import CommandError
from hybrid_scheduler.schedulers.scheduler import from_function

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_tasks.py"
DEADLINE = 300.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)  # as it is outside of the tests
        with HybridScheduler("eft", devices="cpu,gpu=emulated:slowdown=1") as made:
            yield made


def test_a_future_gets_the_result(scheduler: HybridScheduler) -> None:
    future = scheduler.submit(real_tasks.double, 21)
    assert isinstance(future, Future)
    assert future.result(timeout=DEADLINE) == 42


def test_map_keeps_the_order(scheduler: HybridScheduler) -> None:
    assert list(scheduler.map(real_tasks.double, range(40))) == list(range(0, 80, 2))


def test_map_runs_calls_in_chunks_if_it_is_told_to(scheduler: HybridScheduler) -> None:
    assert list(scheduler.map(real_tasks.add, range(41), range(41), chunksize=7)) == list(range(0, 82, 2))
    assert scheduler.times.has_measured("real_tasks.add in chunks", scheduler.devices[0].signature)
    with pytest.raises(ValueError, match="chunksize is 0"):
        scheduler.map(real_tasks.double, [1], chunksize=0)


def test_as_completed_and_wait_of_the_standard_library_work(scheduler: HybridScheduler) -> None:
    futures = [scheduler.submit(real_tasks.double, x) for x in range(10)]
    assert sorted(each.result() for each in as_completed(futures, timeout=DEADLINE)) == list(range(0, 20, 2))
    assert wait(futures).not_done == set()


def test_an_exception_reaches_the_caller_with_the_workers_traceback(scheduler: HybridScheduler) -> None:
    with pytest.raises(KeyError, match="aubergine") as raised:
        scheduler.submit(real_tasks.complain, "aubergine").result(timeout=DEADLINE)
    assert isinstance(raised.value.__cause__, RemoteTraceback)
    assert "in complain" in str(raised.value.__cause__)


def test_an_exception_that_cannot_be_pickled_arrives_as_its_message(scheduler: HybridScheduler) -> None:
    with pytest.raises(SchedulerError, match="PickyError: 1 and 2") as raised:
        scheduler.submit(real_tasks.raise_picky).result(timeout=DEADLINE)
    assert "in raise_picky" in str(raised.value.__cause__)


def test_a_result_that_cannot_be_pickled_is_an_error_of_that_task_alone(scheduler: HybridScheduler) -> None:
    import threading

    with pytest.raises(TypeError, match="pickle"):
        scheduler.submit(threading.Lock).result(timeout=DEADLINE)
    with pytest.raises(TypeError, match="pickle"):
        scheduler.submit(real_tasks.nap, 0.0, threading.Lock()).result(timeout=DEADLINE)
    assert scheduler.submit(real_tasks.double, 1).result(timeout=DEADLINE) == 2


def test_closures_and_functions_of_the_main_script_work(scheduler: HybridScheduler) -> None:
    three = 3
    assert scheduler.submit(lambda x: x * three, 5).result(timeout=DEADLINE) == 15


def test_a_result_can_be_waited_for_no_longer_than_a_timeout(scheduler: HybridScheduler) -> None:
    future = scheduler.submit(real_tasks.nap, 0.4, "done")
    with pytest.raises(Late):
        future.result(timeout=0.01)
    assert future.result(timeout=DEADLINE) == "done"


def test_what_has_not_begun_can_be_cancelled(scheduler: HybridScheduler) -> None:
    busy = [scheduler.submit(real_tasks.nap, 0.2) for _ in range(4)]
    last = scheduler.submit(real_tasks.double, 1)
    assert last.cancel()
    with pytest.raises(CancelledError):
        last.result()
    assert wait(busy, timeout=DEADLINE).not_done == set()
    assert wait([last], timeout=DEADLINE).not_done == set()


def test_futures_among_the_arguments_are_waited_for(scheduler: HybridScheduler) -> None:
    slow = scheduler.submit(real_tasks.nap, 0.1, 5)
    other = scheduler.submit(real_tasks.double, slow)
    assert scheduler.submit(real_tasks.add, slow, other, 1).result(timeout=DEADLINE) == 16


def test_the_child_of_a_failed_call_raises_what_its_parent_raised(scheduler: HybridScheduler) -> None:
    child = scheduler.submit(real_tasks.double, scheduler.submit(real_tasks.complain, "leek"))
    with pytest.raises(KeyError, match="leek"):
        child.result(timeout=DEADLINE)


def test_calls_can_be_awaited(scheduler: HybridScheduler) -> None:
    async def both() -> list[int]:
        return list(await asyncio.gather(*(scheduler.run(real_tasks.double, x) for x in (1, 2))))

    assert asyncio.run(both()) == [2, 4]


def test_a_large_argument_and_a_large_result_pass_at_the_same_time(scheduler: HybridScheduler) -> None:
    blob = b"x" * 3_000_000
    futures = [scheduler.submit(real_tasks.nap, 0.0, blob) for _ in range(6)]
    assert all(each.result(timeout=DEADLINE) == blob for each in futures)


def test_each_kind_of_device_runs_its_own_implementation(scheduler: HybridScheduler) -> None:
    futures = [scheduler.submit(real_tasks.cook, 0.02, 4.0) for _ in range(12)]
    assert {each.result(timeout=DEADLINE) for each in futures} == {"cpu", "gpu"}
    assert scheduler.submit(real_tasks.gpu_only).result(timeout=DEADLINE) == "gpu"


def test_workers_have_the_threads_they_were_given_and_share_all_cores(scheduler: HybridScheduler) -> None:
    assert scheduler.submit(real_tasks.cores).result(timeout=DEADLINE) == sorted(os.sched_getaffinity(0))
    assert scheduler.submit(real_tasks.threads).result(timeout=DEADLINE) == "1"


def test_a_worker_is_pinned_if_that_is_asked_for() -> None:
    with HybridScheduler("eft", devices="cpu:pin=1") as scheduler:
        assert len(scheduler.submit(real_tasks.cores).result(timeout=DEADLINE)) == 1


def test_libraries_that_are_given_an_executor_find_out_how_many_calls_run_at_once(scheduler: HybridScheduler) -> None:
    assert scheduler._max_workers == 2


def test_futures_inside_containers_are_waited_for(scheduler: HybridScheduler) -> None:
    parts = [scheduler.submit(real_tasks.double, number) for number in (1, 2)]
    nested: Future[object] = scheduler.submit(real_tasks.nap, 0.0, [*parts, {"a": (parts[0], [parts[1]])}])
    assert nested.result(timeout=DEADLINE) == [2, 4, {"a": (2, [4])}]


class CountsPickles:
    """An argument that knows how often it was pickled here."""

    def __init__(self) -> None:
        self.count = 0

    def __reduce__(self) -> tuple[object, ...]:
        self.count += 1
        return (int, (7,))


@pytest.mark.parametrize("policy", ["eft", "min_min", "hybrid_ml"])
def test_arguments_are_pickled_once_however_often_is_decided_where_they_go(policy: str) -> None:
    given = [CountsPickles() for _ in range(60)]
    with HybridScheduler(policy, devices="cpu,gpu=emulated:slowdown=1") as scheduler:
        futures = [scheduler.submit(real_tasks.nap, 0.005, each) for each in given]
        assert [each.result(timeout=DEADLINE) for each in futures] == [7] * 60
    assert [each.count for each in given] == [1] * 60


def test_a_command_line_is_a_task(scheduler: HybridScheduler) -> None:
    command = Command([sys.executable, "-c", "import sys; print('hello', sys.argv[1])"])
    assert scheduler.submit(command, 7).result(timeout=DEADLINE) == "hello 7\n"
    with pytest.raises(CommandError, match="ended with 3"):
        scheduler.submit(Command([sys.executable, "-c", "raise SystemExit(3)"])).result(timeout=DEADLINE)
    with pytest.raises(CommandError, match="cannot be run"):
        scheduler.submit(Command(["no-such-program"])).result(timeout=DEADLINE)
    with pytest.raises(InputError, match="list of words"):
        Command("rm -rf")


def test_explanations_name_every_device_and_what_was_learnt(scheduler: HybridScheduler) -> None:
    for _ in range(6):
        scheduler.submit(real_tasks.cook, 0.02, 4.0).result(timeout=DEADLINE)
    explained = scheduler.explain(real_tasks.cook, 0.02, 4.0)
    cpu, gpu = explained.candidates
    assert explained.device == 1
    assert 0.018 < cpu.seconds < 0.2
    assert gpu.seconds < cpu.seconds


def test_shares_of_a_split_task_run_on_two_devices_side_by_side() -> None:
    half = from_function(lambda task, view: (0.5, 1))
    with HybridScheduler(half, devices="cpu,gpu=emulated:slowdown=1") as scheduler:
        scheduler._dispatcher.decider.uses_times = False  # from the first call on
        (gpu_sum, gpu_pid), (cpu_sum, cpu_pid) = scheduler.submit(real_tasks.total, list(range(100))).result(
            timeout=DEADLINE
        )
        assert (gpu_sum, cpu_sum) == (sum(range(50)), sum(range(50, 100)))
        assert gpu_pid != cpu_pid
        assert scheduler.submit(real_tasks.double, 4).result(timeout=DEADLINE) == 8  # cannot be split: runs whole


def test_an_error_of_the_policy_reaches_the_caller() -> None:
    wrong = from_function(lambda task, view: (1.0, 7))
    with HybridScheduler(wrong, devices="cpu") as scheduler, pytest.raises(PolicyError, match="devices are 0 to 0"):
        scheduler.submit(real_tasks.double, 1).result(timeout=DEADLINE)


def test_a_task_that_kills_its_worker_is_tried_three_times_and_affects_no_other() -> None:
    with HybridScheduler("round_robin", devices="cpu") as scheduler:
        others = [scheduler.submit(real_tasks.double, x) for x in range(5)]
        with pytest.raises(WorkerLostError, match="tried 3 times"):
            scheduler.submit(real_tasks.kill_worker).result(timeout=DEADLINE)
        assert [each.result(timeout=DEADLINE) for each in others] == [0, 2, 4, 6, 8]
        assert scheduler.submit(real_tasks.double, 9).result(timeout=DEADLINE) == 18


def test_a_task_whose_worker_dies_once_runs_again(tmp_path: Path) -> None:
    with HybridScheduler("round_robin", devices="cpu") as scheduler:
        assert scheduler.submit(real_tasks.die_once, str(tmp_path / "mark")).result(timeout=DEADLINE) == "survived"
    assert (tmp_path / "mark").read_text() == "tried\ntried\n"


def test_shutdown_waits_or_cancels() -> None:
    scheduler = HybridScheduler("round_robin", devices="cpu")
    futures = [scheduler.submit(real_tasks.nap, 0.05, x) for x in range(30)]
    futures[0].result(timeout=DEADLINE)
    scheduler.shutdown(cancel_futures=True)
    ended = [each for each in futures if not each.cancelled()]
    assert all(each.done() for each in futures)
    assert [each.result() for each in ended] == list(range(len(ended)))
    assert len(ended) < 30
    with pytest.raises(SchedulerError, match="shut down"):
        scheduler.submit(real_tasks.double, 1)


def test_a_script_without_a_guard_works(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from hybrid_scheduler import HybridScheduler\n"
        "def square(x):\n    return x * x\n"
        "with HybridScheduler('round_robin', devices='cpu') as s:\n"
        "    print(sum(s.map(square, range(5))))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert (done.stdout, done.stderr) == ("30\n", "")


def test_no_worker_outlives_its_scheduler() -> None:
    with HybridScheduler("round_robin", devices="cpu") as scheduler:
        number = scheduler.submit(real_tasks.worker_number).result(timeout=DEADLINE)
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and Path(f"/proc/{number}").exists():
        time.sleep(0.01)
    assert not Path(f"/proc/{number}").exists()


def test_the_example_of_own_tasks_says_what_it_found_and_where_more_would_run() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = [line.split(" is about ") for line in lines if "pi is about" in line]
    assert len(found) == 6
    assert all(abs(float(value) - 3.1416) < 0.02 for _, value in found)
    assert "futures are arguments too: 6" in lines
    assert lines[-1] in ("250 would go to cpu", "250 would go to gpu0 (emulated)")
