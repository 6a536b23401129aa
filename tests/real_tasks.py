"""Functions that tests send to workers; they live here because a worker must be able to import them quickly."""

from __future__ import annotations

import logging
import os
import time
from contextvars import ContextVar
from pathlib import Path

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.tasks import task


def tenfold_if_even(x: int) -> int:
    if x % 2:
        raise InputError(f"{x} is odd")
    return 10 * x


def double(x: int) -> int:
    return 2 * x


def complain(word: str) -> None:
    raise KeyError(word)


def nap(seconds: float, value: object = None) -> object:
    time.sleep(seconds)
    return value


def note(path: str, number: int) -> None:
    """Append a number to a file, after a while."""
    time.sleep(0.01)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")


def wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.005)


def add(*numbers: int) -> int:
    return sum(numbers)


def worker_number(_: object = None) -> int:
    return os.getpid()


def threads() -> str:
    return os.environ["OMP_NUM_THREADS"]


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def kill_worker() -> None:
    os.kill(os.getpid(), 9)


def die_once(path: str) -> str:
    """End the worker the first time, leave a mark, and work the second time."""
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123  # one write that is there when the process is not
        file.write("tried\n")
        file.flush()
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # as above
        if len(file.readlines()) == 1:
            os._exit(1)
    return "survived"


def sometimes(number: int) -> int:
    """Raise for every twentieth number."""
    if number % 20 == 0:
        raise ValueError(f"number {number}")
    return number


REQUEST_NUMBER: ContextVar[int] = ContextVar("REQUEST_NUMBER", default=0)


def read_request_number(*_: object) -> int:
    return REQUEST_NUMBER.get()


def log_warning(number: int) -> None:
    logging.getLogger("real_tasks").warning("task %d", number)


class PickyError(Exception):
    """An exception that cannot be built from its arguments, so pickle cannot bring it back."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_picky() -> None:
    raise PickyError(1, 2)


class SpeechlessError(Exception):
    """An exception that has no message and cannot be pickled."""

    def __str__(self) -> str:
        raise ValueError("no words")

    def __reduce__(self) -> str:
        raise SystemExit("no way")


def raise_speechless() -> None:
    raise SpeechlessError


def unpicklable() -> object:
    return lambda: (yield)


@task(size=lambda seconds, *_: seconds * 1000, intensity=0.9)
def cook(seconds: float, fast: float) -> str:
    """Take long on a CPU and `fast` times less on a GPU."""
    time.sleep(seconds)
    return "cpu"


@cook.on("gpu")
def cook_fast(seconds: float, fast: float) -> str:
    time.sleep(seconds / fast)
    return "gpu"


@task(only="gpu")
def gpu_only() -> str:
    return "gpu"


@task(size=lambda numbers: len(numbers), intensity=0.5)
def total(numbers: list[int]) -> int:
    return sum(numbers)


@total.share
def part_of_total(begin: float, end: float, numbers: list[int]) -> tuple[int, int]:
    count = len(numbers)
    return sum(numbers[round(begin * count) : round(end * count)]), os.getpid()


class Counter:
    """A trainer without a model: its update is the number of observations so far."""

    def __init__(self) -> None:
        self.count = 0

    def train(self, observation: object) -> int:
        self.count += 1
        return self.count
