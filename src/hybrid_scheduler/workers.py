"""Worker processes that do one job after another, each within a time limit: who exceeds it is ended and replaced."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

_SPAWN = multiprocessing.get_context("spawn")  # threads of the parent (Numba, BLAS) do not survive a fork
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # read when the libraries are loaded


@dataclass(frozen=True)
class Outcome:
    """What became of job number `number`: its value, or why there is none."""

    number: int
    value: Any = None
    problem: str = ""


@dataclass
class _Worker:
    """A process, the pipe to it and the job it is at."""

    work: Callable[[Any], Any]
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)
    job: int = -1
    since: float = 0.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(theirs, self.work), daemon=True)
        with _one_thread_each():
            self.process.start()
        theirs.close()
        self.job = -1

    def give(self, number: int, job: Any) -> None:
        self.job, self.since = number, time.monotonic()
        self.pipe.send((number, job))

    def take(self) -> Outcome:
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, OSError):
            outcome = Outcome(self.job, problem="its process died")
            self.replace()
        self.job = -1
        return outcome

    def replace(self) -> None:
        self.end()
        self.start()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile use one core, unless the user has said otherwise."""
    missing = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


def carried_out(
    work: Callable[[Any], Any], jobs: Sequence[Any], processes: int, time_limit: float
) -> Iterator[Outcome]:
    """Yield the outcome of every job as it comes; `work` is a function of a module, so that processes find it."""
    workers = [_Worker(work) for _ in range(min(processes, len(jobs)))]
    waiting = iter(enumerate(jobs))
    try:
        left = len(jobs)
        while left:
            _hand_out(workers, waiting)
            for outcome in (*_answers(workers), *_overdue(workers, time_limit)):
                left -= 1
                yield outcome
    finally:
        for worker in workers:
            worker.end()


def _hand_out(workers: list[_Worker], waiting: Iterator[tuple[int, Any]]) -> None:
    for worker in workers:
        if worker.job < 0 and (following := next(waiting, None)) is not None:
            worker.give(*following)


def _answers(workers: list[_Worker]) -> list[Outcome]:
    busy = {worker.pipe: worker for worker in workers if worker.job >= 0}
    return [busy[pipe].take() for pipe in wait(list(busy), timeout=0.2) if isinstance(pipe, Connection)]


def _overdue(workers: list[_Worker], time_limit: float) -> list[Outcome]:
    late = [each for each in workers if each.job >= 0 and time.monotonic() - each.since > time_limit]
    outcomes = [Outcome(each.job, problem=f"not done after {time_limit:g} s") for each in late]
    for each in late:
        each.replace()
    return outcomes


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    from hybrid_scheduler.errors import SchedulerError

    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):  # nobody is there any more
        while True:
            number, job = pipe.recv()
            try:
                outcome = Outcome(number, work(job))
            except SchedulerError as error:
                outcome = Outcome(number, problem=str(error))
            pipe.send(outcome)
