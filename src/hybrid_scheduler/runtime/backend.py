"""A backend performs calls on devices: calls go in, every one comes out exactly once, whatever dies on the way.

Each device has a line of calls. The first few are posted to the worker, so that it never waits for us; the others
can still be cancelled. At most two posts are under way to a worker: what comes meanwhile goes together in the next
one, so that many small calls cost little. When a worker dies, the call that it was at is tried again, alone and a
bounded number of times; those that were only posted are posted again. What carries calls to workers is left to the
children of this class.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from hybrid_scheduler.runtime.calls import CANCELLED, LOST, SMALL, Answer, Call
from hybrid_scheduler.runtime.devices import DeviceSpec

Done = Callable[[Sequence[tuple[Call, Answer]]], None]
POSTS = 2  # under way to one worker: one that it is at, one that is there when it has done that
DEPTH = 64  # calls with one worker at once
BYTES = 32_768  # with one worker beyond its first call: they fit a socket's buffer, so that no post blocks


class Line:
    """The calls of one device, first those that its worker holds."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.posted: deque[Call] = deque()
        self.waiting: deque[Call] = deque()
        self.is_up = False
        self.down_since: float | None = None  # since when a worker that once worked does not
        self.failures = 0  # workers in a row that died before they were ready
        self.is_gone = False  # no worker will be tried again

    def take(self, depth: int) -> tuple[list[Call], list[Call]]:
        """Take what the worker may be given now; also return calls that nobody wants any more."""
        batch, dropped = list[Call](), list[Call]()
        number = self.posted[-1].post + 1 if self.posted else 0
        if self.posted and number - self.posted[0].post >= POSTS:
            return batch, dropped
        seconds, weight = sum(call.expected for call in self.posted), sum(call.weight for call in self.posted)
        while self.waiting and self._has_room(depth, seconds, weight):
            call = self.waiting.popleft()
            if not call.is_wanted():
                dropped.append(call)
                continue
            if batch and not (call.is_small and batch[-1].is_small):
                number += 1  # no answer shall wait for a call that may take long
            call.post = number
            seconds, weight = seconds + call.expected, weight + call.weight
            self.posted.append(call)
            batch.append(call)
        return batch, dropped

    def _has_room(self, depth: int, seconds: float, weight: int) -> bool:
        """Whether the worker, with that much to do, may be given the next call too."""
        if not self.posted:
            return True
        following, first = self.waiting[0], self.posted[0]
        if following.attempts or first.attempts:
            return False  # one whose worker died runs alone
        if len(self.posted) >= depth or weight - first.weight + following.weight > BYTES:
            return False
        # The second is there when the worker has done the first; no third one if the seconds are unknown: NaN.
        return len(self.posted) == 1 or seconds < SMALL


