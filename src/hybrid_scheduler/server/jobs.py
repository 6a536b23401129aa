"""Experiments in the background: requests, the queue that runs one at a time in its own process, and their state."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast

from loguru import logger

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.processes import Channel, ChildProcess
from hybrid_scheduler.server.job_process import NICENESS, run_job
from hybrid_scheduler.server.lifecycle import is_dead
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.schemas.runs import MAX_TASKS, Experiment, ExperimentState, Headline
from hybrid_scheduler.server.supervision import Supervisor
from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import COMPARISON, Run, Store
from hybrid_scheduler.studies.compare import Comparison
from hybrid_scheduler.workloads.generator import DEFAULT_LOAD, find_preset
from hybrid_scheduler.workloads.library import Library, is_upload
from hybrid_scheduler.workloads.source import Source

MAX_QUEUED = 20
STALE_SECONDS = 60.0  # without a heartbeat, after which an experiment counts as abandoned
HEARTBEAT_SECONDS = 15.0
RETRY_SECONDS = 1.0  # until a database that did not answer is tried again
CANCEL_TIMEOUT = 30.0  # seconds that a cancelled experiment may take to end


def prepare_request(values: dict[str, Any], library: Library) -> dict[str, Any]:
    """Return an experiment's settings as they are stored: with defaults, an upload named with its SHA-256.

    What cannot run is refused here, before it is queued.
    """
    seeds, load, rate = values["seeds"], values["load"], values["rate"]
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if len(set(numbers)) < len(numbers):
        raise InputError("a seed is named twice: name each once")
    if load is not None and rate is not None:
        raise InputError("both a load and a rate were given: give one of them")
    workload = str(values["workload"])
    if is_upload(workload):
        workload = _check_upload(workload, library, values)
    elif find_preset(workload).graph is None and rate is None:
        load = DEFAULT_LOAD if load is None else load  # tasks of a graph all arrive at time 0 by default
    request = {**values, "workload": workload, "load": load, "seeds": numbers}
    request.pop("title", None)
    build_comparison(request, library)  # fails here if a scheduler has an option that does not exist
    return request


def build_comparison(request: dict[str, Any], library: Library) -> Comparison:
    """Return the comparison to run."""
    path, sha256 = request["workload"], ""
    if is_upload(path):
        entry = library.resolve(path)
        path, sha256 = str(library.path(entry.name)), entry.sha256
    return Comparison(
        source=Source(path, request["tasks"], request["rate"], request["load"], sha256, serialise=True),
        schedulers=tuple(request["schedulers"]),
        cluster=Cluster.default(request["num_gpus"]),
        mode=request["mode"],
        seeds=tuple(request["seeds"]),
    )


def _check_upload(workload: str, library: Library, values: dict[str, Any]) -> str:
    entry = library.resolve(workload)
    tasks = values["tasks"] or entry.tasks
    if tasks > MAX_TASKS:
        raise InputError(f"workload '{entry.name}' has {entry.tasks} tasks: name how many, at most {MAX_TASKS}")
    if entry.dependencies and tasks < entry.tasks:
        raise InputError(f"workload '{entry.name}' has dependencies and cannot be cut: leave out the number of tasks")
    if not entry.duration > 0 and (values["load"] is not None or values["rate"] is not None):
        raise InputError(f"all tasks of '{entry.name}' arrive at once: leave out load and rate")
    return entry.pinned_spec


class JobQueue:
    """Runs experiments one at a time; for the event loop."""

    def __init__(
        self, store: Store, library: Library, owner: str, notify: Callable[[str], None], supervisor: Supervisor
    ) -> None:
        self._store, self._library, self._owner, self._notify = store, library, owner, notify
        self._supervisor = supervisor
        self._queued: deque[int] = deque()
        self._requests: dict[int, dict[str, Any]] = {}
        self._progress: dict[int, dict[str, Any]] = {}  # of all that are queued or running
        self._process: ChildProcess | None = None
        self._cancelled: set[int] = set()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Mark abandoned experiments as interrupted, and begin to work."""
        for run in await self._store.active_runs(COMPARISON):
            is_stale = (datetime.now(UTC) - run.heartbeat_at).total_seconds() > STALE_SECONDS
            if is_stale or is_dead(run.owner or ""):
                await self._store.end_run(run.id, "interrupted", None, {**(run.progress or {}), "state": ""})
        keep = self._supervisor.keep
        self._tasks = [keep(self._run_all, "experiments"), keep(self._send_heartbeats, "heartbeats of experiments")]

    async def close(self) -> None:
        """Kill the running experiment; unfinished ones are marked as interrupted."""
        await end_tasks(self._tasks)
        for run_id in list(self._progress):
            try:
                await self._store.end_run(run_id, "interrupted", None, self._progress[run_id])
            except StorageError as error:
                logger.warning(f"experiment {run_id} is left for the next server: {error}")

    async def submit(self, values: dict[str, Any]) -> int:
        """Queue an experiment; returns the id of its run."""
        if len(self._progress) >= MAX_QUEUED:
            raise ConflictError(f"{MAX_QUEUED} experiments are queued already: cancel one or wait for one to end")
        request = await asyncio.to_thread(prepare_request, values, self._library)
        seeds, cluster = request["seeds"], Cluster.default(request["num_gpus"]).to_dict()
        progress = {"state": "queued", "done": 0, "of": len(seeds), "error": ""}
        run_id = await self._store.begin_run(
            COMPARISON, seeds[0], cluster, request, self._owner, values.get("title"), progress
        )
        self._requests[run_id], self._progress[run_id] = request, progress
        self._queued.append(run_id)
        self._wake.set()
        return run_id

    async def cancel(self, run_id: int) -> None:
        """Stop an experiment that is queued or running."""
        if run_id not in self._progress:
            raise ConflictError(f"experiment {run_id} does not run on this server, or has ended: nothing to cancel")
        self._cancelled.add(run_id)
        if run_id in self._queued:
            self._queued.remove(run_id)
            await self._end(run_id, "interrupted", None, cancelled=True)
        elif self._process is not None:
            self._process.kill()
        with suppress(TimeoutError):  # unless the database does not answer, it is cancelled when this returns
            async with asyncio.timeout(CANCEL_TIMEOUT):
                while run_id in self._progress:
                    await asyncio.sleep(0.02)

    async def _run_all(self) -> None:
        while True:
            if not self._queued:
                await self._wake.wait()
            self._wake.clear()
            while self._queued:
                await self._run(self._queued.popleft())

    async def _run(self, run_id: int) -> None:
        try:
            await self._store_progress(run_id, state="running")
            summary, error = await self._run_process(run_id)
        except Exception as problem:  # noqa: BLE001  # one experiment must not stop the queue
            logger.opt(exception=problem).error(f"experiment {run_id} failed")
            summary, error = None, f"{type(problem).__name__}: {problem}"
        if summary is not None:
            await self._end(run_id, "finished", summary, done=self._progress[run_id]["of"])
        elif run_id in self._cancelled:
            await self._end(run_id, "interrupted", None, cancelled=True)
        else:
            await self._end(run_id, "failed", None, error=error)

    async def _run_process(self, run_id: int) -> tuple[dict[str, Any] | None, str]:
        """Run an experiment in its own process; returns its summary, or an error."""
        comparison = await asyncio.to_thread(build_comparison, self._requests[run_id], self._library)
        if run_id in self._cancelled:  # while its workload was read
            return None, ""
        nice = int(os.environ.get("HMS_EXPERIMENT_NICE", NICENESS))
        process = self._process = ChildProcess(run_job, comparison.to_dict(), nice=nice)
        error = ""
        try:
            while True:
                for message in await _receive(process.channel):
                    answer = json.loads(message)
                    if "summary" in answer:
                        return answer["summary"], ""
                    error = answer.get("error", "")
                    if "done" in answer:
                        await self._store_progress(run_id, done=answer["done"])
        except (EOFError, ConnectionError):
            code = await asyncio.to_thread(process.wait)
            return None, error or f"its process ended with code {code}: see the log of the server"
        finally:
            self._process = None
            await asyncio.to_thread(process.close)

    async def _store_progress(self, run_id: int, **changes: Any) -> None:
        self._progress[run_id] |= changes
        try:
            await self._store.note_progress(run_id, self._progress[run_id])
        except StorageError as error:
            logger.warning(f"the progress of experiment {run_id} was not stored: {error}")

    async def _end(
        self, run_id: int, status: str, summary: dict[str, Any] | None, cancelled: bool = False, **changes: Any
    ) -> None:
        """Store the end of an experiment, as soon as the database accepts it."""
        progress = {**self._progress[run_id], **changes, "state": "cancelled" if cancelled else ""}
        while True:
            try:
                await self._store.end_run(run_id, status, summary, progress)
                break
            except StorageError as error:
                logger.warning(f"the end of experiment {run_id} is not stored yet: {error}")
                await asyncio.sleep(RETRY_SECONDS)
        del self._progress[run_id], self._requests[run_id]
        self._cancelled.discard(run_id)
        self._notify(f"experiment {run_id} is {'cancelled' if cancelled else status}")

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for run_id in list(self._progress):
                await self._store_progress(run_id)


async def _receive(channel: Channel) -> list[bytes]:
    """Receive messages without blocking the event loop."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(channel, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel)
    return channel.receive()


def experiment_state(run: Run) -> ExperimentState:
    """Return the state of an experiment: the status of its run, refined by its progress."""
    state = (run.progress or {}).get("state")
    if run.status == "running":
        return "queued" if state == "queued" else "running"
    if run.status == "interrupted" and state == "cancelled":
        return "cancelled"
    return cast(ExperimentState, run.status)


def describe_experiment(run: Run, unfinished: list[Run]) -> Experiment:
    """Return an experiment; `unfinished` are all that are queued or running, oldest first."""
    progress, state = run.progress or {}, experiment_state(run)
    headline = (run.summary or {}).get("headline")
    return Experiment(
        **run.settings,
        id=run.id,
        title=run.title,
        state=state,
        done=progress.get("done", 0),
        of=progress.get("of", len(run.settings["seeds"])),
        ahead=sum(each.id < run.id for each in unfinished) if state == "queued" else None,
        error=progress.get("error", ""),
        asked_at=run.started_at,
        ended_at=run.ended_at,
        headline=Headline(**headline) if headline else None,
    )
