"""Background training: a trainer runs in another process while the policy goes on deciding.

A fit takes as long as a hundred thousand decisions. A live policy submits its observations, which never blocks, and
applies the trained update later: as soon as it is there, or always the same number of tasks later, which keeps a run
repeatable and waits only if training is slower than that. Updates that are applied when they are there come from as
many observations as the trainer has time for; the others are dropped.
"""

from __future__ import annotations

import importlib
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.processes import Channel, ChildProcess

AS_READY = -1  # the delay of updates that are applied as soon as they are there
MAX_BEHIND = 8  # observations that such a trainer may lag behind; more are dropped
NICENESS = 15  # the process is this much "nicer" than the one that decides; HMS_LEARNER_NICE says otherwise
AHEAD_SECONDS = 60.0  # a process that was started ahead is taken within these, and leaves after twice as many
LOADED_BY = {
    "rl_agent": ("hybrid_scheduler.learning.dqn", "hybrid_scheduler.learning.q_network", "numba", "scipy.linalg"),
}
"""By learner: the module of its trainer, and what its first fit loads; Numba loads SciPy with a product."""

_ahead: dict[str, tuple[float, ChildProcess]] = {}  # by the module of the trainer it waits for


class Trainer(Protocol):
    """What can be trained: takes an observation, returns an update of the policy or None."""

    def train(self, observation: Any, /) -> Any:
        """Train on an observation."""


@runtime_checkable
class Warmable(Protocol):
    """A trainer that can load what its first fit needs before there is anything to fit."""

    def warm_up(self) -> None:
        """Load and compile; learn nothing."""


@dataclass(frozen=True)
class _Request:
    """Asks the process for its trainer."""

    warm_up: bool = False  # after it has loaded what the first fit needs


@dataclass(frozen=True)
class _Answer:
    """The trainer as it is in the process."""

    trainer: Trainer


def start_trainers_ahead(schedulers: Iterable[str]) -> None:
    """Start the processes of learners that are about to race: they load libraries while the caller loads its own."""
    for name in schedulers:
        if (modules := LOADED_BY.get(name)) and modules[0] not in _ahead:
            _ahead[modules[0]] = time.monotonic(), _start(modules)


def _take_process(trainer: Trainer) -> ChildProcess:
    started, process = _ahead.pop(type(trainer).__module__, (0.0, None))
    if process is not None and time.monotonic() - started < AHEAD_SECONDS:
        return process
    if process is not None:
        process.close()
    return _start(())


def _start(modules: Sequence[str]) -> ChildProcess:
    return ChildProcess(_serve, modules, nice=int(os.environ.get("HMS_LEARNER_NICE", NICENESS)))