class Backend:
    """Base of all backends."""

    name: ClassVar[str] = ""
    measured: ClassVar[bool] = True
    most_attempts = 3  # of one call, each ended by the death of its worker
    grace = 5.0  # seconds after which the calls of a device whose worker does not come back are moved
    depth = DEPTH
    answers_together: ClassVar[bool] = False  # whether the answers to a post come all at once, or none

    def __init__(self, devices: Sequence[DeviceSpec]) -> None:
        self.devices = tuple(devices)
        self.lines = [Line(device) for device in range(len(self.devices))]
        self.restarts = 0
        self._is_open = False
        self._lock = threading.RLock()
        self._done: Done = _forget
        self._moved: Callable[[list[Call]], None] = _forget_all
        self._cold: Callable[[int], None] = _forget_device

    # --- what others use ---------------------------------------------------------------------------------------

    def listen(
        self,
        done: Done,
        moved: Callable[[list[Call]], None] | None = None,
        cold: Callable[[int], None] | None = None,
    ) -> None:
        """Say who hears of every call once, of calls whose device is gone, of a device whose worker is new.

        The first listener starts the workers; another one may follow when the calls of the one before have ended.
        """
        self._done, self._moved = done, moved or self._lose
        self._cold = cold or _forget_device
        if not self._is_open:
            self._is_open = True
            self._open()

    def send(self, calls: Sequence[Call]) -> None:
        """Put calls at the ends of their devices' lines."""
        with self._lock:
            for call in calls:
                self.lines[call.device].waiting.append(call)
            dropped = [call for device in {call.device for call in calls} for call in self._feed(self.lines[device])]
        self._tell(dropped, Answer(CANCELLED))

    def recall(self, movable: Callable[[Call], bool]) -> list[Call]:
        """Take calls out of the lines that no worker holds yet; they are the caller's again and never end here."""
        taken = list[Call]()
        with self._lock:
            for line in self.lines:
                found = [call for call in line.waiting if movable(call)]
                if found:
                    taken += found
                    line.waiting = deque(call for call in line.waiting if not movable(call))
        return taken

    def is_alive(self, device: int) -> bool:
        """Whether a device works or is about to; False between the death of its worker and the next one."""
        return self.lines[device].down_since is None

    def is_gone(self, device: int) -> bool:
        """Whether a device will not come back."""
        return self.lines[device].is_gone

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers, device by device; 0 where there is none at the moment."""
        raise NotImplementedError

    def close(self) -> None:
        """End the workers; calls that have not ended are lost."""
        raise NotImplementedError

    # --- what children use -------------------------------------------------------------------------------------

    def _open(self) -> None:
        raise NotImplementedError

    def _post(self, line: Line, calls: list[Call]) -> None:
        """Hand calls to the worker of a line, those with the same number of a post together."""
        raise NotImplementedError

    def _feed(self, line: Line) -> list[Call]:
        """Post what there is room for; return calls that nobody wants any more. The lock is held."""
        batch, dropped = line.take(self.depth) if line.is_up else ([], [])
        if batch:
            self._post(line, batch)
        return dropped

    def _came_up(self, line: Line) -> None:
        """Note that a line's worker is ready."""
        with self._lock:
            line.is_up, line.failures, line.down_since = True, 0, None
            dropped = self._feed(line)
        self._cold(line.device)
        self._tell(dropped, Answer(CANCELLED))

    def _answered(self, line: Line, answers: Sequence[tuple[int, Answer]]) -> None:
        """Note answers; one that nobody waits for any more is dropped."""
        with self._lock:
            came = dict(answers)
            ended = [(call, came[call.number]) for call in line.posted if call.number in came]
            if len(ended) == len(line.posted):
                line.posted.clear()
            else:
                line.posted = deque(call for call in line.posted if call.number not in came)
            dropped = self._feed(line)
        self._tell(dropped, Answer(CANCELLED))
        if ended:
            self._done(ended)

    def _died(self, line: Line) -> None:
        """Note the death of a line's worker: what it was at is tried again, unless it was often enough."""
        with self._lock:
            if line.is_up:
                self.restarts += 1
                line.down_since = time.monotonic()
            else:
                line.failures += 1
            line.is_up = False
            for call in self._blamed(line):
                call.attempts += 1
            lost = [call for call in line.posted if call.attempts >= self.most_attempts]
            line.waiting.extendleft(call for call in reversed(line.posted) if call not in lost)
            line.posted.clear()
        self._tell(lost, Answer(LOST))

    def _blamed(self, line: Line) -> list[Call]:
        """Return the calls of which one was under way; from then on each runs alone, and it shows which it was."""
        if not self.answers_together:
            return [line.posted[0]] if line.posted else []
        return [call for call in line.posted if call.post == line.posted[0].post]

    def _move_stranded(self) -> None:
        """Hand back the calls of devices that have been down for too long."""
        stranded = list[Call]()
        now = time.monotonic()
        with self._lock:
            for line in self.lines:
                if line.down_since is not None and now - line.down_since >= self.grace and line.waiting:
                    stranded += line.waiting
                    line.waiting.clear()
        if stranded:
            self._moved(stranded)

    def _lose(self, calls: list[Call]) -> None:
        self._tell(calls, Answer(LOST))

    def _tell(self, calls: Sequence[Call], answer: Answer) -> None:
        if calls:
            self._done([(call, answer) for call in calls])


def _forget(_ended: Sequence[tuple[Call, Answer]]) -> None:
    """Hear of calls before anybody listens."""


def _forget_all(_calls: list[Call]) -> None:
    """Hear of calls before anybody listens."""


def _forget_device(_device: int) -> None:
    """Hear of a new worker without caring."""
