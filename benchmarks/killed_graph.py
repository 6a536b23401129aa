"""A graph of large results while workers are killed: `python -m benchmarks.killed_graph [tasks] [seconds]`.

In mid-run all workers are killed at once, as if their node had died. Every result must be right, come once, and
nothing may be left in shared memory. Then the driver of the same graph is interrupted, and another one killed: no
process and no file of theirs may stay.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import psutil

from benchmarks.killed_workers import Account, kill_workers
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime.objects import SharedMemoryStore

DEPTH, LENGTH, PRIME = 20, 10_000, 10_007  # layers, numbers in a result (80 kB), and by what they are taken
DEVICES = "cpu*2,gpu=emulated:slowdown=1"
Array = np.ndarray[Any, np.dtype[np.int64]]
PATIENCE = 60.0  # seconds after which something that is still there counts as left behind


def begin(number: int) -> Array:
    return np.full(LENGTH, number, np.int64)


def combine(one: Array, other: Array) -> Array:
    time.sleep(0.0005)  # long enough to be killed in
    return (3 * one + other + 1) % PRIME


@dataclass
class GraphAccount:
    """What became of the tasks of a graph."""

    tasks: int
    wrong: int = 0
    twice: int = 0
    left: list[str] = field(default_factory=list)
    killed: int = 0
    restarts: int = 0
    seconds: float = 0.0

    @property
    def adds_up(self) -> bool:
        return not (self.wrong or self.twice or self.left)

    def __str__(self) -> str:
        return (
            f"{self.tasks:,} tasks of depth {DEPTH} in {self.seconds:.1f} s, {self.killed} workers killed, "
            f"{self.restarts} replaced: {self.wrong} wrong, {self.twice} not exactly once, "
            f"left behind: {', '.join(self.left) or 'nothing'}"
        )


def stress_graph(tasks: int, every: float = 1.0) -> GraphAccount:
    """Run a graph while workers are killed one after another, and in mid-run all of them at once."""
    width, heard = tasks // DEPTH, Counter[int]()
    account, kills, since = GraphAccount(width * DEPTH), Account(tasks), time.perf_counter()
    with HybridScheduler(devices=DEVICES) as scheduler:
        stop = threading.Event()
        killer = threading.Thread(target=kill_workers, args=(scheduler, kills, stop, every, heard), daemon=True)
        killer.start()
        layer: list[Future[Any]] = []
        for depth in range(DEPTH):
            layer = [
                scheduler.submit(combine, layer[row], layer[(row + depth) % width])
                if layer
                else scheduler.submit(begin, row)
                for row in range(width)
            ]
            for row, future in enumerate(layer):
                future.add_done_callback(lambda _, number=depth * width + row: heard.update([number]))  # type: ignore[misc]
        print(*cast("SharedMemoryStore", scheduler.backend.objects).folders, flush=True)  # for `end_driver`
        while len(heard) < account.tasks // 2:
            time.sleep(0.01)
        for pid in filter(None, scheduler.backend.pids):
            with suppress(ProcessLookupError):  # killed a moment ago
                os.kill(pid, signal.SIGKILL)
                kills.killed += 1
        results = [int(each.result()[0]) for each in layer]
        stop.set()
        killer.join()
        account.restarts = scheduler.backend.restarts
        folders = cast("SharedMemoryStore", scheduler.backend.objects).folders
    account.killed, account.seconds = kills.killed, time.perf_counter() - since
    account.wrong = sum(one != other for one, other in zip(results, compute(width), strict=True))
    account.twice = sum(heard[number] != 1 for number in range(account.tasks))
    account.left = [folder for folder in folders if Path(folder).exists()]
    return account


def compute(width: int) -> list[int]:
    """Return what the last layer must be."""
    layer = np.arange(width)
    for depth in range(1, DEPTH):
        layer = (3 * layer + np.roll(layer, -depth) + 1) % PRIME
    return [int(each) for each in layer]


def end_driver(tasks: int, number: signal.Signals) -> list[str]:
    """Run a graph in another process and send it a signal until it ends; return what is left of it."""
    program = f"from benchmarks.killed_graph import stress_graph; stress_graph({tasks})"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as driver:
        folders = [os.fsdecode(each) for each in cast("Any", driver.stdout).readline().split()]
        processes = psutil.Process(driver.pid).children(recursive=True)
        while driver.poll() is None:  # the first interrupt waits for what runs
            driver.send_signal(number)
            time.sleep(0.5)
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while any(Path(each).exists() for each in folders) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [str(each) for each in alive] + [each for each in folders if Path(each).exists()]


if __name__ == "__main__":
    words = dict(enumerate(sys.argv))
    count = int(words.get(1, "10000"))
    found = stress_graph(count, float(words.get(2, "1")))
    print(found)
    left = {number.name: end_driver(count, number) for number in (signal.SIGINT, signal.SIGKILL)}
    for name, remains in left.items():
        print(f"after {name} of the driver: {', '.join(remains) or 'nothing'} is left")
    sys.exit(not found.adds_up or any(left.values()))
