"""Learning beside the decisions: a pupil studies in another process while its twin here goes on deciding.

A fit takes as long as a hundred thousand decisions. Whoever decides live hands over what it has seen with `teach`,
which never waits, and takes what was learnt later: as soon as it is there, or always the same number of blocks
later, which keeps a run repeatable and waits only if the pupil is slower than that.

The process is a plain `python -m` of this module that speaks pickles over its pipes with its own parent; unlike
`multiprocessing` it never runs the caller's main script again.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, Protocol

from hybrid_scheduler.errors import SchedulerError

LENGTH = struct.Struct("<Q")
KINDNESS = 15  # the process is this much "nicer" than the one that decides; HMS_LEARNER_NICE says otherwise


class Pupil(Protocol):
    """Something that learns: takes material, returns new knowledge or None."""

    def study(self, seen: Any, /) -> Any:
        """Learn from what was seen."""


class Beside:
    """A pupil's twin in another process, and what it has learnt so far."""

    def __init__(self, pupil: Pupil) -> None:
        command = [sys.executable, "-m", "hybrid_scheduler.learning.background"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  # our own interpreter and module
        self._material: SimpleQueue[Any] = SimpleQueue()
        self._answers: deque[Any] = deque()  # one for each block taught, in order; None: nothing new
        self._taken = 0
        self._arrived, self._ended = threading.Condition(), False
        self._taught = 0
        self._threads = [
            threading.Thread(target=target, name=f"beside-{target.__name__}", daemon=True)
            for target in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()
        self._material.put(pupil)

    def teach(self, seen: Any) -> int:
        """Hand over a block of what was seen and return its number; returns at once."""
        self._require_life()
        self._material.put(seen)  # pickled by the thread that sends it
        self._taught += 1
        return self._taught

    def newest(self) -> Any:
        """Return the newest of what was learnt since the last call, None if nothing; returns at once."""
        return self._take(len(self._answers))

    def upto(self, number: int) -> Any:
        """Return the newest of what was learnt from blocks up to that number; waits until they are studied."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._taken + len(self._answers) >= number or self._ended)
        if self._taken + len(self._answers) < number:
            self._require_life()
        return self._take(number - self._taken)

    def _take(self, count: int) -> Any:
        found = None
        for _ in range(count):
            answer = self._answers.popleft()
            self._taken += 1
            found = answer if answer is not None else found
        return found

    def _require_life(self) -> None:
        if self._ended:
            raise SchedulerError(
                f"the learning process ended with code {self._process.wait()}: see its message above; "
                "start again, or learn without it (beside=0)"
            )

    def close(self) -> None:
        """End the process; what it has not learnt yet is forgotten."""
        self._process.kill()  # it holds nothing but what is in memory
        self._process.wait()
        self._material.put(None)
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # what was still to be sent has no reader any more
                    pipe.close()

    def _send(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101  # opened above
        try:
            while (seen := self._material.get()) is not None:
                write_message(pipe, pickle.dumps(seen, protocol=5))
        except BrokenPipeError:
            return  # the process is gone: whoever teaches or waits hears of it

    def _receive(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None  # noqa: S101  # opened above
        while message := read_message(pipe):
            answer = pickle.loads(message)  # noqa: S301  # our own process wrote it
            with self._arrived:
                self._answers.append(answer)
                self._arrived.notify_all()
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()


class Study:
    """How a policy's pupil studies: here and now (0), `beside` tasks later, or as soon as it can be (-1)."""

    def __init__(self, pupil: Pupil, beside: int) -> None:
        self.pupil, self._delay = pupil, beside
        self._beside: Beside | None = None
        self._due: deque[tuple[int, int]] = deque()  # number of a block, and the task count at which it is due
        self._seen = 0

    def study(self, seen: Any, tasks: int) -> Any:
        """Study a block of so many tasks; return what is known anew by now."""
        if self._delay == 0:
            return self.pupil.study(seen)
        if self._beside is None:
            self._beside = Beside(self.pupil)
        self._seen += tasks
        number = self._beside.teach(seen)
        if self._delay < 0:
            return self._beside.newest()
        self._due.append((number, self._seen + self._delay))
        ripe = 0
        while self._due and self._due[0][1] <= self._seen:
            ripe = self._due.popleft()[0]
        return self._beside.upto(ripe) if ripe else None

    @property
    def beside(self) -> bool:
        """Whether it studies in another process."""
        return self._delay != 0

    def close(self) -> None:
        """End the process that studies, if there is one."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None
            self._due.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_beside": None, "_due": deque()}  # a copy starts a process of its own


def write_message(pipe: IO[bytes], message: bytes) -> None:
    """Write one message and its length."""
    pipe.write(LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes:
    """Read one message; empty at the end, also if the writer was ended in the middle of one."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return b""
    length = LENGTH.unpack(head)[0]
    body = pipe.read(length)
    return body if len(body) == length else b""


def _study(source: IO[bytes], target: IO[bytes]) -> None:
    """Be the pupil: the first message is the pupil itself, the others what it shall study."""
    pupil: Pupil = pickle.loads(read_message(source))  # noqa: S301  # our parent wrote it
    while message := read_message(source):
        write_message(target, pickle.dumps(pupil.study(pickle.loads(message)), protocol=5))  # noqa: S301  # our parent wrote it


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers
    os.nice(int(os.environ.get("HMS_LEARNER_NICE", KINDNESS)))
    try:
        _study(sys.stdin.buffer, answers)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
