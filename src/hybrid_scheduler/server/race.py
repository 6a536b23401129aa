"""Small help for those who give a simulation orders from the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from loguru import logger

from hybrid_scheduler import __version__
from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.real_devices import live_simulation
from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.simulation import FAILED, PAUSED, RUNNING, STOPPED, ContinuousSimulation, Replay
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, TaskRecord
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server import websocket
from hybrid_scheduler.server.connections import Connections
from hybrid_scheduler.server.feed import Feed, Recalled, records_of
from hybrid_scheduler.server.jobs import Desk
from hybrid_scheduler.server.lifecycle import Ownership, end_run, sweep
from hybrid_scheduler.server.problems import BusyError, ConflictError
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.server.relay import share
from hybrid_scheduler.server.run_summaries import CANNOT_REPEAT, is_measured
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import Run
from hybrid_scheduler.workloads.library import Library, is_upload

R = TypeVar("R")


async def ordered(order: Callable[[], R]) -> R:
    """Give the race an order; it is carried out between two blocks."""
    try:
        return await asyncio.to_thread(order)
    except TimeoutError:
        raise BusyError("the simulation did not get round to this order: try again") from None


def soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call something on the event loop, from any thread; a loop that has ended needs no calls."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def changes_of(rows: list[dict[str, Any]]) -> list[Change]:
    """Return the log of a run as its rows have it."""
    return [Change(each["at_task"], each["at_time"], each["change"]) for each in rows]


def replayed(
    run: Run, log: list[Change], recording: Recording, last: int | None, feed: Feed, library: Library
) -> ContinuousSimulation:
    """Play a run again up to its last stored task."""
    replay = Replay(LiveSettings(**run.settings), log, [recording, feed], library)
    recording.follow(replay.simulation)
    return replay.run(0 if last is None else last + 1)


def words(change: Mapping[str, Any]) -> str:
    """Write a change for people."""
    return ", ".join(f"{name} = {value}" for name, value in change.items())


T = TypeVar("T")
ANALYSIS_SECONDS = 1.0
NOTHING = "no simulation has been started yet: start one with POST /api/simulation/start"


class Manager(Connections):
    """Starts, watches, records and ends simulations; every method is for the event loop."""

    ownership: Ownership
    desk: Desk

    def __init__(self, settings: AppSettings) -> None:
        super().__init__(settings)
        self.simulation: ContinuousSimulation | None = None
        self.run_id: int | None = None
        self._recording: Recording | None = None
        self.order = asyncio.Lock()  # starting and ending, one at a time
        self._halted = False  # paused because of the database, not by a person
        self._snapshot: Snapshot | None = None
        self._analysis: tuple[float, Analysis | None] = (0.0, None)
        self._analysing = asyncio.Lock()

    # --- the server's life -------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, look after runs that others left behind, and begin to send frames."""
        await self.connect()
        self.ownership = Ownership(self.store, self._lost)
        if interrupted := await sweep(self.store):
            logger.info(f"runs that were interrupted: {', '.join(map(str, interrupted))}")
        self.desk = Desk(self, self.ownership.owner)
        await self.desk.open()
        self.spawn(self._send_frames(), "frames")
        if self.settings.redis:
            share(self)

    async def close(self) -> None:
        """End the run, write everything that waits, disconnect."""
        try:
            if self.active:
                await self.stop()
        except SchedulerError as error:
            logger.error(f"the run could not be ended properly: {error}")
        await self.desk.close()
        await self.ownership.quiet()
        await self.disconnect()

    # --- orders ------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether there is a simulation that has not ended."""
        return self.simulation is not None and self.simulation.state not in (STOPPED, FAILED)

    async def start(self, values: Mapping[str, Any] | None = None, paused: bool = False) -> int:
        """Start a new run with the settings of this server and some changed; returns its number."""
        async with self.order:
            self._refuse_second()
            wanted = await asyncio.to_thread(lambda: self.settings.live_settings().changed(**(values or {})))
            if wanted.measured:
                self.notify(f"{wanted.backend} workers start and are timed: the race begins in a moment")
            simulation = await self._claimed(lambda: live_simulation(wanted, self.library))
            first, owner = simulation.first_settings, self.ownership.owner
            self.run_id = await self.store.begin_run(
                "live", first.seed, first.cluster.to_dict(), first.to_dict(), owner
            )
            self._adopt(simulation, Recording(self.run_id, self.recorder), Feed(), paused)
            return self.run_id

    async def resume_run(self, run_id: int, paused: bool = False) -> int:
        """Go on with a run that was interrupted: play it again up to its last stored task, then go on live."""
        async with self.order:
            self._refuse_second()
            run = await self.store.run(run_id)
            if run.kind != "live" or run.status not in ("interrupted", "finished"):
                raise ConflictError(f"run {run_id} is a {run.kind} run and {run.status}: it cannot be resumed")
            if is_measured(run):
                raise ConflictError(f"run {run_id} was {CANNOT_REPEAT}: start a new one")
            if run.version != __version__:
                logger.warning(f"run {run_id} was made by version {run.version}: it may go on differently")
            log = changes_of(await self.store.settings_changes(run_id))
            last = await self.store.last_task(run_id)
            recording, feed = Recording(run_id, self.recorder), Feed()
            recording.replay(0 if last is None else last + 1, len(log))
            simulation = await self._claimed(lambda: replayed(run, log, recording, last, feed, self.library))
            recording.replaying = False
            await self.store.resume_run(run_id, self.ownership.owner)
            self.run_id = run_id
            feed.news()  # what is played again is none
            self._adopt(simulation, recording, feed, paused)
            return run_id

    async def stop(self) -> None:
        """End the run; its summary is stored."""
        async with self.order:
            simulation = self._require()
            await asyncio.to_thread(simulation.stop)
            await self._end("finished")

    async def pause(self) -> None:
        """Halt between two blocks."""
        self._halted = False
        self._require().pause()
        await self._look()

    async def resume(self) -> None:
        """Go on after a pause."""
        self._require_storage()
        self._require().resume()
        await self._look()

    async def step(self, tasks: int = 1) -> None:
        """Let so many tasks pass while paused."""
        self._require_storage()
        simulation = self._require()
        await ordered(lambda: simulation.step(tasks))
        await self._look()

    async def change(self, values: Mapping[str, Any]) -> Change:
        """Change settings of the running simulation."""
        simulation = self._require()
        if not values:
            raise InputError("no setting is named: name at least one, such as load")
        if is_upload(spec := str(values.get("preset", ""))):  # read before the race is asked, which stands still then
            await asyncio.to_thread(self.library.tasks, spec)
        change = await ordered(lambda: simulation.change(**values))
        await self._look()
        self.notify(f"settings changed: {words(change.change)}")
        return change

    async def submit(self, task: Task) -> tuple[TaskRecord, dict[str, Explanation]]:
        """Let a task by hand arrive now; returns what all schedulers made of it, and why."""
        self._require_storage()
        simulation = self._require()
        placed, reasons = await ordered(lambda: simulation.submit(task))
        await self._look()
        return records_of(placed)[0], reasons

    async def ask_experiment(self, values: dict[str, Any]) -> int:
        """Let schedulers be compared beside the race; returns the number of the run."""
        return await self.desk.ask(values)

    async def cancel_experiment(self, run_id: int) -> None:
        """Stop an experiment that waits or runs."""
        await self.desk.cancel(run_id)

    # --- looking -----------------------------------------------------------------------------------------------

    async def recall(self, task_id: int) -> Recalled | None:
        """Return a task of this run that is still remembered, and why it is where it is."""
        return self.feed.recall(task_id)

    def snapshot(self) -> Snapshot | None:
        """Return the last look at the race, half a second old at most, with the state as it is now."""
        if self._snapshot is None or self.simulation is None:
            return None
        return replace(self._snapshot, state=self.simulation.state, error=self.simulation.error)

    async def analysis(self) -> Analysis | None:
        """Return the slow pictures, a second old at most."""
        async with self._analysing:
            made, kept = self._analysis
            if self.simulation is not None and time.monotonic() - made > ANALYSIS_SECONDS:
                kept = await asyncio.to_thread(self.simulation.analysis)
                self._analysis = time.monotonic(), kept
            return kept

    async def _look(self) -> None:
        if self.simulation is not None:
            self._snapshot = await asyncio.to_thread(self.simulation.snapshot)

    async def _send_frames(self) -> None:
        while True:
            await asyncio.sleep(self.settings.frame_seconds)
            if self.simulation is not None:
                await self.send_frame()

    async def send_frame(self) -> None:
        """Send a picture of this moment to everyone who watches."""
        await self._look()
        snapshot, before = self.snapshot(), self._analysis[0]
        analysis = await self.analysis()
        if snapshot is not None:
            fresh = analysis if self._analysis[0] > before else None
            self.hub.publish("simulation_update", **websocket.update(self.run_id, snapshot, self.feed.news(), fresh))

    # --- what happens by itself --------------------------------------------------------------------------------

    def _adopt(self, simulation: ContinuousSimulation, recording: Recording, feed: Feed, paused: bool) -> None:
        recording.follow(simulation)
        self._recording, self.simulation, self.feed = recording, simulation, feed
        self._halted, self._analysis, self._snapshot = False, (0.0, None), simulation.snapshot()
        self.hub.notice = ""
        simulation.sinks[:] = [recording, feed]
        loop = asyncio.get_running_loop()
        simulation.on_state.append(lambda state: soon(loop, lambda: self._state_changed(state)))
        (simulation.pause if paused else simulation.start)()

    def _state_changed(self, state: str) -> None:
        simulation, recording = self.simulation, self._recording
        if simulation is None or recording is None:
            return
        if state == FAILED:
            self.notify(f"run {self.run_id} failed: {simulation.error}", "error")
            self.spawn(self._end_failed(recording, simulation), "the end of a failed run")
        elif not simulation.error:
            self.notify(f"run {self.run_id} is {state}")

    def on_trouble(self, error: str) -> None:
        """Pause because the database does not take rows."""
        self.notify(error, "error")
        if self.simulation is not None and self.simulation.state == RUNNING:
            self._halted = True
            self.simulation.pause(error)

    def on_recovered(self) -> None:
        """Go on after the database came back, unless a person paused as well."""
        super().on_recovered()
        if self._recording is not None:
            self._recording.hand_over()
        if self._halted and self.simulation is not None and self.simulation.state == PAUSED:
            self.simulation.resume()
        self._halted = False

    def _lost(self, error: str) -> None:
        """Stop because another server took the simulation over."""
        self.notify(f"run {self.run_id} stops here: {error}", "error")
        if self.simulation is not None and self.active:
            self.spawn(asyncio.to_thread(self.simulation.stop), "stop of a lost run")

    async def _end(self, status: str) -> None:
        if self._recording is not None and self.simulation is not None:
            await end_run(self, self._recording, self.simulation, status)
            await self._look()

    async def _end_failed(self, recording: Recording, simulation: ContinuousSimulation) -> None:
        async with self.order:
            try:
                await end_run(self, recording, simulation, "failed")
            except SchedulerError as error:
                self.notify(str(error), "error")

    async def flush(self) -> None:
        """Return when everything so far is stored."""
        if self._recording is not None:
            await self._recording.flush()

    # --- checks ------------------------------------------------------------------------------------------------

    async def _claimed(self, build: Callable[[], T]) -> T:
        """Claim the simulation and build it; no claim is left if that fails."""
        await self.ownership.claim()
        try:
            await self.store.mark_interrupted()
            return await asyncio.to_thread(build)
        except BaseException:
            await self.ownership.release()
            raise

    def _refuse_second(self) -> None:
        if self.active:
            raise ConflictError(f"run {self.run_id} is under way: stop it before starting another")

    def _require(self) -> ContinuousSimulation:
        if self.simulation is None:
            raise ConflictError(NOTHING)
        if not self.active:
            raise ConflictError(f"run {self.run_id} has ended ({self.simulation.state}): start a new one")
        return self.simulation

    def _require_storage(self) -> None:
        if self.recorder.troubled:
            raise StorageError(f"the simulation waits for its database: {self.recorder.last_error}")
