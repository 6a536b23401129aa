"""The life of a run: a server claims the simulation of its database, starts or resumes, records and ends a run."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from loguru import logger

from hybrid_scheduler.core.placements import WAITING, Placements
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.live.settings import SIMULATED
from hybrid_scheduler.live.simulation import LONG_BLOCKS, RUNNING, ContinuousSimulation, RaceEvent
from hybrid_scheduler.live.snapshot import PlacedBlock
from hybrid_scheduler.server.csv_export import CsvExport
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.problems import BusyError
from hybrid_scheduler.server.supervision import Supervisor
from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.database import ClaimedError, StorageError
from hybrid_scheduler.storage.recorder import Recorder
from hybrid_scheduler.storage.rows import Batch, ResultRows, SettingsChange, TaskRows, TrainingRows
from hybrid_scheduler.storage.store import COMPARISON, LIVE, Run, Store

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import RaceManager

CLAIM_TTL = 15.0  # seconds that a claim lasts without being renewed
STORE_TIMEOUT = 8.0  # seconds that the end of a run waits for a database that does not answer
RETRY_SECONDS = 1.0
WAIT = 0.2  # seconds to wait for room in the recorder, repeatedly
_RACED = "run {run} raced on it and is replayed with it after a kill: stop the run, delete this, resume the run"
_own_names: set[str] = set()  # owners of this process


class Recording:
    """A sink that records one run. A full recorder blocks the race; if the race is paused, its rows are held here."""

    def __init__(self, run_id: int, recorder: Recorder, export: CsvExport | None = None) -> None:
        self.run_id = run_id
        self._export = export
        self.replaying = False
        self._recorder = recorder
        self.simulation: ContinuousSimulation | None = None  # whose log has more than events: steps
        self._held: deque[Batch] = deque()
        self._lock = threading.Lock()  # of the held batches
        self._changes = 0  # of the log that are recorded
        self._stored = 0  # tasks that were stored before a replay
        self.attempts: dict[tuple[str, int], int] = {}

    def replay(self, stored: int, changes: int) -> None:
        """Record nothing of a replay that is stored already: so many tasks and changes."""
        self.replaying, self._stored, self._changes = True, stored, changes

    def __call__(self, block: RaceEvent) -> None:
        """Record an event, in the race's thread."""
        log = self.simulation.log if self.simulation else []
        changes = tuple(SettingsChange(each.at_task, each.at_time, each.change) for each in log[self._changes :])
        self._changes = max(self._changes, len(log))
        tasks, results, training = self._build_rows(block.placed)
        for name, each in block.restarted.items():  # tasks that a failed device has aborted
            attempts = self._count_attempts(name, each)  # of a replay too
            if not self.replaying:
                results.append(ResultRows.from_placements(name, each, attempts))
        if tasks or not self.replaying:
            results += self._build_started_rows(block)
        batch = Batch(self.run_id, tasks, tuple(results), training, changes)
        if self._export is not None:
            self._export.write(self.run_id, results)
        if len(batch):
            with self._lock:
                self._held.append(batch)
            while not self.hand_over():
                if not self.replaying and (self.simulation is None or self.simulation.state != RUNNING):
                    break
                self._recorder.wait_for_room(WAIT)

    def hand_over(self) -> bool:
        """Pass held batches on while the recorder has room; returns whether none is left."""
        with self._lock:
            while self._held and self._recorder.add(self._held[0]):
                self._held.popleft()
            return not self._held

    async def flush(self) -> None:
        """Wait until everything so far is stored; for the event loop."""
        while not self.hand_over():
            await asyncio.sleep(0.05)
        await self._recorder.flush()

    def _build_rows(
        self, placed: PlacedBlock | None
    ) -> tuple[tuple[TaskRows, ...], list[ResultRows], tuple[TrainingRows, ...]]:
        if placed is None or int(placed.tasks.task_id[0]) < self._stored:
            return (), [], ()
        known = {name: (each, each.status != WAITING) for name, each in placed.placements.items()}
        results = [
            ResultRows.from_placements(name, each if rows.all() else each.select(rows))
            for name, (each, rows) in known.items()
        ]
        return (TaskRows.from_tasks(placed.tasks),), results, _build_training_rows(placed)

    def _build_started_rows(self, block: RaceEvent) -> list[ResultRows]:
        """Return the results of earlier tasks that have started; of tasks that are no longer kept there are none."""
        if self.simulation is None or not block.started:
            return []
        oldest = self.simulation.race.stream.number - (self._recorder.options.keep_tasks or np.inf)
        rows = []
        for name, (placed, attempt) in block.started.items():
            kept = placed.tasks.task_id >= oldest
            rows.append(ResultRows.from_placements(name, placed.select(kept), attempt[kept]))
        return rows

    def _count_attempts(self, name: str, placed: Placements) -> list[int]:
        keys = [(name, int(task_id)) for task_id in placed.tasks.task_id]
        for key in keys:
            self.attempts[key] = self.attempts.get(key, 1) + 1
        return [self.attempts[key] for key in keys]


