"""`RaceManager`: the live race of this process with its database, cache, recorder, live feed and job queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from loguru import logger

from hybrid_scheduler import __version__
from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.records import TaskRecord, build_task_records
from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.simulation import FAILED, PAUSED, RUNNING, STOPPED, ContinuousSimulation, Replay
from hybrid_scheduler.live.snapshot import Analysis, Snapshot
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.feed import Feed, RecentTask
from hybrid_scheduler.server.jobs import JobQueue
from hybrid_scheduler.server.lifecycle import CANNOT_REPEAT, Ownership, end_run, is_measured, mark_abandoned_runs
from hybrid_scheduler.server.problems import BusyError, ConflictError
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.server.websocket import Hub, build_update
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.cache import Cache, open_cache
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Recorder, RecorderOptions
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.workloads.library import Library, is_upload

T = TypeVar("T")
ANALYSIS_SECONDS = 1.0
NO_SIMULATION = "no simulation has been started yet: start one with POST /api/simulation/start"


class RaceManager:
    """Starts, controls, records and ends simulations; every method is for the event loop."""

    store: Store
    cache: Cache
    recorder: Recorder
    ownership: Ownership
    jobs: JobQueue

    def __init__(self, settings: AppSettings) -> None:
        self.settings = settings
        self.hub = Hub(settings.ring, settings.client_queue)
        self.feed = Feed()
        self.library = Library(settings.workloads)
        self.reading = asyncio.Lock()  # of uploads: one is read at a time, for they can be large
        self.simulation: ContinuousSimulation | None = None
        self.run_id: int | None = None
        self.starting = asyncio.Lock()  # of starting and ending a run
        self._recording: Recording | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self._halted = False  # paused because of the database, not by a person
        self._snapshot: Snapshot | None = None
        self._analysis: tuple[float, Analysis | None] = (0.0, None)
        self._analysing = asyncio.Lock()

    # --- opening and closing -----------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, mark the runs of dead servers as interrupted, and begin to send frames."""
        await self.connect()
        self.ownership = Ownership(self.store, self._on_lost)
        if interrupted := await mark_abandoned_runs(self.store):
            logger.info(f"runs that were interrupted: {', '.join(map(str, interrupted))}")
        self.jobs = JobQueue(self.store, self.library, self.ownership.owner, self.notify)
        await self.jobs.open()
        self.spawn(self._send_frames(), "frames")

    async def connect(self) -> None:
        """Open database and cache."""
        self.hub.use_loop()
        await asyncio.to_thread(self.library.sweep)
        self.store = await Store.open(self.settings.database)
        self.cache = await open_cache(self.settings.redis)
        options = RecorderOptions(keep_tasks=self.settings.keep_tasks)
        self.recorder = Recorder(self.store, options, self._on_storage_failure, self._on_storage_recovery)
        self.recorder.start()

    async def close(self) -> None:
        """End the run, write what is pending, disconnect."""
        try:
            if self.active:
                await self.stop()
        except SchedulerError as error:
            logger.error(f"the run could not be ended properly: {error}")
        await self.jobs.close()
        await self.ownership.stop_renewing()
        await self.disconnect()

    async def disconnect(self) -> None:
        """Write pending rows, and close everything."""
        for task in list(self._background):
            task.cancel()
        try:
            await self.recorder.close()
        except StorageError as error:
            logger.error(str(error))
        await self.cache.close()
        await self.store.close()

    # --- commands ----------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether there is a simulation that has not ended."""
        return self.simulation is not None and self.simulation.state not in (STOPPED, FAILED)

    async def start(self, values: Mapping[str, Any] | None = None, paused: bool = False) -> int:
        """Start a new run with the server's settings, some of them changed; returns its id."""
        async with self.starting:
            self._require_none_active()
            settings = await asyncio.to_thread(lambda: self.settings.live_settings().with_changes(**(values or {})))
            if settings.is_measured:
                self.notify(f"{settings.backend} workers start and are timed: the race begins in a moment")
            simulation = await self._claim(lambda: ContinuousSimulation(settings, library=self.library))
            first, owner = simulation.initial_settings, self.ownership.owner
            self.run_id = await self.store.begin_run(
                "live", first.seed, first.cluster.to_dict(), first.to_dict(), owner
            )
            self._adopt(simulation, Recording(self.run_id, self.recorder), Feed(), paused)
            return self.run_id

    async def resume_run(self, run_id: int, paused: bool = False) -> int:
        """Continue an interrupted or finished run: replay it up to its last stored task, then run live."""
        async with self.starting:
            self._require_none_active()
            run = await self.store.run(run_id)
            if run.kind != "live" or run.status not in ("interrupted", "finished"):
                raise ConflictError(f"run {run_id} is a {run.kind} run and {run.status}: it cannot be resumed")
            if is_measured(run):
                raise ConflictError(f"run {run_id} was {CANNOT_REPEAT}: start a new one")
            if run.version != __version__:
                logger.warning(f"run {run_id} was made by version {run.version}: it may go on differently")
            rows = await self.store.settings_changes(run_id)
            log = [Change(each["at_task"], each["at_time"], each["change"]) for each in rows]
            last = await self.store.last_task(run_id)
            stored = 0 if last is None else last + 1
            recording, feed = Recording(run_id, self.recorder), Feed()
            recording.replay(stored, len(log))

            def replay() -> ContinuousSimulation:
                replayed = Replay(LiveSettings(**run.settings), log, [recording, feed], self.library)
                recording.follow(replayed.simulation)
                return replayed.run(stored)

            simulation = await self._claim(replay)
            recording.replaying = False
            await self.store.resume_run(run_id, self.ownership.owner)
            self.run_id = run_id
            feed.news()  # discarded: replayed tasks are not new
            self._adopt(simulation, recording, feed, paused)
            return run_id

    async def stop(self) -> None:
        """End the run and store its summary."""
        async with self.starting:
            simulation = self._require_active()
            await asyncio.to_thread(simulation.stop)
            if self._recording is not None:
                await end_run(self, self._recording, simulation, "finished")
                await self._refresh_snapshot()

    async def pause(self) -> None:
        """Pause between two blocks."""
        self._halted = False
        self._require_active().pause()
        await self._refresh_snapshot()

    async def resume(self) -> None:
        """Continue after a pause."""
        self._require_storage()
        self._require_active().resume()
        await self._refresh_snapshot()

    async def step(self, tasks: int = 1) -> None:
        """Process so many tasks while paused."""
        self._require_storage()
        simulation = self._require_active()
        await _run_command(lambda: simulation.step(tasks))
        await self._refresh_snapshot()

    async def change(self, values: Mapping[str, Any]) -> Change:
        """Change settings of the running simulation."""
        simulation = self._require_active()
        if not values:
            raise InputError("no setting is named: name at least one, such as load")
        if is_upload(spec := str(values.get("preset", ""))):  # read first, since the race stands still meanwhile
            await asyncio.to_thread(self.library.tasks, spec)
        change = await _run_command(lambda: simulation.change(**values))
        await self._refresh_snapshot()
        self.notify("settings changed: " + ", ".join(f"{name} = {value}" for name, value in change.change.items()))
        return change

    async def submit(self, task: Task) -> tuple[TaskRecord, dict[str, Explanation]]:
        """Let a task arrive now; returns its record, and the explanation of every scheduler."""
        self._require_storage()
        simulation = self._require_active()
        placed, explanations = await _run_command(lambda: simulation.submit(task))
        await self._refresh_snapshot()
        return build_task_records(placed)[0], explanations

    async def submit_experiment(self, values: dict[str, Any]) -> int:
        """Queue an experiment; returns the id of its run."""
        return await self.jobs.submit(values)

    async def cancel_experiment(self, run_id: int) -> None:
        """Stop an experiment that is queued or running."""
        await self.jobs.cancel(run_id)

    # --- state -------------------------------------------------------------------------------------------------

    async def find_task(self, task_id: int) -> RecentTask | None:
        """Return a recent task of this run and its explanations."""
        return self.feed.find_task(task_id)

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot of the race, half a second old at most, with its present state."""
        if self._snapshot is None or self.simulation is None:
            return None
        return replace(self._snapshot, state=self.simulation.state, error=self.simulation.error)

    async def analysis(self) -> Analysis | None:
        """Return the slowly changing figures, a second old at most."""
        async with self._analysing:
            made, analysis = self._analysis
            if self.simulation is not None and time.monotonic() - made > ANALYSIS_SECONDS:
                analysis = await asyncio.to_thread(self.simulation.analysis)
                self._analysis = time.monotonic(), analysis
            return analysis

    async def flush(self) -> None:
        """Wait until everything so far is stored."""
        if self._recording is not None:
            await self._recording.flush()

    async def _refresh_snapshot(self) -> None:
        if self.simulation is not None:
            self._snapshot = await asyncio.to_thread(self.simulation.snapshot)

    # --- messages and background work --------------------------------------------------------------------------

    async def _send_frames(self) -> None:
        while True:
            await asyncio.sleep(self.settings.frame_seconds)
            if self.simulation is not None:
                await self.send_frame()

    async def send_frame(self) -> None:
        """Send the present state of the race to every client."""
        await self._refresh_snapshot()
        snapshot, before = self.snapshot(), self._analysis[0]
        analysis = await self.analysis()
        if snapshot is not None:
            fresh = analysis if self._analysis[0] > before else None
            self.hub.publish("simulation_update", **build_update(self.run_id, snapshot, self.feed.news(), fresh))

    def notify(self, message: str, level: str = "info") -> None:
        """Log a message and send it to every client; an error is also sent to those that join until it is over."""
        logger.log(level.upper(), message)
        if level == "error":
            self.hub.notice = message
        self.hub.publish_soon("notification", level=level, message=message)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Run a coroutine in the background until it ends or the server does."""
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._on_background_done)

    def _on_background_done(self, task: asyncio.Task[Any]) -> None:
        """Report background work that failed, since nothing awaits it."""
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.opt(exception=error).error(f"{task.get_name()} failed")
            self.notify(f"{task.get_name()} failed ({type(error).__name__}: {error}): see the log", "error")

    # --- events ------------------------------------------------------------------------------------------------

    def _adopt(self, simulation: ContinuousSimulation, recording: Recording, feed: Feed, paused: bool) -> None:
        recording.follow(simulation)
        self._recording, self.simulation, self.feed = recording, simulation, feed
        self._halted, self._analysis, self._snapshot = False, (0.0, None), simulation.snapshot()
        self.hub.notice = ""
        # The feed observes, so that every task that a snapshot counts can be found; the recorder may block the race.
        simulation.sinks[:], simulation.observers[:] = [recording], [feed]
        loop = asyncio.get_running_loop()

        def on_state(state: str) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._on_state, state)

        simulation.state_listeners.append(on_state)
        (simulation.pause if paused else simulation.start)()

    def _on_state(self, state: str) -> None:
        simulation, recording = self.simulation, self._recording
        if simulation is None or recording is None:
            return
        if state == FAILED:
            self.notify(f"run {self.run_id} failed: {simulation.error}", "error")
            self.spawn(self._end_failed(recording, simulation), "the end of a failed run")
        elif not simulation.error:
            self.notify(f"run {self.run_id} is {state}")

    async def _end_failed(self, recording: Recording, simulation: ContinuousSimulation) -> None:
        async with self.starting:
            try:
                await end_run(self, recording, simulation, "failed")
            except SchedulerError as error:
                self.notify(str(error), "error")

    def _on_storage_failure(self, error: str) -> None:
        """Pause while the database accepts no rows."""
        self.notify(error, "error")
        if self.simulation is not None and self.simulation.state == RUNNING:
            self._halted = True
            self.simulation.pause(error)

    def _on_storage_recovery(self) -> None:
        """Continue when the database is back, unless a person paused as well."""
        self.hub.notice = ""
        self.notify("the database is back: everything is stored")
        if self._recording is not None:
            self._recording.hand_over()
        if self._halted and self.simulation is not None and self.simulation.state == PAUSED:
            self.simulation.resume()
        self._halted = False

    def _on_lost(self, error: str) -> None:
        """Stop because another server has claimed the simulation."""
        self.notify(f"run {self.run_id} stops here: {error}", "error")
        if self.simulation is not None and self.active:
            self.spawn(asyncio.to_thread(self.simulation.stop), "stop of a lost run")

    # --- checks ------------------------------------------------------------------------------------------------

    async def _claim(self, build: Callable[[], T]) -> T:
        """Claim the simulation and build it; the claim is released if that fails."""
        await self.ownership.claim()
        try:
            await self.store.mark_interrupted()
            return await asyncio.to_thread(build)
        except BaseException:
            await self.ownership.release()
            raise

    def _require_none_active(self) -> None:
        if self.active:
            raise ConflictError(f"run {self.run_id} is under way: stop it before starting another")

    def _require_active(self) -> ContinuousSimulation:
        if self.simulation is None:
            raise ConflictError(NO_SIMULATION)
        if not self.active:
            raise ConflictError(f"run {self.run_id} has ended ({self.simulation.state}): start a new one")
        return self.simulation

    def _require_storage(self) -> None:
        if self.recorder.is_failing:
            raise StorageError(f"the simulation waits for its database: {self.recorder.last_error}")


async def _run_command(command: Callable[[], T]) -> T:
    """Run a command of the simulation, which executes it between two blocks."""
    try:
        return await asyncio.to_thread(command)
    except TimeoutError:
        raise BusyError("the simulation did not execute this command in time: try again") from None
