"""`ContinuousSimulation`: a live race in a thread of its own, paced to wall time, that takes orders.

Orders (change a setting, step, a task by hand) are carried out between two blocks and written to a log; seed, first
settings and log are all it takes to play a race again, whatever the pace was (`replay`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import Any

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.execution_model import Ground
from hybrid_scheduler.live.race import LiveRace, Placed
from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.snapshot import Analysis, Snapshot
from hybrid_scheduler.schedulers.explain import Explanation, Reasons
from hybrid_scheduler.workloads.library import Library

READY, RUNNING, PAUSED, STOPPED, FAILED = "ready", "running", "paused", "stopped", "failed"
CATCH_UP = 1.0  # seconds that a race may lag behind its pace before it gives the lost time up
LAG = 0.1  # seconds behind its pace at which a race has no time to spare
IDLE = 0.05  # seconds between two looks for orders while paused


@dataclass(frozen=True)
class Block:
    """What happened between two looks: a block of tasks, or a change and the tasks it has thrown back."""

    placed: Placed | None
    restarted: dict[str, Placements]
    changes: tuple[Change, ...]


Sink = Callable[[Block], None]
Order = Callable[[], Any]


class ContinuousSimulation:
    """The race that never ends; every sink sees every block, in order, in the race's own thread."""

    def __init__(
        self,
        settings: LiveSettings | None = None,
        sinks: Sequence[Sink] = (),
        library: Library | None = None,
        ground: Ground | None = None,
    ) -> None:
        self.race = LiveRace(settings or LiveSettings(), library, ground)
        self.first_settings = self.race.settings
        self.sinks = list(sinks)
        self.log: list[Change] = []
        self.state, self.error = READY, ""
        self.on_state: list[Callable[[str], None]] = []
        self._orders: SimpleQueue[tuple[Order, Future[Any]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # of the race: held while it moves or is looked at
        self._due, self._pace_seen = 0.0, (0.0, 0)
        self._asking = Asking()
        self.tasks_per_second = 0.0

    # --- control, from any thread ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on after a pause."""
        if self.state in (STOPPED, FAILED):
            raise SchedulerError(f"this simulation is {self.state}: start a new one")
        self._set(RUNNING)
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="simulation", daemon=True)
            self._thread.start()

    def pause(self, error: str = "") -> None:
        """Halt between two blocks."""
        self._require_life()
        self.error = error
        self._set(PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        self.error = ""
        self.start()

    def stop(self) -> None:
        """End; nothing moves any more."""
        if self.state not in (STOPPED, FAILED):
            self._set(STOPPED)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.race.close()

    def step(self, tasks: int = 1) -> None:
        """Let so many tasks pass while paused."""
        if tasks < 1 or tasks > 10_000:
            raise InputError(f"step is {tasks}, expected 1 to 10000 tasks")
        if self.state == RUNNING:
            raise SchedulerError("the simulation is running: pause it before stepping")
        self._ordered(lambda: self._step(tasks))

    def change(self, **values: Any) -> Change:
        """Change settings between two blocks; returns what was written to the log."""
        wanted: Change = self._ordered(lambda: self._change(values))
        return wanted

    def submit(self, task: Task) -> tuple[Placed, dict[str, Explanation]]:
        """Let a task by hand arrive now; returns its placements and the reasons."""
        found: tuple[Placed, dict[str, Explanation]] = self._ordered(lambda: self._submit(task))
        return found

    def snapshot(self) -> Snapshot:
        """Return this moment as plain data."""
        with self._lock:
            return self.race.snapshot(self.state, self.tasks_per_second, self.error)

    def analysis(self) -> Analysis:
        """Return the slow pictures."""
        with self._lock:
            return self.race.analysis()

    @property
    def settings(self) -> LiveSettings:
        """The settings as they stand."""
        return self.race.settings

    # --- orders ------------------------------------------------------------------------------------------------

    def _ordered(self, order: Order) -> Any:
        """Carry an order out between two blocks: here if nothing moves by itself, else in the race's thread."""
        self._require_life()
        if self._thread is None or threading.current_thread() is self._thread:
            return order()
        future: Future[Any] = Future()
        self._orders.put((order, future))
        return future.result(timeout=60.0)

    def _require_life(self) -> None:
        if self.state in (STOPPED, FAILED):
            raise SchedulerError(f"this simulation is {self.state}: start a new one")

    def _step(self, tasks: int) -> None:
        self._logged({"step": tasks})
        self._pass(tasks)

    def _pass(self, tasks: int) -> None:
        left = tasks
        while left > 0:
            left -= self._advance(min(left, self.settings.block))

    def _change(self, values: dict[str, Any]) -> Change:
        # A wrong value or file stops here, before anything is done.
        settings = self.race.stream.pinned(self.settings.changed(**values))
        change = self._logged({name: settings.to_dict()[name] for name in values})
        with self._lock:
            restarted = self.race.change(settings)
        self._due = time.monotonic()
        self._emit(Block(None, restarted, (change,)))
        return change

    def _submit(self, task: Task) -> tuple[Placed, dict[str, Explanation]]:
        change = self._logged({"task": {name: value for name, value in asdict(task).items() if value is not None}})
        with self._lock:
            placed, reasons = self.race.submit(task)
        self._emit(Block(placed, {}, (change,)))
        return placed, reasons

    def _logged(self, change: dict[str, Any]) -> Change:
        self.log.append(Change(self.race.stream.number, self.race.stream.now, change))
        return self.log[-1]

    # --- the race's thread -------------------------------------------------------------------------------------

    def _live(self) -> None:
        self._due = time.monotonic()
        try:
            while self.state != STOPPED:
                self._obey()
                if self.state == RUNNING:
                    self._keep_pace(self._advance(self.settings.block))
        except Exception as error:  # noqa: BLE001  # whatever a policy does, the page must say so
            self.error = f"{type(error).__name__}: {error}" if not isinstance(error, SchedulerError) else str(error)
            self.race.ground.close()
            self._set(FAILED)
        finally:
            self._refuse_orders()

    def _obey(self) -> None:
        patience = 0.0 if self.state == RUNNING else IDLE
        try:
            while True:
                order, future = self._orders.get(timeout=patience) if patience else self._orders.get_nowait()
                patience = 0.0
                try:
                    future.set_result(order())
                except SchedulerError as error:
                    future.set_exception(error)
        except Empty:
            return

    def _refuse_orders(self) -> None:
        while not self._orders.empty():
            _, future = self._orders.get_nowait()
            future.set_exception(SchedulerError(f"this simulation is {self.state}: start a new one"))

    def _advance(self, count: int) -> int:
        with self._lock:
            tasks = self.race.stream.take(count)
            reasons = self._asking.ask(lambda: self.race.explain(tasks), self._hurried)
            placed = self.race.place(tasks, reasons)
        self._emit(Block(placed, {}, ()))
        return len(placed.tasks)

    @property
    def _hurried(self) -> bool:
        """Whether the race has no time to spare: it runs, and lags behind its pace or has none."""
        lags = self.settings.pace is None or time.monotonic() - self._due > LAG
        return lags and self.state == RUNNING

    def _emit(self, block: Block) -> None:
        for sink in self.sinks:
            sink(block)

    def _keep_pace(self, tasks: int) -> None:
        """Sleep until the next block is due; orders cut the sleep short."""
        now = time.monotonic()
        self._measure(now, tasks)
        pace = self.settings.pace
        if pace is None:
            time.sleep(0)  # lets other threads look
            return
        self._due = max(self._due + tasks / pace, now - CATCH_UP)
        while self.state == RUNNING and (left := self._due - time.monotonic()) > 0:
            time.sleep(min(left, IDLE))
            if not self._orders.empty():
                return

    def _measure(self, now: float, tasks: int) -> None:
        begin, count = self._pace_seen
        count += tasks
        if now - begin < 1.0:
            self._pace_seen = begin, count
            return
        self.tasks_per_second = count / (now - begin) if begin else 0.0
        self._pace_seen = now, 0

    def _set(self, state: str) -> None:
        if state == self.state:
            return
        self.state = state
        self._due = time.monotonic()
        for listener in self.on_state:
            listener(state)


class Replay:
    """Plays a finished race again from its first settings and its log, as fast as it can."""

    def __init__(
        self,
        settings: LiveSettings,
        log: Sequence[Change],
        sinks: Sequence[Sink] = (),
        library: Library | None = None,
    ) -> None:
        if settings.measured:
            raise InputError("what really ran cannot be played again: its times are this machine's, start a new race")
        self.simulation = ContinuousSimulation(settings, sinks, library)
        self._log = list(log)

    def run(self, until: int) -> ContinuousSimulation:
        """Play until task `until` is about to arrive, and all that was done before it; returns the simulation."""
        for _ in self._blocks(until):
            continue
        return self.simulation

    def _blocks(self, until: int) -> Iterator[int]:
        live = self.simulation
        for change in [*self._log, None]:
            stop = until if change is None else min(change.at_task, until)
            while (number := live.race.stream.number) < stop:
                live._advance(min(live.settings.block, stop - number))
                yield live.race.stream.number
            if change is None or change.at_task > until:
                return
            self._do(change.change)

    def _do(self, change: dict[str, Any]) -> None:
        live = self.simulation
        if "step" in change:
            live._step(int(change["step"]))
        elif "task" in change:
            task = change["task"]
            live._submit(Task(**{**task, "dependencies": tuple(task.get("dependencies", ()))}))
        else:
            live._change(dict(change))


A_SECOND = 25.0  # explanations, at most: a few more than blocks of a paced race


SHARE = 0.05  # of the time of a race that has none to spare


class Asking:
    """Says how often one may ask: credit grows with wall time and is spent by the time that asking takes."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._credit, self._seen = A_SECOND, clock()

    def ask(self, question: Callable[[], Reasons], hurried: bool) -> Reasons:
        """Ask if there is credit for it; a race that is `hurried` spends more than one that would only sleep."""
        begin = self._clock()
        self._credit = min(A_SECOND, self._credit + A_SECOND * (begin - self._seen))
        self._seen = begin
        if self._credit < 1.0:
            return {}
        reasons = question()
        took = self._clock() - begin
        self._credit -= max(1.0, A_SECOND * took / SHARE) if hurried else 1.0
        return reasons
