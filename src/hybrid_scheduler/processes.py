"""Child processes of our own: a function in another interpreter, framed messages both ways, and a pool of them.

A child is a fresh `python` that imports its target by name. Unlike a child of `multiprocessing` it never runs the
caller's main script again, so scripts need no `if __name__ == "__main__"`. It is killed with `close` and ends by
itself when its parent does, however that died.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.errors import SchedulerError

LENGTH = struct.Struct("<Q")
CHUNK = 262_144  # bytes of one read
LARGE = 65_536  # bytes from which a message is written by itself rather than copied
STDERR = 2
POLL_MILLISECONDS = 200  # between two looks for jobs that exceed their time limit
ENTRY = "from hybrid_scheduler.processes import main; main()"  # not `-m`: this module must exist once in the child
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Read by numeric libraries when they are loaded."""


def limit_threads(threads: int) -> dict[str, str]:
    """Return the variables that give numeric libraries of a child so many threads."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


class Channel:
    """One end of a socket that carries whole messages; one thread may send while another receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = bytearray()
        self._complete: deque[bytes] = deque()  # received together, not yet taken by `receive_one`

    def fileno(self) -> int:
        """Return the number that selectors and event loops know the socket by."""
        return self._socket.fileno()

    def send(self, messages: Iterable[bytes]) -> None:
        """Write messages, small ones in one system call."""
        small = bytearray()
        for message in messages:
            small += LENGTH.pack(len(message))
            if len(message) < LARGE:
                small += message
                continue
            self._socket.sendall(small)
            self._socket.sendall(message)
            small.clear()
        if small:
            self._socket.sendall(small)

    def receive(self) -> list[bytes]:
        """Wait for bytes; return the messages that are complete by then, if any; EOFError at the end."""
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise EOFError("the other end is closed")
        self._buffer += chunk
        messages, begin = [], 0
        while len(self._buffer) - begin >= LENGTH.size:
            end = begin + LENGTH.size + LENGTH.unpack_from(self._buffer, begin)[0]
            if len(self._buffer) < end:
                break
            messages.append(bytes(memoryview(self._buffer)[begin + LENGTH.size : end]))
            begin = end
        del self._buffer[:begin]
        return messages

    def receive_one(self) -> bytes:
        """Wait for the next message; EOFError at the end."""
        while not self._complete:
            self._complete.extend(self.receive())
        return self._complete.popleft()

    def messages(self) -> Iterator[bytes]:
        """Yield messages until the other end is closed; one that was cut short is dropped."""
        with suppress(EOFError, ConnectionError):
            while True:
                yield self.receive_one()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()


class ChildProcess:
    """A process that runs `target(channel, *arguments)`; the target is a function of an importable module.

    Its standard output goes to standard error unless `stdout` is None (inherit), its standard input is empty, and an
    interrupt from the keyboard does not reach it.
    """

    def __init__(
        self,
        target: Callable[..., None],
        *arguments: Any,
        environment: Mapping[str, str] | None = None,
        nice: int = 0,
        stdout: int | None = STDERR,
    ) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        name = f"{target.__module__}.{target.__qualname__}"  # for whoever lists processes
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [sys.executable, "-c", ENTRY, str(theirs.fileno()), str(nice), name],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                start_new_session=True,
            )
        with suppress(OSError):  # a child that is dead already is noticed by whoever receives
            self.channel.send([pickle.dumps(sys.path), pickle.dumps((target, arguments))])

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    def wait(self) -> int:
        """Wait for its end and return the exit code, negative if a signal ended it."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill it; receivers see the end of the channel."""
        self._process.kill()

    def close(self) -> None:
        """Kill it, wait until it is gone and close the channel; may be called again."""
        self.kill()
        self.wait()
        self.channel.close()


def main() -> None:
    """Run the target that the parent names, until it returns or the parent is gone."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    os.nice(int(sys.argv[2]))
    threading.Thread(target=_exit_with_parent, args=[channel], daemon=True).start()
    with suppress(EOFError, ConnectionError):  # the parent is gone, and with it whoever wants the result
        sys.path[:] = pickle.loads(channel.receive_one())  # noqa: S301  # our parent wrote it
        target, arguments = pickle.loads(channel.receive_one())  # noqa: S301  # as above
        target(channel, *arguments)
    sys.stdout.flush()
    os._exit(0)  # threads of libraries must not keep the process alive


def _exit_with_parent(channel: Channel) -> None:
    poll = select.poll()
    poll.register(channel, 0)  # no events: a hang-up is reported nevertheless
    poll.poll()
    os._exit(1)


@dataclass(frozen=True)
class JobOutcome:
    """The value of job number `number`, or why there is none."""

    number: int
    value: Any = None
    problem: str = ""


def run_jobs(
    work: Callable[[Any], Any], jobs: Sequence[Any], processes: int, time_limit: float
) -> Iterator[JobOutcome]:
    """Yield the outcome of every job as it comes; a process that dies or exceeds the time limit is replaced.

    `work` is a function of a module. Numeric libraries get one thread per process unless the environment says
    otherwise.
    """
    workers = [_Worker(work) for _ in range(min(processes, len(jobs)))]
    waiting, left = iter(enumerate(jobs)), len(jobs)
    try:
        while left:
            for worker in workers:
                if worker.job < 0 and (following := next(waiting, None)) is not None:
                    worker.assign(*following)
            for outcome in (*_collect_outcomes(workers), *_stop_overdue(workers, time_limit)):
                left -= 1
                yield outcome
    finally:
        for worker in workers:
            worker.child.close()


class _Worker:
    """A child of the pool and the number of the job that it runs, -1 if it is idle."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self.start()

    def start(self) -> None:
        self.child = ChildProcess(_serve_jobs, self._work, environment={**limit_threads(1), **os.environ})
        self.job, self.since = -1, 0.0

    def assign(self, number: int, job: Any) -> None:
        self.job, self.since = number, time.monotonic()
        with suppress(ConnectionError):  # it died while it was idle: noticed when its outcome is collected
            self.child.channel.send([pickle.dumps((number, job))])

    def abort(self, problem: str) -> JobOutcome:
        outcome = JobOutcome(self.job, problem=problem)
        self.child.close()
        self.start()
        return outcome


def _collect_outcomes(workers: Sequence[_Worker]) -> Iterator[JobOutcome]:
    busy = {worker.child.channel.fileno(): worker for worker in workers if worker.job >= 0}
    poll = select.poll()
    for number in busy:
        poll.register(number, select.POLLIN)
    for number, _ in poll.poll(POLL_MILLISECONDS):
        worker = busy[number]
        try:
            messages = worker.child.channel.receive()
        except (EOFError, ConnectionError):
            yield worker.abort("its process died")
            continue
        for message in messages:
            worker.job = -1
            yield pickle.loads(message)  # noqa: S301  # our own child wrote it


def _stop_overdue(workers: Sequence[_Worker], time_limit: float) -> Iterator[JobOutcome]:
    for worker in workers:
        if worker.job >= 0 and time.monotonic() - worker.since > time_limit:
            yield worker.abort(f"not done after {time_limit:g} s")


def _serve_jobs(channel: Channel, work: Callable[[Any], Any]) -> None:
    for message in channel.messages():
        number, job = pickle.loads(message)  # noqa: S301  # our parent wrote it
        try:
            outcome = JobOutcome(number, work(job))
        except SchedulerError as error:
            outcome = JobOutcome(number, problem=str(error))
        channel.send([pickle.dumps(outcome)])