def _build_training_rows(placed: PlacedBlock) -> tuple[TrainingRows, ...]:
    """Return training examples; a task that fits nowhere is none."""
    rows = np.flatnonzero(np.isfinite(placed.optimal_time) & np.isfinite(placed.optimal_gpu_fraction))
    if not len(rows):
        return ()
    tasks = placed.tasks
    columns = (tasks.task_id, tasks.size, tasks.compute_intensity, tasks.memory_required)
    labels = (placed.optimal_gpu_fraction, placed.optimal_time)
    return (TrainingRows(*(column[rows] for column in (*columns, *labels))),)


class Ownership:
    """A server's claim on the simulation of its database; `on_lost` is called if another server took it over."""

    def __init__(self, store: Store, on_lost: Callable[[str], None], supervisor: Supervisor) -> None:
        self.owner = f"{machine_name()}/{os.getpid()}/{token_hex(4)}"
        _own_names.add(self.owner)
        self._store, self._on_lost, self._supervisor = store, on_lost, supervisor
        self._renewing: asyncio.Task[None] | None = None

    async def claim(self) -> None:
        """Claim the simulation and keep renewing the claim; `ClaimedError` if another live server has it."""
        try:
            await self._store.claim(self.owner, CLAIM_TTL)
        except ClaimedError as error:
            if not is_dead(error.owner):
                raise
            logger.info(f"'{error.owner}' is dead: its claim is taken over")
            await self._store.release(error.owner)
            await self._store.claim(self.owner, CLAIM_TTL)
        if self._renewing is None or self._renewing.done():
            self._renewing = self._supervisor.keep(self._renew, "the renewal of the claim")

    async def release(self) -> None:
        """Release the claim."""
        await self.stop_renewing()
        await self._store.release(self.owner)

    async def stop_renewing(self) -> None:
        """Let the claim expire."""
        if self._renewing is not None:
            await end_tasks([self._renewing])
            self._renewing = None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(CLAIM_TTL / 3)
            try:
                await self._store.claim(self.owner, CLAIM_TTL)
            except ClaimedError as error:
                self._on_lost(str(error))
                return
            except StorageError as error:  # the recorder meets the same error and pauses the simulation
                logger.warning(f"the claim could not be renewed: {error}")


