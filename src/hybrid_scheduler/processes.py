"""Child processes of our own: a function in another interpreter, framed messages both ways, and a pool of them.

A child is a fresh `python` that imports its target by name. Unlike a child of `multiprocessing` it never runs the
caller's main script again, so scripts need no `if __name__ == "__main__"`. It is killed with `close`, together with
processes of its own, and dies with its parent, however that died and whatever the child is doing.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from hybrid_scheduler.errors import SchedulerError

LENGTH = struct.Struct("<Q")
CHUNK = 262_144  # bytes of one read
LARGE = 65_536  # bytes from which a message is written by itself rather than copied
STDERR = 2
F_SETSIG = 10  # Linux; `fcntl` of Python 3.11 has no name for it
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
        lifeline, writable = os.pipe()
        self._lifeline = os.fdopen(writable, "wb")  # nothing is ever written: it is closed when this process ends
        name = f"{target.__module__}.{target.__qualname__}"  # for whoever lists processes
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [sys.executable, "-c", ENTRY, str(theirs.fileno()), str(lifeline), str(nice), name],
                pass_fds=[theirs.fileno(), lifeline],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(lifeline)
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
        """Kill it and the processes of its session; receivers see the end of the channel."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill it, wait until it is gone and close the channel; may be called again."""
        self.kill()
        self.wait()
        self.channel.close()
        self._lifeline.close()


def main() -> None:
    """Run the target that the parent names, until it returns or the parent is gone."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    _die_with_parent(int(sys.argv[2]))
    os.nice(int(sys.argv[3]))
    with suppress(EOFError, ConnectionError):  # the parent is gone, and with it whoever wants the result
        sys.path[:] = pickle.loads(channel.receive_one())  # noqa: S301  # our parent wrote it
        target, arguments = pickle.loads(channel.receive_one())  # noqa: S301  # as above
        target(channel, *arguments)
    sys.stdout.flush()
    os._exit(0)  # threads of libraries must not keep the process alive


def _die_with_parent(lifeline: int) -> None:
    """Let the end of the parent, which closes its end of a pipe, end this process."""
    os.set_inheritable(lifeline, False)
    if sys.platform == "linux":  # killed by the system, also in the middle of a function that keeps the interpreter
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_exit_after, args=[lifeline], daemon=True).start()


def _exit_after(lifeline: int) -> None:
    """End this process when the pipe is closed, which may have been before it asked for a signal."""
    poll = select.poll()
    poll.register(lifeline, 0)  # no events: a hang-up is reported nevertheless
    poll.poll()
    os._exit(1)


@dataclass(frozen=True)
class JobOutcome:
    """The value of job number `number`, or why there is none."""

    number: int
    value: Any = None
    problem: str = ""


def run_jobs(
    work: Callable[[Any], Any],
    jobs: Sequence[Any],
    processes: int,
    time_limit: float,
    kinds: Sequence[Hashable] | None = None,
) -> Iterator[JobOutcome]:
    """Yield the outcome of every job as it comes; a process that dies or exceeds the time limit is replaced.

    `work` is a function of a module. Numeric libraries get one thread per process unless the environment says
    otherwise. `kinds` says which jobs need the same libraries: each process then loads as few as it can.
    """
    workers = [_Worker(work) for _ in range(min(processes, len(jobs)))]
    waiting = {number: None if kinds is None else kinds[number] for number in range(len(jobs))}
    left = len(jobs)
    try:
        while left:
            for worker in workers:
                if worker.job < 0 and (number := select_job(worker, workers, waiting)) is not None:
                    worker.kind = waiting.pop(number)
                    worker.assign(number, jobs[number])
            for outcome in list(_collect_outcomes(workers, time_limit)):  # at once: the caller may take its time
                left -= 1
                yield outcome
    finally:
        for worker in workers:
            worker.child.close()


class HasJob(Protocol):
    """What choosing a job looks at of a process: its last kind of job, and the job that it runs, -1 if none."""

    @property
    def kind(self) -> Hashable: ...  # noqa: D102  # said above

    @property
    def job(self) -> int: ...  # noqa: D102  # said above


def select_job(worker: HasJob, workers: Sequence[HasJob], waiting: Mapping[int, Hashable]) -> int | None:
    """Return the next job of an idle process: of the kind that it has run, else of the kind with fewest processes.

    None if too few wait: those who run that kind already will be through with it before this one is prepared for it.
    """
    counts, busy = Counter(waiting.values()), Counter(each.kind for each in workers if each.job >= 0)
    kind = worker.kind
    if waiting and not counts[kind]:
        kind = max(counts, key=lambda each: counts[each] / (1 + busy[each]))
        if counts[kind] <= busy[kind]:
            return None
    return next((number for number, each in waiting.items() if each == kind), None)


class _Worker:
    """A child of the pool, the number of the job that it runs, -1 if it is idle, and the kind of its last job."""

    kind: Hashable = None

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


def _collect_outcomes(workers: Sequence[_Worker], time_limit: float) -> Iterator[JobOutcome]:
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
