"""The end of a scheduler: work is done first, interrupts end it, and no worker is left behind."""

from __future__ import annotations

import gc
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import real_tasks
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime.jobs import WorkerLostError
from real_programs import start

DEADLINE = 300.0
ENDLESS = """
with HybridScheduler("eft", devices="cpu*2") as scheduler:
    futures = [scheduler.submit(sum, range(10**13)) for _ in range(8)]  # keeps the interpreter of its worker
    while 0 in scheduler.backend.pids or not futures[0].running():
        time.sleep(0.005)
    print(*scheduler.backend.pids, flush=True)
    futures[0].result()
"""


@pytest.fixture
def endless() -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A program whose tasks never end, and the process numbers of its workers."""
    with start(ENDLESS) as program:
        assert program.stdout is not None
        yield program, [int(word) for word in program.stdout.readline().split()]
        program.kill()


def wait_for_end(pids: list[int]) -> None:
    """Wait until processes are gone; orphans stay zombies where no init process collects them."""
    deadline = time.monotonic() + DEADLINE
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, "workers are left"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before or while it was read
        return False


@pytest.mark.parametrize("end", ["", "scheduler.shutdown(wait=False)", "del scheduler"])
def test_all_submitted_calls_run_before_the_interpreter_ends(tmp_path: Path, end: str) -> None:
    code = (
        "scheduler = HybridScheduler('eft', devices='cpu')\n"
        "first = scheduler.submit(real_tasks.note, sys.argv[1], 0)\n"
        "for number in range(1, 20):\n"
        "    scheduler.submit(real_tasks.note, sys.argv[1], number)\n"
        "scheduler.submit(real_tasks.note, sys.argv[1], scheduler.submit(real_tasks.double, 10))\n" + end
    )
    program = start(code, str(tmp_path / "notes"))
    _, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, "")
    assert sorted(map(int, (tmp_path / "notes").read_text().split())) == list(range(21))


def test_two_interrupts_end_a_program_whose_tasks_never_end(endless: tuple[subprocess.Popen[str], list[int]]) -> None:
    program, pids = endless
    program.send_signal(signal.SIGINT)
    deadline = time.monotonic() + DEADLINE
    while program.poll() is None:  # the second one, when the first has been noticed
        assert time.monotonic() < deadline, "interrupts do not end it"
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=DEADLINE)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_for_end(pids)


def test_workers_die_with_their_driver_in_the_middle_of_a_task(
    endless: tuple[subprocess.Popen[str], list[int]],
) -> None:
    program, pids = endless
    program.kill()
    program.wait()
    wait_for_end(pids)


def test_shutdown_without_waiting_lets_pending_calls_finish() -> None:
    scheduler = HybridScheduler("eft", devices="cpu")
    futures = [scheduler.submit(real_tasks.nap, 0.01, number) for number in range(20)]
    scheduler.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="shut down"):
        scheduler.submit(real_tasks.double, 1)
    assert [each.result(timeout=DEADLINE) for each in futures] == list(range(20))
    scheduler.shutdown()
    assert scheduler.backend.pids == [0] or not any(map(is_running, scheduler.backend.pids))


def test_a_scheduler_can_be_shut_down_from_a_callback() -> None:
    scheduler = HybridScheduler("eft", devices="cpu")
    first = scheduler.submit(real_tasks.nap, 0.05, 1)
    second = scheduler.submit(real_tasks.nap, 0.05, 2)
    first.add_done_callback(lambda _: scheduler.shutdown())
    assert second.result(timeout=DEADLINE) == 2
    scheduler.shutdown()


def test_the_workers_of_a_dropped_scheduler_end_when_its_work_is_done() -> None:
    scheduler = HybridScheduler("eft", devices="cpu")
    pid = scheduler.submit(real_tasks.worker_number).result(timeout=DEADLINE)
    future = scheduler.submit(real_tasks.nap, 0.1, 5)
    del scheduler
    gc.collect()
    assert future.result(timeout=DEADLINE) == 5
    wait_for_end([pid])


def test_killed_workers_leave_no_future_unresolved() -> None:
    scheduler = HybridScheduler("eft", devices="cpu")
    futures = [scheduler.submit(real_tasks.nap, 10 * DEADLINE) for _ in range(5)]
    futures.append(scheduler.submit(real_tasks.nap, futures[0]))
    while not futures[0].running():
        time.sleep(0.005)
    scheduler.kill_workers()
    assert all(isinstance(each.exception(timeout=0), WorkerLostError) for each in futures)
