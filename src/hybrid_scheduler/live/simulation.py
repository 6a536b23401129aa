"""`ContinuousSimulation`: a live race in its own thread, paced to wall time, controlled by commands.

Commands (change settings, step, submit a task) are executed between two blocks and logged, and so is when blocks
become long or short again, for learners predict and learn block by block. The seed, the initial settings and the log
are all it takes to repeat a race, whatever its pace was (`Replay`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from hybrid_scheduler.core import Placements, Task, Tasks
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.checkpoint import save_race
from hybrid_scheduler.live.lane import Started
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import MAX_BLOCK, Change, LiveSettings
from hybrid_scheduler.live.snapshot import Analysis, PlacedBlock, Snapshot
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.workloads.library import Library

READY, RUNNING, PAUSED, STOPPED, FAILED = "ready", "running", "paused", "stopped", "failed"
MAX_LAG = 1.0  # seconds that a race may lag behind its pace before it gives up catching up
BUSY_LAG = 0.1  # seconds behind its pace from which a race has no time to spare
PAUSED_SECONDS = 1.0  # between two looks around while paused; commands are executed at once
UNWATCHED_SECONDS = 2.0  # of a paced race between two blocks that nobody watches
LONG_BLOCKS = "long_blocks"  # the entry of a log where blocks become long, or short again
COMMAND_TIMEOUT = 60.0  # seconds
EXPLANATIONS_PER_SECOND = 25.0  # at most: a few more than a paced race has blocks
MAX_TIME_SHARE = 0.05  # of the time of a race that has none to spare, for explanations

T = TypeVar("T")


@dataclass(frozen=True)
class RaceEvent:
    """A placed block, or a change with the tasks that it has restarted."""

    placed: PlacedBlock | None
    restarted: dict[str, Placements]
    changes: tuple[Change, ...]
    started: dict[str, Started] = field(default_factory=dict)  # tasks of earlier blocks, from ordered queues

    @property
    def tasks(self) -> int:
        """How many tasks arrived."""
        return len(self.placed.tasks) if self.placed else 0


@dataclass(frozen=True)
class Checkpoint:
    """The state of a race before task `at_task` arrived, after so many commands of its log."""

    at_task: int
    changes: int
    state: bytes


Sink = Callable[[RaceEvent], None]


class ContinuousSimulation:
    """A live race that runs until it is stopped.

    Every event goes to every observer and then to every sink, in order, in the race's thread. Observers see an event
    before any snapshot shows it, so they must be quick and must not take snapshots; sinks may block the race.
    """

    def __init__(
        self,
        settings: LiveSettings | None = None,
        sinks: Sequence[Sink] = (),
        library: Library | None = None,
        race: LiveRace | None = None,
    ) -> None:
        self.race = race or LiveRace(settings or LiveSettings(), library)
        self.initial_settings = settings if race and settings else self.race.settings
        self.sinks, self.observers = list(sinks), list[Sink]()
        self.log: list[Change] = []
        self.state, self.error = READY, ""
        self.refused = ""  # the command that failed, and with it the simulation
        self.state_listeners: list[Callable[[str], None]] = []
        self.tasks_per_second = 0.0
        self.watched = True  # False: blocks are long and unexplained
        self._long_blocks = False  # as the log says
        self._wake = threading.Event()  # a command waits, or the state has changed
        self._commands: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # of the race: held while it moves or a snapshot is taken
        self._due, self._rate_sample = 0.0, (0.0, 0)
        self._limiter = ExplanationLimiter()
        self.busy_seconds = 0.0  # that a replay takes about

    # --- control, from any thread ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, or continue after a pause."""
        self._require_alive()
        self._set_state(RUNNING)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
            self._thread.start()

    def pause(self, error: str = "") -> None:
        """Halt between two blocks."""
        self._require_alive()
        self.error = error
        self._set_state(PAUSED)

    def wait_for_block(self) -> None:
        """Wait until the block under way is placed and every sink has it."""
        self._execute(lambda: None)

    def resume(self) -> None:
        """Continue after a pause."""
        self.error = ""
        self.start()

    def stop(self) -> None:
        """Stop for good."""
        if self.state not in (STOPPED, FAILED):
            self._set_state(STOPPED)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.race.close()

    def step(self, tasks: int = 1) -> None:
        """Process this many tasks while paused."""
        if tasks < 1 or tasks > 10_000:
            raise InputError(f"step is {tasks}, expected 1 to 10000 tasks")
        if self.state == RUNNING:
            raise SchedulerError("the simulation is running: pause it before stepping")
        self._execute(lambda: self._step(tasks))

    def change(self, **values: Any) -> Change:
        """Change settings between two blocks; return the log entry."""
        return self._execute(lambda: self._change(values))

    def submit(self, task: Task) -> PlacedBlock:
        """Let a given task arrive now; return its placements and their explanations."""
        return self._execute(lambda: self._submit(task))

    def checkpoint(self, key: bytes, extra: Callable[[], object] = lambda: None) -> Checkpoint:
        """Return the signed state of a simulated race between two blocks, and what a sink has to remember."""
        return self._execute(lambda: self._checkpoint(key, extra))

    def _checkpoint(self, key: bytes, extra: Callable[[], object]) -> Checkpoint:
        with self._lock:
            return Checkpoint(self.race.stream.number, len(self.log), save_race(self.race, key, extra()))

    def snapshot(self, certify: bool = True) -> Snapshot:
        """Return this moment as plain data; without a new certificate it takes milliseconds."""
        if certify:
            self.wait_for_certificate()  # not while the race stands still
        with self._lock:
            return self.race.snapshot(self.state, self.tasks_per_second, self.error, certify)

    def wait_for_certificate(self) -> None:
        """Wait until the window that is to be shown is certified: seconds after a start, which loads kernels."""
        self.race.windows.wait()

    def analysis(self) -> Analysis:
        """Return the statistics that are slow to compute."""
        with self._lock:
            return self.race.analysis()

    @property
    def settings(self) -> LiveSettings:
        """The current settings."""
        return self.race.settings

    # --- commands ----------------------------------------------------------------------------------------------

    def _execute(self, command: Callable[[], T]) -> T:
        """Execute a command between two blocks: here if the race has no thread, else there."""
        self._require_alive()
        if self._thread is None or threading.current_thread() is self._thread:
            return command()
        future: Future[T] = Future()
        self._commands.put((command, future))
        self._wake.set()
        return future.result(timeout=COMMAND_TIMEOUT)

    def _require_alive(self) -> None:
        if self.state in (STOPPED, FAILED):
            raise SchedulerError(f"this simulation is {self.state}: start a new one")

    def _step(self, tasks: int) -> None:
        self._append_log({"step": tasks})
        while tasks > 0:
            tasks -= self._advance(min(tasks, self.settings.block))

    def _change(self, values: dict[str, Any]) -> Change:
        # A wrong value or trace raises here, before anything has changed.
        settings = self.race.stream.pin_workload(self.settings.with_changes(**values))
        change = self._append_log({name: settings.to_dict()[name] for name in values})
        self._emit(lambda: RaceEvent(None, self.race.change(settings), (change,), self.race.take_started()))
        self._due = time.monotonic()
        return change

    def _submit(self, task: Task) -> PlacedBlock:
        Tasks.from_iterable([task])  # a wrong value raises here, before anything has changed
        change = self._append_log({"task": {name: each for name, each in asdict(task).items() if each is not None}})
        event = self._emit(lambda: RaceEvent(self.race.submit(task), {}, (change,), self.race.take_started()))
        assert event.placed is not None  # noqa: S101  # just placed
        return event.placed

    def _append_log(self, change: dict[str, Any]) -> Change:
        self.log.append(Change(self.race.stream.number, self.race.stream.now, change))
        return self.log[-1]

    # --- the race's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._due = time.monotonic()
        try:
            while self.state != STOPPED:
                self._wake.clear()
                self._execute_commands()
                if self.state != RUNNING:
                    self._wake.wait(PAUSED_SECONDS)
                elif (left := self._due - time.monotonic()) > 0:
                    self._wake.wait(left)
                else:
                    self._keep_pace(self._advance(self._choose_block()))
        except Exception as error:  # noqa: BLE001  # whatever a policy raises is shown to the user
            self.error = _describe(error)
            self.race.execution.close()
            self._set_state(FAILED)
        finally:
            while not self._commands.empty():
                _, future = self._commands.get_nowait()
                future.set_exception(SchedulerError(f"this simulation is {self.state}: start a new one"))

    def _choose_block(self) -> int:
        """Return how many tasks are placed at once: many if nobody watches."""
        long = not (self.watched or self.settings.pace is None or self.settings.is_measured)
        if long != self._long_blocks:
            self._use_long_blocks(long)
        return self._size_block()

    def _use_long_blocks(self, long: bool) -> None:
        self._long_blocks = long
        self._append_log({LONG_BLOCKS: long})

    def _size_block(self) -> int:
        """Return how many tasks are placed at once: a function of the state, so that a replay does the same."""
        settings = self.settings
        if not self._long_blocks or settings.pace is None:
            return settings.block
        block = max(settings.block, min(MAX_BLOCK, int(UNWATCHED_SECONDS * settings.pace)))
        return block if self.race.has_room(block) else settings.block

    def _execute_commands(self) -> None:
        with suppress(Empty):
            while True:
                self._execute_one(*self._commands.get_nowait())

    def _execute_one(self, command: Callable[[], Any], future: Future[Any]) -> None:
        """Execute a command; one that fails after it has begun is refused, and ends this simulation."""
        begun = len(self.log)
        try:
            future.set_result(command())
        except Exception as error:  # whatever a policy raises
            if isinstance(error, SchedulerError) and len(self.log) == begun:
                future.set_exception(error)
                return
            self.refused = str(self.log[begun].change) if len(self.log) > begun else "a command"
            del self.log[begun:]
            message = f"{self.refused[:200]} is refused, for it failed ({_describe(error)}): choose other values"
            future.set_exception(SchedulerError(message))
            raise

    def _advance(self, count: int) -> int:
        return self._emit(lambda: RaceEvent(self._place(count), {}, (), self.race.take_started())).tasks

    def _place(self, count: int) -> PlacedBlock:
        tasks = self.race.stream.take(count)
        if not self.watched:
            return self.race.place(tasks)
        is_busy = self._lags() and self.state == RUNNING
        return self.race.place(tasks, self._limiter.explain(lambda: self.race.explain(tasks), is_busy))

    def _lags(self) -> bool:
        """Whether it has no time to spare."""
        return self.settings.pace is None or time.monotonic() - self._due > BUSY_LAG

    def _emit(self, make_event: Callable[[], RaceEvent]) -> RaceEvent:
        """Move the race and hand the event on; no snapshot shows what observers have not seen."""
        with self._lock:
            clock = time.perf_counter if self._lags() else time.thread_time  # one that lags may wait for learners
            begin = clock()
            event = make_event()
            self.busy_seconds += clock() - begin
            for observer in self.observers:
                observer(event)
        for sink in self.sinks:
            sink(event)
        return event

    def _keep_pace(self, tasks: int) -> None:
        """Note when the next block is due."""
        now, (begin, count) = time.monotonic(), self._rate_sample
        self._rate_sample = begin, count + tasks
        if now - begin >= 1.0:
            self.tasks_per_second = (count + tasks) / (now - begin) if begin else 0.0
            self._rate_sample = now, 0
        pace = self.settings.pace
        if pace is None:
            self._due = now
            time.sleep(0)  # lets other threads take the lock
        else:
            self._due = max(self._due + tasks / pace, now - MAX_LAG)

    def _set_state(self, state: str) -> None:
        if state == self.state:
            return
        self.state = state
        self._due = time.monotonic()
        self._wake.set()
        for listener in self.state_listeners:
            listener(state)


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, SchedulerError) else f"{type(error).__name__}: {error}"