class BackgroundProcess:
    """A trainer in another process, and its updates so far."""

    def __init__(self, trainer: Trainer, submitted: int = 0, updates: Sequence[Any] = ()) -> None:
        self._process = _take_process(trainer)
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._updates: deque[Any] = deque(updates)  # one for each observation, in order; None: no change
        self.collected = submitted - len(updates)  # updates that were taken
        self._trainer: Trainer | None = None  # as it came back from the process
        self._arrived, self._ended = threading.Condition(), False
        self._submitted = submitted
        self._threads = [
            threading.Thread(target=target, name=f"training-{target.__name__}", daemon=True)
            for target in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(trainer)

    def submit(self, observation: Any) -> int:
        """Queue an observation and return its number; never blocks."""
        self._require_alive()
        self._outbox.put(observation)  # pickled by the thread that sends it
        self._submitted += 1
        return self._submitted

    @property
    def behind(self) -> int:
        """How many observations are not trained on yet; raises if they never will be."""
        self._require_alive()
        with self._arrived:
            return self._submitted - self.collected - len(self._updates)

    def latest(self) -> Any:
        """Return the newest update since the last call, None if there is none; never blocks."""
        return self._collect(len(self._updates))

    def wait_for(self, number: int) -> Any:
        """Wait until observation `number` is trained on; return the newest update up to it."""
        with self._arrived:
            self._arrived.wait_for(lambda: self.collected + len(self._updates) >= number or self._ended)
        if self.collected + len(self._updates) < number:
            self._require_alive()
        return self._collect(number - self.collected)

    def checkpoint(self) -> tuple[Trainer, int, list[Any]]:
        """Return the trainer after all observations so far, their number, and the updates not collected yet."""
        return self._ask(_Request()), self._submitted, list(self._updates)

    def warm_up(self) -> None:
        """Wait until the process has loaded what the first fit needs."""
        self._ask(_Request(warm_up=True))

    def _ask(self, request: _Request) -> Trainer:
        self._trainer = None
        self._outbox.put(request)
        with self._arrived:
            self._arrived.wait_for(lambda: self._trainer is not None or self._ended)
        if self._trainer is None:
            self._require_alive()
        return cast(Trainer, self._trainer)

    def _collect(self, count: int) -> Any:
        newest = None
        for _ in range(count):
            update = self._updates.popleft()
            self.collected += 1
            newest = update if update is not None else newest
        return newest

    def _require_alive(self) -> None:
        if self._ended:
            raise SchedulerError(
                f"the training process ended with code {self._process.wait()}: see its message above; "
                "start again, or train in the foreground (background=0)"
            )

    def close(self) -> None:
        """End the process; observations not trained on yet are dropped."""
        self._process.kill()  # it holds nothing but what is in memory
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        self._process.close()

    def _send(self) -> None:
        with suppress(ConnectionError):  # the process is gone: submit and wait_for report it
            while (observation := self._outbox.get()) is not None:
                self._process.channel.send([pickle.dumps(observation, protocol=5)])

    def _receive(self) -> None:
        for message in self._process.channel.messages():
            update = pickle.loads(message)  # noqa: S301  # our own process wrote it
            with self._arrived:
                if isinstance(update, _Answer):
                    self._trainer = update.trainer
                else:
                    self._updates.append(update)
                self._arrived.notify_all()
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()


class TrainingLoop:
    """Trains in the foreground (delay 0), or in the background: updates `delay` tasks later, -1 when ready."""

    def __init__(self, trainer: Trainer, delay: int) -> None:
        self.trainer, self._delay = trainer, delay
        self._process: BackgroundProcess | None = None
        # Number of an observation, and the task count at which its update is due or, when ready, it was made.
        self._due: deque[tuple[int, int]] = deque()
        self._seen = 0
        self._waiting: tuple[int, list[Any]] = (0, [])  # observations before this process, and their last updates
        self._lags = np.zeros(2, np.int64)  # sum of tasks between observation and update, number of updates

    def warm_up(self) -> None:
        """Start the process before there is anything to train on, and wait until it has loaded what a fit needs."""
        if self._delay and self._process is None:
            self._process = BackgroundProcess(self.trainer, *self._waiting)
            self._process.warm_up()

    def train(self, observation: Any, tasks: int) -> Any:
        """Train on an observation of so many tasks; return the update that is due now, if any."""
        if self._delay == 0:
            return self.trainer.train(observation)
        if self._process is None:
            self._process = BackgroundProcess(self.trainer, *self._waiting)
        self._seen += tasks
        if self._delay < 0:
            if self._process.behind < MAX_BEHIND:
                self._due.append((self._process.submit(observation), self._seen))
            update = self._process.latest()
            while self._due and self._due[0][0] <= self._process.collected:
                self._lags += self._seen - self._due.popleft()[1], 1
            return update
        number = self._process.submit(observation)
        self._due.append((number, self._seen + self._delay))
        due = 0
        while self._due and self._due[0][1] <= self._seen:
            due = self._due.popleft()[0]
        return self._process.wait_for(due) if due else None

    def checkpoint(self) -> tuple[Trainer, int, int, list[Any], list[tuple[int, int]], int]:
        """Return what `continued` takes; waits until all observations so far are trained on."""
        if self._process is None:
            return self.trainer, self._delay, *self._waiting, list(self._due), self._seen
        trainer, submitted, updates = self._process.checkpoint()
        return trainer, self._delay, submitted, updates, list(self._due), self._seen

    @classmethod
    def continued(
        cls, trainer: Trainer, delay: int, submitted: int, updates: list[Any], due: list[tuple[int, int]], seen: int
    ) -> TrainingLoop:
        """Return a loop that goes on from a checkpoint; its process starts at once, beside the rest of reading it."""
        loop = cls(trainer, delay)
        loop._waiting, loop._due, loop._seen = (submitted, updates), deque(due), seen
        if delay and submitted:
            loop._process = BackgroundProcess(trainer, *loop._waiting)
        return loop

    @property
    def lag(self) -> int:
        """The delay with which updates came so far; all tasks if none did."""
        if self._delay >= 0:
            return self._delay
        tasks, updates = self._lags.tolist()
        return round(tasks / updates) if updates else self._seen

    @property
    def in_background(self) -> bool:
        """Whether training runs in another process."""
        return self._delay != 0

    def close(self) -> None:
        """End the background process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process, self._waiting = None, (0, [])
            self._due.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_process": None,
            "_due": deque(),
            "_waiting": (0, []),
        }  # a copy starts a process of its own


def _serve(channel: Channel, modules: Sequence[str]) -> None:
    """Load modules, receive the trainer, then train it on each observation and send its update."""
    for module in modules:
        importlib.import_module(module)
    unneeded = threading.Timer(2 * AHEAD_SECONDS, os._exit, [0])
    unneeded.start()
    received = channel.receive_one()
    unneeded.cancel()
    trainer: Trainer = pickle.loads(received)  # noqa: S301  # our parent wrote it
    for message in channel.messages():
        observation = pickle.loads(message)  # noqa: S301  # as above
        answer: Any = None
        if isinstance(observation, _Request):
            if observation.warm_up and isinstance(trainer, Warmable):
                trainer.warm_up()
                _yield_cores()
            answer = _Answer(trainer)
        elif (answer := trainer.train(observation)) is not None:
            _yield_cores()
        channel.send([pickle.dumps(answer, protocol=5)])


def _yield_cores() -> None:
    """Take what others leave of the cores from now on: the first model is there, or will be soon."""
    os.nice(max(0, NICENESS - os.nice(0)))
