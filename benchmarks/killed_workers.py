"""Ten thousand tasks, one in twenty raises, a worker is killed every second: all are accounted for, none twice.

`python -m benchmarks.killed_workers [tasks] [backend] [seconds]` prints the account and ends with 1 if it does not
add up; a worker of Ray needs some seconds to come back, so leave it more than one between two kills.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.sleeping_task import EVERY, work
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime.jobs import WorkerLostError

DEVICES = "cpu,gpu=emulated:slowdown=1"
ENDED_BETWEEN = 20  # tasks: one that was interrupted is given up after three workers
NOTICE_SECONDS = 60.0  # for the last death to be noticed


@dataclass
class Account:
    """The outcomes of the tasks."""

    tasks: int
    ended: Counter[str] = field(default_factory=Counter)
    wrong: int = 0  # results of another task
    twice: int = 0  # callbacks that were called again
    killed: int = 0
    restarts: int = 0
    seconds: float = 0.0

    @property
    def adds_up(self) -> bool:
        """Whether every task ended once, as it should."""
        raised = (self.tasks + EVERY - 1) // EVERY
        expected = {"value": self.tasks - raised, "raised": raised}
        return dict(self.ended) == expected and not self.wrong and not self.twice

    def __str__(self) -> str:
        """Return the account in one line."""
        return (
            f"{self.tasks} tasks in {self.seconds:.1f} s: {self.ended['value']} values, {self.ended['raised']} "
            f"exceptions, {self.ended['lost']} lost, {self.wrong} wrong, {self.twice} twice; {self.killed} workers "
            f"killed, {self.restarts} replaced: {'all accounted for' if self.adds_up else 'IT DOES NOT ADD UP'}"
        )


def stress(tasks: int, backend: str = "local", every: float = 1.0) -> Account:
    """Run tasks while workers are killed one after another."""
    account, heard = Account(tasks), Counter[int]()
    begin = time.perf_counter()
    with HybridScheduler("eft", backend, DEVICES) as scheduler:
        stop = threading.Event()
        killer = threading.Thread(target=kill_workers, args=(scheduler, account, stop, every, heard), daemon=True)
        killer.start()
        futures = []
        for number in range(tasks):
            future = scheduler.submit(work, number)
            future.add_done_callback(lambda _, number=number: heard.update([number]))  # type: ignore[misc]  # bound now
            futures.append(future)
        wait(futures)
        stop.set()
        killer.join()
        deadline = time.monotonic() + NOTICE_SECONDS
        while scheduler.backend.restarts < account.killed and time.monotonic() < deadline:
            time.sleep(0.01)
        account.restarts = scheduler.backend.restarts
    account.seconds = time.perf_counter() - begin
    for number, future in enumerate(futures):
        _count(account, number, future)
    account.twice = sum(count != 1 for count in heard.values()) + (tasks - len(heard))
    return account


def _count(account: Account, number: int, future: Future[Any]) -> None:
    error = future.exception()
    if isinstance(error, ValueError):
        account.ended["raised"] += 1
        account.wrong += error.args != (number,)
    elif isinstance(error, WorkerLostError):
        account.ended["lost"] += 1
    elif error is not None:
        account.ended[type(error).__name__] += 1
    else:
        account.ended["value"] += 1
        account.wrong += future.result() != number


def kill_workers(
    scheduler: HybridScheduler, account: Account, stop: threading.Event, every: float, ended: Counter[int]
) -> None:
    """Kill the process behind one device after another, however slow they are: some tasks end between two kills."""
    victim, before = 0, 0
    while not stop.wait(every):
        pid = scheduler.backend.pids[account.killed % len(scheduler.devices)]
        if pid and pid != victim and len(ended) >= before + ENDED_BETWEEN:  # a death may not be noticed yet
            victim, before = pid, len(ended)
            with suppress(ProcessLookupError):  # it has died of something else
                os.kill(victim, signal.SIGKILL)
                account.killed += 1


if __name__ == "__main__":
    words = dict(enumerate(sys.argv))
    found = stress(int(words.get(1, "10000")), words.get(2, "local"), float(words.get(3, "1")))
    print(found)
    sys.exit(not found.adds_up)
