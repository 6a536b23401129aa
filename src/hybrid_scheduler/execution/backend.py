"""A backend performs calls on devices: calls go in, every one comes out exactly once, whatever dies on the way.

Each device has a line of calls. The first few are posted to the worker, so that it never waits for us; the others
can still be cancelled. When a worker dies, the call that it was at is tried again, a bounded number of times; those
that were only posted are posted again. What carries calls to workers is left to the children of this class.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from hybrid_scheduler.execution.calls import CANCELLED, LOST, Answer, Call
from hybrid_scheduler.execution.device_spec import DeviceSpec

Done = Callable[[Call, Answer], None]
DEPTH = 4  # calls with one worker at once
ENOUGH = 0.01  # seconds of work with a worker that make a third call there useless


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

    def has_room(self, depth: int) -> bool:
        """Whether the worker may be given another call."""
        if not self.posted:
            return True
        if len(self.posted) >= depth or not self.waiting[0].is_small:
            return False
        if len(self.posted) == 1:
            return True  # the next one is there when the worker has done the first
        return sum(call.expected for call in self.posted) < ENOUGH  # False if one of them is unknown: NaN


class Backend:
    """Base of all backends."""

    name: ClassVar[str] = ""
    measured: ClassVar[bool] = True
    most_attempts = 3  # of one call, each ended by the death of its worker
    grace = 5.0  # seconds after which the calls of a device whose worker does not come back are moved
    depth = DEPTH

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

    def send(self, call: Call) -> None:
        """Put a call at the end of its device's line."""
        with self._lock:
            line = self.lines[call.device]
            line.waiting.append(call)
            dropped = self._feed(line)
        self._tell(dropped, Answer(CANCELLED))

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
        """Hand calls to the worker of a line; OSError if there is none any more."""
        raise NotImplementedError

    def _feed(self, line: Line) -> list[Call]:
        """Post what there is room for; return calls that nobody wants any more. The lock is held."""
        batch, dropped = list[Call](), list[Call]()
        while line.is_up and line.waiting and line.has_room(self.depth):
            call = line.waiting.popleft()
            if call.begin is not None and not call.begin():
                dropped.append(call)
                continue
            call.begin = None  # from now on it runs, however often
            line.posted.append(call)
            batch.append(call)
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
        ended = []
        with self._lock:
            posted = {call.number: call for call in line.posted}
            for number, answer in answers:
                if number in posted:
                    call = posted[number]
                    line.posted.remove(call)
                    ended.append((call, answer))
            dropped = self._feed(line)
        self._tell(dropped, Answer(CANCELLED))
        for call, answer in ended:
            self._done(call, answer)

    def _died(self, line: Line) -> None:
        """Note the death of a line's worker: the call that it was at is tried again, unless it was often enough."""
        lost = []
        with self._lock:
            if line.is_up:
                self.restarts += 1
                line.down_since = time.monotonic()
            else:
                line.failures += 1
            line.is_up = False
            if line.posted:
                line.posted[0].attempts += 1
                if line.posted[0].attempts >= self.most_attempts:
                    lost.append(line.posted.popleft())
            line.waiting.extendleft(reversed(line.posted))
            line.posted.clear()
        self._tell(lost, Answer(LOST))

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
        for call in calls:
            self._done(call, answer)


def _forget(_call: Call, _answer: Answer) -> None:
    """Hear of a call before anybody listens."""


def _forget_all(_calls: list[Call]) -> None:
    """Hear of calls before anybody listens."""


def _forget_device(_device: int) -> None:
    """Hear of a new worker without caring."""