async def mark_abandoned_runs(store: Store) -> list[int]:
    """Mark the runs of dead servers as interrupted, after releasing the claim of one that is dead; returns ids."""
    try:
        probe = f"{machine_name()}/{os.getpid()}/probe"
        await store.claim(probe, CLAIM_TTL)
        await store.release(probe)
    except ClaimedError as error:
        if is_dead(error.owner):
            await store.release(error.owner)
    return await store.mark_interrupted()


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that has ended; False for other machines."""
    try:
        machine, pid, _ = owner.rsplit("/", 2)
        number = int(pid)
    except ValueError:
        return False
    if machine != machine_name():
        return False
    if number == os.getpid():
        return owner not in _own_names  # an earlier process had the same id
    try:
        os.kill(number, 0)
    except OSError as error:  # another one, as of missing rights: it is alive
        return isinstance(error, ProcessLookupError)
    return False


def machine_name() -> str:
    """Return the host and its process namespace: process ids mean nothing outside of a container."""
    namespace = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}:{namespace.stat().st_ino if namespace.exists() else 0}"


async def autostart(manager: RaceManager) -> None:
    """Start or resume a run; waits for the claim of a server that has just died to expire.

    A server that is to resume waits as long as another one lives, and then goes on with its run: a standby.
    """
    deadline = time.monotonic() + (float("inf") if manager.settings.resume else 2 * CLAIM_TTL)
    while True:
        try:
            run_id = await _find_interrupted(manager) if manager.settings.resume else None
            await (manager.start() if run_id is None else manager.resume_run(run_id))
        except ClaimedError as error:
            if not manager.hub.notice:
                manager.notify(str(error), "error")
            if time.monotonic() < deadline:
                await asyncio.sleep(RETRY_SECONDS)
                continue
        except SchedulerError as error:
            manager.notify(f"the simulation could not be started: {error}", "error")
        return


async def _find_interrupted(manager: RaceManager) -> int | None:
    """Return the newest interrupted run, None if there is none or it cannot be replayed; needs the claim.

    The run of a server that was killed elsewhere counts as running until its claim has ended.
    """
    await manager.ownership.claim()
    await manager.store.mark_interrupted()
    runs = await manager.store.runs()
    run = next((run for run in runs if run.kind == LIVE and run.status == "interrupted"), None)
    if run is not None and (obstacle := find_obstacle(run)):
        manager.notify(f"run {run.id} was {obstacle}: a new one is started", "warning")
        return None
    return run.id if run else None


def find_obstacle(run: Run) -> str:
    """Return why a run cannot be repeated up to its last task, empty if it can."""
    if is_measured(run):
        return "measured, and what really ran cannot be played again"
    if not run.settings.get("repeatable", True):
        return "not repeatable, since its learners were not waited for"
    return ""


async def find_uses(manager: RaceManager) -> dict[str, str]:
    """Return the workloads that must stay, by `Entry.pinned_spec`, and why and until when."""
    uses = dict[str, str]()
    for run in await _list_resumable(manager):
        *before, now = await manager.store.presets(run)
        uses |= {} if find_obstacle(run) else dict.fromkeys(before, _RACED.format(run=run.id))
        uses[now] = f"run {run.id} races on it: let it race on another one, or stop it"
    for run in await manager.store.active_runs(COMPARISON):
        uses[str(run.settings.get("workload", ""))] = f"experiment {run.id} needs it: wait for its end or cancel it"
    return uses


async def _list_resumable(manager: RaceManager) -> list[Run]:
    """Return the live runs that go on, and the one with which a server that resumes begins."""
    running, newest = await manager.store.active_runs(LIVE), await manager.store.runs(limit=1, kind=LIVE)
    if manager.settings.resume and newest and newest[0].status == "interrupted":
        return [newest[0], *running]
    return running


def is_measured(run: Run) -> bool:
    """Whether the tasks of a run really ran; runs of older versions were all simulated."""
    return bool(run.settings.get("backend", SIMULATED) != SIMULATED)


def undo_last_change(simulation: ContinuousSimulation) -> str:
    """Set what the last change of settings has changed back to what it was before; return it, for people."""
    changes = [each.change for each in simulation.log if not {"step", "task", LONG_BLOCKS} & set(each.change)]
    if not changes:
        return ""
    before = simulation.initial_settings
    for change in changes[:-1]:
        before = before.with_changes(**change)
    names = {*changes[-1], *(("load", "rate") if {"load", "rate"} & set(changes[-1]) else ())}
    values = {name: getattr(before, name) for name in sorted(names)}
    if all(getattr(simulation.settings, name) == value for name, value in values.items()):
        return ""
    simulation.change(**values)
    return str(changes[-1])


async def end_run(manager: RaceManager, recording: Recording, simulation: ContinuousSimulation, status: str) -> None:
    """Store the end of a run; `BusyError` if the database does not answer, and storing is retried until it does."""
    number, folder = recording.run_id, manager.settings.data_dir / "models"
    state = await asyncio.to_thread(lambda: encode_json([simulation.snapshot(), simulation.analysis()]))
    models = await asyncio.to_thread(_save_models, simulation, number, folder)
    summary = dict(zip(("snapshot", "analysis"), orjson.loads(state), strict=True))

    async def store() -> None:
        await recording.flush()
        await manager.store.end_run(number, status, summary)
        for name, path, manifest in models:
            digest, training = str(manifest["sha256"]), manifest["training"]
            await manager.store.add_model(name, str(path), digest, training, number)
        if not manager.active:
            await manager.ownership.release()

    try:
        async with asyncio.timeout(STORE_TIMEOUT):
            await store()
    except (TimeoutError, StorageError):
        manager.supervisor.run(_retry(manager, number, store), f"the end of run {number}")
        raise BusyError(
            f"run {number} has ended, but the database does not answer: the end is stored when it is back"
        ) from None


async def _retry(manager: RaceManager, number: int, store: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            async with manager.starting:
                await store()
        except StorageError as error:
            logger.debug(f"the end of run {number} is not stored yet: {error}")
        else:
            manager.notify(f"the end of run {number} is stored")
            return


def _save_models(
    simulation: ContinuousSimulation, run_id: int, folder: Path
) -> list[tuple[str, Path, dict[str, Any]]]:
    """Save the models of a run's learners; return scheduler, file and manifest of each."""
    saved = []
    for name, lane in simulation.race.lanes.items():
        if not lane.scheduler.learn_every:
            continue
        path = folder / f"run{run_id}-{lane.scheduler.name}.model"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lane.scheduler.save(path)
        except (SchedulerError, OSError) as error:
            logger.warning(f"the model of {name} was not saved: {error}")
        else:
            saved.append((name, path, read_manifest(path)))
    return saved