class Replay:
    """Repeats a simulated race from its initial settings, or from a race that went on, and its log."""

    def __init__(
        self,
        settings: LiveSettings,
        log: Sequence[Change],
        sinks: Sequence[Sink] = (),
        library: Library | None = None,
        race: LiveRace | None = None,
        done: int = 0,
    ) -> None:
        if settings.is_measured:
            raise InputError("what really ran cannot be played again: its times are this machine's, start a new race")
        if not settings.repeatable:
            raise InputError("its learners were not waited for, so it cannot be played again: start a new race")
        self.simulation = ContinuousSimulation(settings, sinks, library, race)
        self._log = list(log)
        self._done = done  # entries of the log that the race has behind it
        self.simulation.log[:] = self._log[:done]
        turns = [each.change[LONG_BLOCKS] for each in self._log[:done] if LONG_BLOCKS in each.change]
        self.simulation._long_blocks = bool(turns and turns[-1])

    def run(self, until: int) -> ContinuousSimulation:
        """Repeat all that was done before task `until` arrived; return the simulation."""
        live = self.simulation
        live.watched = False  # nothing of it is explained
        for entry in self._log[self._done :]:
            if entry.at_task > until:
                break
            self._advance_to(entry.at_task)
            if LONG_BLOCKS in entry.change:
                live._use_long_blocks(bool(entry.change[LONG_BLOCKS]))
            elif "step" in entry.change:
                live._step(int(entry.change["step"]))
            elif task := entry.change.get("task"):
                live._submit(Task(**{**task, "dependencies": tuple(task.get("dependencies", ()))}))
            else:
                live._change(dict(entry.change))
        self._advance_to(until)
        live.watched = True
        return live

    def _advance_to(self, task: int) -> None:
        live = self.simulation
        while (number := live.race.stream.number) < task:
            live._advance(min(live._size_block(), task - number))


class ExplanationLimiter:
    """Limits how often decisions are explained: credit grows with wall time and explanations spend it."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._credit, self._updated = EXPLANATIONS_PER_SECOND, clock()

    def explain(self, explain: Callable[[], dict[str, Explanation]], is_busy: bool) -> dict[str, Explanation]:
        """Explain if there is credit; a busy race pays for the time taken, an idle one would only sleep."""
        begin = self._clock()
        self._credit = min(EXPLANATIONS_PER_SECOND, self._credit + EXPLANATIONS_PER_SECOND * (begin - self._updated))
        self._updated = begin
        if self._credit < 1.0:
            return {}
        explanations = explain()
        seconds = self._clock() - begin
        self._credit -= max(1.0, EXPLANATIONS_PER_SECOND * seconds / MAX_TIME_SHARE) if is_busy else 1.0
        return explanations
