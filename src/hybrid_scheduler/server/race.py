"""`RaceManager`: the live race of this process with its database, cache, recorder, live feed and job queue."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from loguru import logger

from hybrid_scheduler import __version__
from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.live.checkpoint import load_race, read_key
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import Change, LiveSettings
from hybrid_scheduler.live.simulation import (
    FAILED,
    LONG_BLOCKS,
    PAUSED,
    RUNNING,
    STOPPED,
    ContinuousSimulation,
    Replay,
)
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, TaskRecord, build_task_records
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server import lifecycle
from hybrid_scheduler.server.csv_export import CsvExport
from hybrid_scheduler.server.feed import Announcer, Feed, RecentTask
from hybrid_scheduler.server.heavy_reads import HeavyReads
from hybrid_scheduler.server.jobs import JobQueue
from hybrid_scheduler.server.lifecycle import (
    Ownership,
    Recording,
    end_run,
    find_obstacle,
    find_uses,
    mark_abandoned_runs,
    undo_last_change,
)
from hybrid_scheduler.server.problems import BusyError, ConflictError
from hybrid_scheduler.server.supervision import Supervisor
from hybrid_scheduler.server.websocket import Hub, build_update
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.cache import Cache, open_cache
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Recorder, RecorderOptions
from hybrid_scheduler.storage.retention import DiskUse, apply_retention, measure_disk, plan_retention
from hybrid_scheduler.storage.store import LIVE, Run, Store
from hybrid_scheduler.studies.offline_training import LEAST_ROWS, save_offer, train_offer
from hybrid_scheduler.studies.pretraining import find_missing_models, find_or_train_model
from hybrid_scheduler.workloads.library import Entry, Library, is_upload

T = TypeVar("T")
ANALYSIS_SECONDS = 1.0
FRESH_SECONDS = 0.5  # age of a snapshot that a request is answered with
LATE_SECONDS = 2.0  # age of the last frame from which on a request does not wait for the next
CHECKPOINT_BUSY, CHECKPOINT_SECONDS = 2.0, 300.0  # of work of the race, which a replay repeats; of wall time
CHECKPOINT_PATIENCE = 60.0  # seconds that a checkpoint waits for rows before it, on a disk that is slow for a while
CHECKPOINT_LOOK_SECONDS = 0.5  # between two looks at how much work a replay would repeat
WATCHED_SECONDS = 30.0  # after the last client has left, or the last request, the race counts as watched
UNWATCHED_FRAME_SECONDS = 10.0  # between two frames that nobody sees, for the history of who comes later
CHECK_SECONDS = 900.0  # between two looks through the whole database
RETENTION_SECONDS = 60.0  # between two looks at the size of the database
TRAINING_ROWS = 20_000  # the newest, for a fit to what is stored
NO_SIMULATION = "no simulation has been started yet: start one with POST /api/simulation/start"


class SavedRace(NamedTuple):
    """A race from a checkpoint, the attempts of tasks that had to start again, and the commands behind it."""

    race: LiveRace
    attempts: dict[tuple[str, int], int]
    changes: int


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
        self.reading = asyncio.Semaphore(3)  # of uploads: few are read at a time, for they can be large
        self.heavy = HeavyReads(settings.database)
        self.simulation: ContinuousSimulation | None = None
        self.run_id: int | None = None
        self.starting = asyncio.Lock()  # of starting and ending a run
        self._choosing = asyncio.Lock()  # of a workload: none is deleted while a race or an experiment turns to it
        self.resuming = ""  # what is being resumed, and how far it is
        self._recording: Recording | None = None
        self.damage = ""  # of the database
        self.disk: DiskUse | None = None  # as measured by the process that runs the simulation
        self._key = b""  # that signs checkpoints
        self._unsaved = ""  # why the last one was not stored, told once
        self._recovered: tuple[int, int] | None = None  # run and task at which it went on after a failure
        self.supervisor = Supervisor(lambda message: self.notify(message, "error"))
        self._halted = False  # paused because of the database, not by a person
        self._snapshot: Snapshot | None = None
        self._begun = 0.0  # when the snapshot was begun
        self._looked = 0.0  # the same, if it has all figures
        self._looking = asyncio.Lock()
        self._watched = time.monotonic()  # when somebody last did
        self._announcer = Announcer()
        self._export = CsvExport(settings.export_csv) if settings.export_csv else None
        self._analysis: tuple[float, Analysis | None] = (0.0, None)
        self._analysing = asyncio.Lock()

    # --- opening and closing -----------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, mark the runs of dead servers as interrupted, and begin to send frames."""
        await self.connect()
        self.ownership = Ownership(self.store, self._on_lost, self.supervisor)
        if interrupted := await mark_abandoned_runs(self.store):
            logger.info(f"runs that were interrupted: {', '.join(map(str, interrupted))}")
        self.jobs = JobQueue(self.store, self.library, self.ownership.owner, self.notify, self.supervisor)
        await self.jobs.open()
        self._key = await asyncio.to_thread(read_key, self.settings.data_dir)
        self.supervisor.keep(self._send_frames, "the sending of frames")
        self.supervisor.keep(self._keep_checkpoints, "checkpoints")
        self.supervisor.keep(self._watch_database, "the check of the database")
        self.supervisor.keep(self._keep_retention, "retention")
        if self.settings.offline_training_minutes is not None:
            self.supervisor.keep(self._train_offline, "the training from what is stored")

    async def connect(self) -> None:
        """Open database and cache."""
        self.hub.use_loop()
        await asyncio.to_thread(self.library.sweep)
        self.store = await Store.open(self.settings.database)
        self.cache = await open_cache(self.settings.redis)
        options = RecorderOptions(keep_tasks=self.settings.keep_tasks)
        self.recorder = Recorder(self.store, options, self._on_storage_failure, self._on_storage_recovery)
        self.recorder.start(self.supervisor.keep)

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
        try:
            await self.recorder.close()
        except StorageError as error:
            logger.error(str(error))
        await self.supervisor.close()
        await self.heavy.close()
        await self.cache.close()
        await self.store.close()

    # --- commands ----------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether there is a simulation that has not ended."""
        return self.simulation is not None and self.simulation.state not in (STOPPED, FAILED)

    async def start(self, values: Mapping[str, Any] | None = None, paused: bool = False) -> int:
        """Start a new run with the server's settings, some of them changed; returns its id."""
        self._refuse_while_resuming()
        async with self.starting:
            self._require_none_active()
            settings = await asyncio.to_thread(lambda: self.settings.live_settings().with_changes(**(values or {})))
            if settings.is_measured:
                self.notify(f"{settings.backend} workers start and are timed: the race begins in a moment")
            wanted = settings.schedulers
            ready = await asyncio.to_thread(_list_ready, settings)
            settings = settings.with_changes(schedulers=ready)
            simulation = await self._claim(lambda: ContinuousSimulation(settings, library=self.library))
            first, owner = simulation.initial_settings, self.ownership.owner
            run_id = await self.store.begin_run(LIVE, first.seed, first.cluster.to_dict(), first.to_dict(), owner)
            await self._adopt(simulation, Recording(run_id, self.recorder, self._export), Feed(), paused)
            if ready != wanted:
                self.supervisor.run(self._train_and_join(simulation, wanted), "the training of learners")
            return run_id

    async def _train_and_join(self, simulation: ContinuousSimulation, wanted: tuple[str, ...]) -> None:
        """Train the learners that have no model for this cluster, once; each joins the race when it is ready."""
        for spec in [each for each in wanted if each not in simulation.settings.schedulers]:
            self.notify(f"{spec} is being trained for this cluster, once: it joins the race in a minute or so")
            await asyncio.to_thread(find_or_train_model, spec, simulation.settings.cluster)
            if simulation is not self.simulation or not self.active:
                return
            racing = simulation.settings.schedulers
            others = tuple(each for each in racing if each not in wanted)
            joined = tuple(each for each in wanted if each in racing or each == spec)
            await self.change({"schedulers": (*joined, *others)})

    async def resume_run(self, run_id: int, paused: bool = False) -> int:
        """Continue a run that has ended: from its last checkpoint to its last stored task, then live."""
        self._refuse_while_resuming()
        async with self.starting:
            self._require_none_active()
            run = await self.store.run(run_id)
            if run.kind != LIVE or run.status not in ("interrupted", "finished", "failed"):
                raise ConflictError(f"run {run_id} is a {run.kind} run and {run.status}: it cannot be resumed")
            if obstacle := find_obstacle(run):
                raise ConflictError(f"run {run_id} was {obstacle}: start a new one")
            self.resuming = f"run {run_id} is being resumed"
            try:
                simulation, recording, feed = await self._replay(run)
                await self.store.resume_run(run_id, self.ownership.owner)
                feed.news()  # discarded: replayed tasks are not new
                await self._adopt(simulation, recording, feed, paused)
            finally:
                self.resuming = ""
            return run_id

    async def _replay(self, run: Run) -> tuple[ContinuousSimulation, Recording, Feed]:
        """Repeat a run up to its last stored task; says how far it is."""
        if run.version != __version__:
            logger.warning(f"run {run.id} was made by version {run.version}: it may go on differently")
        rows = await self.store.settings_changes(run.id)
        log = [Change(each["at_task"], each["at_time"], each["change"]) for each in rows]
        last = await self.store.last_task(run.id)
        stored = 0 if last is None else last + 1
        recording, feed = Recording(run.id, self.recorder, self._export), Feed()
        recording.replay(stored, len(log))
        saved = await self._find_checkpoint(run.id, stored, len(log))

        def replay() -> ContinuousSimulation:
            settings = LiveSettings(**run.settings)
            if saved is None:
                replayed = Replay(settings, log, [recording, feed], self.library)
            else:
                recording.attempts = saved.attempts
                replayed = Replay(settings, log, [recording, feed], self.library, saved.race, saved.changes)
            recording.simulation = replayed.simulation
            simulation = replayed.run(stored)
            if run.status == "failed":
                _undo_last_change(simulation, run.id)
            return simulation

        progress = self.supervisor.run(self._show_progress(recording, stored), "the progress of a replay")
        try:
            simulation = await self._claim(replay)
        finally:
            progress.cancel()
        recording.replaying = False
        return simulation, recording, feed

    async def _find_checkpoint(self, run_id: int, stored: int, changes: int) -> SavedRace | None:
        """Return the newest checkpoint of a run that can be used; None: it is replayed from its beginning."""
        for each in await self.store.checkpoints(run_id):
            if each.version != __version__ or each.at_task > stored or each.changes > changes:
                continue
            try:
                race, attempts = await asyncio.to_thread(load_race, each.state, self._key, self.library)
            except InputError as error:
                logger.warning(f"a checkpoint of run {run_id} is passed over: {error}")
            else:
                return SavedRace(race, attempts, each.changes)
        return None

    async def _show_progress(self, recording: Recording, stored: int) -> None:
        while True:
            done = recording.simulation.race.stream.number if recording.simulation else 0
            self.resuming = f"run {recording.run_id} is being resumed: {done} of {stored} tasks are replayed"
            await asyncio.sleep(0.2)

    async def _watch_database(self) -> None:
        """Look through the whole file now and then: what is seldom read may be damaged for long."""
        while True:
            try:
                found = await self.store.find_damage()
                self.damage = f"the database is damaged ({found}): restore a copy with hms restore" if found else ""
            except StorageError as error:
                self.damage = str(error)
            if self.damage:
                self.notify(self.damage, "error")
            await asyncio.sleep(CHECK_SECONDS)

    async def _keep_retention(self) -> None:
        """Measure the disk, and delete the oldest runs where the limits over all runs are exceeded."""
        limits = self.settings.keep_bytes, self.settings.keep_days
        while True:
            try:
                plan = await plan_retention(self.store, *limits)
                if plan:
                    await apply_retention(self.store, plan)
                    self.notify(f"retention deleted {plan.describe()}", "warning")
                disk = await measure_disk(self.store)
                free = shutil.disk_usage(self.settings.data_dir).free if disk.free is None else disk.free
                self.disk = replace(disk, free=free)
            except StorageError as error:
                logger.warning(f"old runs are kept for now: {error}")
            await asyncio.sleep(RETENTION_SECONDS)

    async def _keep_checkpoints(self) -> None:
        """Store the state of the race whenever a replay would take some seconds."""
        last: tuple[ContinuousSimulation | None, float, float] = None, 0.0, 0.0
        while True:
            await asyncio.sleep(CHECKPOINT_LOOK_SECONDS)
            simulation, recording = self.simulation, self._recording
            if simulation is None or recording is None or not self.active or not simulation.settings.can_replay:
                continue
            busy, now = simulation.busy_seconds, time.monotonic()
            if simulation is not last[0]:
                last = simulation, 0.0, now
            if busy - last[1] > CHECKPOINT_BUSY or (now - last[2] > CHECKPOINT_SECONDS and busy > last[1]):
                last = simulation, busy, now  # of its state: what is done while that is stored is replayed too
                await self._store_checkpoint(simulation, recording, CHECKPOINT_PATIENCE)

    async def _store_checkpoint(
        self, simulation: ContinuousSimulation, recording: Recording, patience: float = lifecycle.STORE_TIMEOUT
    ) -> None:
        try:
            saved = await asyncio.to_thread(simulation.checkpoint, self._key, lambda: dict(recording.attempts))
            async with asyncio.timeout(patience):
                await recording.flush()  # it is of use only with all tasks before it
                await self.store.add_checkpoint(recording.run_id, saved.at_task, saved.changes, saved.state)
        except (SchedulerError, TimeoutError) as error:
            line = f"no checkpoint of run {recording.run_id} was stored: {error or 'no answer in time'}"
            logger.log("DEBUG" if line == self._unsaved else "WARNING", line)
            self._unsaved = line

    async def stop(self) -> None:
        """End the run and store its summary."""
        self._refuse_while_resuming()
        async with self.starting:
            simulation = self._require_active()
            if self._recording is not None and simulation.settings.can_replay and not self.recorder.is_failing:
                await self._store_checkpoint(simulation, self._recording)
            await asyncio.to_thread(simulation.stop)
            if self._recording is not None:
                await end_run(self, self._recording, simulation, "finished")
                await self._refresh_snapshot()

    async def pause(self) -> None:
        """Pause between two blocks: what a snapshot counts when this returns, `flush` waits for."""
        self._halted = False
        self._require_active().pause()
        await self._execute(lambda simulation: simulation.wait_for_block())
        await self._refresh_snapshot()

    async def resume(self) -> None:
        """Continue after a pause."""
        self._require_active(stores=True).resume()
        await self._refresh_snapshot()

    async def step(self, tasks: int = 1) -> None:
        """Process so many tasks while paused."""
        await self._command(lambda simulation: simulation.step(tasks))

    async def change(self, values: Mapping[str, Any]) -> Change:
        """Change settings of the running simulation."""
        self._require_active()
        if not values:
            raise InputError("no setting is named: name at least one, such as load")
        spec = str(values.get("preset", ""))
        async with self._choosing if is_upload(spec) else nullcontext():
            if is_upload(spec):  # read first, since the race stands still meanwhile
                await asyncio.to_thread(self.library.tasks, spec)
            change = await self._command(lambda simulation: simulation.change(**values))
        self.notify("settings changed: " + ", ".join(f"{name} = {value}" for name, value in change.change.items()))
        return change

    async def submit(self, task: Task) -> tuple[TaskRecord, dict[str, Explanation]]:
        """Let a task arrive now; returns its record, and the explanation of every scheduler."""
        placed = await self._command(lambda simulation: simulation.submit(task))
        return build_task_records(placed)[0], placed.explanations

    async def _command(self, command: Callable[[ContinuousSimulation], T]) -> T:
        """Let the simulation execute a command between two blocks; what it did is stored when this returns."""
        self._require_active(stores=True)
        result = await self._execute(command)
        try:
            async with asyncio.timeout(lifecycle.STORE_TIMEOUT):
                await self.flush()
        except TimeoutError:
            raise StorageError(
                "the command was executed, but the database does not answer: it is stored when that is back, "
                "and lost if the server ends before"
            ) from None
        await self._refresh_snapshot(certify=self.is_watched)
        return result

    async def _execute(self, command: Callable[[ContinuousSimulation], T]) -> T:
        try:
            return await asyncio.to_thread(command, self._require_active())
        except TimeoutError:
            raise BusyError("the simulation did not execute this command in time: try again") from None

    async def submit_experiment(self, values: dict[str, Any]) -> int:
        """Queue an experiment; returns the id of its run."""
        async with self._choosing:
            return await self.jobs.submit(values)

    async def cancel_experiment(self, run_id: int) -> None:
        """Stop an experiment that is queued or running."""
        await self.jobs.cancel(run_id)

    async def remove_workload(self, entry: Entry) -> None:
        """Delete an uploaded workload, unless it is needed."""
        self._refuse_while_resuming()
        async with self.starting, self._choosing:
            if why := (await find_uses(self)).get(entry.pinned_spec):
                raise ConflictError(f"workload '{entry.name}' is in use: {why}")
            await asyncio.to_thread(self.library.remove, entry.name)

    # --- state -------------------------------------------------------------------------------------------------

    async def find_task(self, task_id: int) -> RecentTask | None:
        """Return a recent task of this run and its explanations."""
        return self.feed.find_task(task_id)

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot of the race with its present state; `look` takes a new one."""
        if self._snapshot is None or self.simulation is None:
            return None
        return replace(self._snapshot, state=self.simulation.state, error=self.simulation.error)

    async def analysis(self) -> Analysis | None:
        """Return the slowly changing figures, a second old at most."""
        async with self._analysing:
            (made, analysis), simulation = self._analysis, self.simulation
            if simulation is not None and time.monotonic() - made > ANALYSIS_SECONDS:
                analysis = await asyncio.to_thread(simulation.analysis)
                if simulation is self.simulation:
                    self._analysis = time.monotonic(), analysis
            return analysis

    async def flush(self) -> None:
        """Wait until everything so far is stored."""
        if self._recording is not None:
            await self._recording.flush()

    async def look(self, certify: bool = True) -> None:
        """Take a snapshot with all figures, or as they are now, unless there is one as good as that of a frame."""
        if self.is_watched and time.monotonic() - self._looked < LATE_SECONDS:
            return  # frames bring one
        if not certify:
            await self._refresh_snapshot(certify=False)
            return
        async with self._looking:
            if time.monotonic() - self._looked > FRESH_SECONDS:
                await self._refresh_snapshot()

    async def watch(self, certify: bool = True) -> None:
        """Let the race be watched for a while: frames come, and every decision is explained."""
        await self.look(certify)
        self._note_watched()

    @property
    def is_watched(self) -> bool:
        """Whether anybody has looked lately; who is connected to another process may always."""
        if self.hub.clients or self.hub.forward:
            self._watched = time.monotonic()
        return time.monotonic() - self._watched < WATCHED_SECONDS

    def _note_watched(self) -> None:
        self._watched = time.monotonic()
        self.hub.wanted.set()
        if self.simulation is not None:
            self.simulation.watched = True

    async def _refresh_snapshot(self, certify: bool = True) -> None:
        """Take a snapshot; one that was begun before the last change, or of another run, hides no newer one."""
        if (simulation := self.simulation) is None:
            return
        if certify:
            await asyncio.to_thread(simulation.wait_for_certificate)
        begin = time.monotonic()
        snapshot = await asyncio.to_thread(simulation.snapshot, certify)
        if simulation is self.simulation and begin >= self._begun:
            self._snapshot, self._begun = snapshot, begin
            self._looked = begin if certify else 0.0

    async def _train_offline(self) -> None:
        """Fit a model to what is stored, again and again; one that is better on held-out rows is offered."""
        while True:
            await asyncio.sleep(60.0 * (self.settings.offline_training_minutes or 0.0))
            await self.train_offline()

    async def train_offline(self) -> None:
        """Fit a model to what is stored; if it is better than the one before, keep it and tell."""
        rows = await self.store.training_data(TRAINING_ROWS)
        if len(rows) < LEAST_ROWS:
            return
        path = self.settings.data_dir / "models" / "offline.model"
        offer = await asyncio.to_thread(train_offer, rows, path)
        logger.debug(f"offline training: {offer.describe()}")
        if not offer.is_better:
            return
        await asyncio.to_thread(save_offer, offer, path)
        digest = str((await asyncio.to_thread(read_manifest, path))["sha256"])
        await self.store.add_model("hybrid_ml", str(path), digest, {"rows": offer.fitted, "mae": offer.error})
        self.notify(f"Model Retrained: {path} from {offer.fitted:,} stored rows, {offer.describe()}")

    # --- messages and background work --------------------------------------------------------------------------

    async def _send_frames(self) -> None:
        while True:
            await self._wait_for_frame()
            if self.simulation is not None:
                self.simulation.watched = self.is_watched
                await self.send_frame()

    async def _wait_for_frame(self) -> None:
        """Wait until a frame is due: seldom if nobody watches, and at once if somebody comes."""
        if self.is_watched:
            await asyncio.sleep(self.settings.frame_seconds)
            return
        if self.simulation is not None:
            self.simulation.watched = False  # the last watcher may have left since the last frame
        self.hub.wanted.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.hub.wanted.wait(), UNWATCHED_FRAME_SECONDS)

    async def send_frame(self) -> None:
        """Send the present state of the race to every client; what is slow to compute only if somebody watches."""
        watched = self.is_watched
        await self._refresh_snapshot(certify=watched)
        snapshot, before = self.snapshot(), self._analysis[0]
        if snapshot is None:
            return
        self._announce(snapshot)
        analysis = await self.analysis() if watched else None
        fresh = analysis if self._analysis[0] > before else None
        self.hub.publish("simulation_update", **build_update(self.run_id, snapshot, self.feed.news(), fresh))

    def _announce(self, snapshot: Snapshot) -> None:
        """Tell where the newest task went, and of models that were fitted again; not more often than one can read."""
        for line in self._announcer.describe_placements(snapshot):
            logger.debug(line)
            self.hub.publish("log", level="DEBUG", message=line, source="race")
        for line in self._announcer.describe_fits(snapshot):
            logger.debug(line)
            if self._announcer.is_due():
                self.hub.publish("notification", level="info", message=line)

    def notify(self, message: str, level: str = "info") -> None:
        """Log a message and send it to every client; an error is also sent to those that join until it is over."""
        logger.log(level.upper(), message)
        if level == "error":
            self.hub.notice = message
        self.hub.publish_soon("notification", level=level, message=message)

    # --- events ------------------------------------------------------------------------------------------------

    async def _adopt(self, simulation: ContinuousSimulation, recording: Recording, feed: Feed, paused: bool) -> None:
        snapshot = await asyncio.to_thread(simulation.snapshot, False)  # the race need not wait for a certificate
        recording.simulation, self.run_id = simulation, recording.run_id
        self._recording, self.simulation, self.feed = recording, simulation, feed
        self._announcer = Announcer()
        self._halted, self._analysis, self._snapshot = False, (0.0, None), snapshot
        self._note_watched()  # whoever has started it
        self.hub.notice = ""
        # The feed observes, so that every task that a snapshot counts can be found; the recorder may block the race.
        simulation.sinks, simulation.observers = [recording], [feed]
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
            self.supervisor.run(self._end_failed(recording, simulation), "the end of a failed run")
        elif not simulation.error:
            self.notify(f"run {self.run_id} is {state}")

    async def _end_failed(self, recording: Recording, simulation: ContinuousSimulation) -> None:
        async with self.starting:
            try:
                # Without the command that was refused, nothing is wrong with it.
                await end_run(self, recording, simulation, "interrupted" if simulation.refused else "failed")
            except SchedulerError as error:
                self.notify(str(error), "error")
                return
        failed_at = recording.run_id, simulation.race.stream.number
        can_change = simulation.refused or any(LONG_BLOCKS not in each.change for each in simulation.log)
        if not simulation.settings.can_replay or self._recovered == failed_at or not can_change:
            return
        self._recovered = failed_at  # twice at the same task is once too often
        why = f"{simulation.refused} is refused" if simulation.refused else "its last change is undone"
        try:
            await self.resume_run(recording.run_id)
            self.notify(f"run {recording.run_id} failed ({simulation.error}) and goes on: {why}", "warning")
        except SchedulerError as error:
            self.notify(f"run {recording.run_id} failed and cannot go on: {error}", "error")

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
            self.supervisor.run(asyncio.to_thread(self.simulation.stop), "stop of a lost run")

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

    def _refuse_while_resuming(self) -> None:
        if self.resuming:
            raise ConflictError(f"{self.resuming}: wait until it runs")

    def _require_none_active(self) -> None:
        if self.active:
            raise ConflictError(f"run {self.run_id} is under way: stop it before starting another")

    def _require_active(self, stores: bool = False) -> ContinuousSimulation:
        """Return the simulation; a command that stores tasks needs the database too."""
        self._refuse_while_resuming()
        if stores and self.recorder.is_failing:
            raise StorageError(f"the simulation waits for its database: {self.recorder.last_error}")
        if self.simulation is None:
            raise ConflictError(NO_SIMULATION)
        if not self.active:
            raise ConflictError(f"run {self.run_id} has ended ({self.simulation.state}): start a new one")
        return self.simulation


def _undo_last_change(simulation: ContinuousSimulation, run_id: int) -> None:
    """Undo what a failed run may have failed of; its workload of before may be deleted by now."""
    try:
        if undone := undo_last_change(simulation):
            logger.warning(f"run {run_id} had failed: {undone} is undone")
    except SchedulerError as error:
        logger.warning(f"run {run_id} had failed, and its last change cannot be undone: {error}")


def _list_ready(settings: LiveSettings) -> tuple[str, ...]:
    """Return the schedulers that can start at once; if none can, all: then the race waits for their training."""
    if settings.is_measured:
        return settings.schedulers
    missing = find_missing_models(settings.schedulers, settings.cluster, warm_start=True)
    return tuple(spec for spec in settings.schedulers if spec not in missing) or settings.schedulers
