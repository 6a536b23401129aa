"""What an experiment was asked for: checked, completed, and turned into a comparison."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, cast

from loguru import logger

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.connections import Connections
from hybrid_scheduler.server.lifecycle import is_dead
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.schemas.runs import Experiment, ExperimentState, Headline
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import COMPARISON, Run
from hybrid_scheduler.studies.compare import Comparison
from hybrid_scheduler.workloads.generator import DEFAULT_LOAD, preset
from hybrid_scheduler.workloads.library import Library, is_upload
from hybrid_scheduler.workloads.source import Source

MOST_TASKS = 100_000


@dataclass(frozen=True)
class Asked:
    """The settings of an experiment, as they are stored; an uploaded workload is named with its SHA-256."""

    schedulers: list[str]
    workload: str
    load: float | None
    rate: float | None
    num_gpus: int
    tasks: int | None
    seeds: list[int]
    mode: str

    @classmethod
    def of(cls, values: dict[str, Any], library: Library) -> Asked:
        """Complete what a request says, and refuse what cannot be run, before it waits in a queue."""
        seeds, load, rate = values["seeds"], values["load"], values["rate"]
        numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        if len(set(numbers)) < len(numbers):
            raise InputError("a seed is named twice: name each once")
        if load is not None and rate is not None:
            raise InputError("both a load and a rate were given: give one of them")
        workload = str(values["workload"])
        if is_upload(workload):
            workload = _fitting(workload, library, values)
        elif preset(workload).graph is None and rate is None:
            load = (
                DEFAULT_LOAD if load is None else load
            )  # a graph is all there at time 0 unless it is told otherwise
        rest = {name: values[name] for name in ("schedulers", "num_gpus", "tasks", "mode")}
        asked = cls(workload=workload, load=load, rate=rate, seeds=numbers, **rest)
        asked.comparison(library)  # fails here if a scheduler has an option that does not exist
        return asked

    def comparison(self, library: Library) -> Comparison:
        """Return what is to be compared."""
        return Comparison(
            source=self._source(library),
            schedulers=tuple(self.schedulers),
            cluster=Cluster.default(self.num_gpus),
            mode=self.mode,
            seeds=tuple(self.seeds),
        )

    def _source(self, library: Library) -> Source:
        if not is_upload(self.workload):
            return Source(self.workload, self.tasks, self.rate, self.load)
        entry = library.resolve(self.workload)
        return Source(str(library.path(entry.name)), self.tasks, self.rate, self.load, entry.sha256)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def _fitting(workload: str, library: Library, values: dict[str, Any]) -> str:
    entry = library.resolve(workload)
    wanted = values["tasks"] or entry.tasks
    if wanted > MOST_TASKS:
        raise InputError(f"workload '{entry.name}' has {entry.tasks} tasks: name how many, at most {MOST_TASKS}")
    if entry.dependencies and wanted < entry.tasks:
        raise InputError(f"workload '{entry.name}' has dependencies and cannot be cut: leave out the number of tasks")
    if not entry.duration > 0 and (values["load"] is not None or values["rate"] is not None):
        raise InputError(f"all tasks of '{entry.name}' arrive at once: leave out load and rate")
    return entry.pinned


MOST_WAITING = 20
STALE = 60.0  # seconds without a sign of life after which an experiment counts as left behind
BEAT = 15.0  # seconds between two signs of life
AGAIN = 1.0  # seconds until a database that did not answer is tried again
PATIENCE = 5.0  # seconds that a cancelled experiment may take to end
LONGEST_ANSWER = 2**26  # bytes
PROGRAM = ("-m", "hybrid_scheduler.server.job_process")


class Desk:
    """Where experiments are asked for; for the event loop."""

    def __init__(self, around: Connections, owner: str) -> None:
        self._around, self._owner = around, owner
        self._waiting: deque[int] = deque()
        self._asked: dict[int, Asked] = {}
        self._progress: dict[int, dict[str, Any]] = {}  # of all that wait or run
        self._process: asyncio.subprocess.Process | None = None
        self._cancelled: set[int] = set()
        self._wake = asyncio.Event()
        self._work: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Mark what others left behind, and begin to work."""
        for run in await self._around.store.unfinished(COMPARISON):
            silent = (datetime.now(UTC) - run.heartbeat_at).total_seconds() > STALE
            if silent or is_dead(run.owner or ""):
                await self._around.store.end_run(run.id, "interrupted", None, {**(run.progress or {}), "state": ""})
        self._work = [asyncio.create_task(self._live()), asyncio.create_task(self._beat())]

    async def close(self) -> None:
        """End the experiment that runs; what is not done is interrupted."""
        for task in self._work:
            task.cancel()
        if self._work:
            await asyncio.wait(self._work)
        for run_id in list(self._progress):
            try:
                await self._around.store.end_run(run_id, "interrupted", None, self._progress[run_id])
            except StorageError as error:
                logger.warning(f"experiment {run_id} is left for the next server: {error}")

    async def ask(self, values: dict[str, Any]) -> int:
        """Take an experiment; returns the number of its run."""
        if len(self._progress) >= MOST_WAITING:
            raise ConflictError(f"{MOST_WAITING} experiments wait already: cancel one or wait for one to end")
        asked = await asyncio.to_thread(Asked.of, values, self._around.library)
        comparison = await asyncio.to_thread(asked.comparison, self._around.library)
        progress = {"state": "queued", "done": 0, "of": len(asked.seeds), "error": ""}
        cluster, title = comparison.cluster.to_dict(), values.get("title")
        run_id = await self._around.store.begin_run(
            COMPARISON, asked.seeds[0], cluster, asked.to_dict(), self._owner, title, progress
        )
        self._asked[run_id], self._progress[run_id] = asked, progress
        self._waiting.append(run_id)
        self._wake.set()
        return run_id

    async def cancel(self, run_id: int) -> None:
        """Stop an experiment that waits or runs."""
        if run_id not in self._progress:
            raise ConflictError(f"experiment {run_id} does not run on this server, or has ended: nothing to cancel")
        self._cancelled.add(run_id)
        if run_id in self._waiting:
            self._waiting.remove(run_id)
            await self._end(run_id, "interrupted", None, cancelled=True)
        elif self._process is not None:
            with suppress(ProcessLookupError):  # it has just ended by itself
                self._process.kill()
        with suppress(TimeoutError):  # whoever asked sees it cancelled, unless the database is away
            async with asyncio.timeout(PATIENCE):
                while run_id in self._progress:
                    await asyncio.sleep(0.02)

    # --- work --------------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._run(self._waiting.popleft())

    async def _run(self, run_id: int) -> None:
        try:
            await self._note(run_id, state="running")
            summary, error = await self._compared(run_id)
        except Exception as problem:  # noqa: BLE001  # one experiment must not stop the desk
            logger.opt(exception=problem).error(f"experiment {run_id} failed")
            summary, error = None, f"{type(problem).__name__}: {problem}"
        if summary is not None:
            await self._end(run_id, "finished", summary, done=self._progress[run_id]["of"])
        elif run_id in self._cancelled:
            await self._end(run_id, "interrupted", None, cancelled=True)
        else:
            await self._end(run_id, "failed", None, error=error)

    async def _compared(self, run_id: int) -> tuple[dict[str, Any] | None, str]:
        """Run an experiment to its end; returns its summary, or why there is none."""
        comparison = await asyncio.to_thread(self._asked[run_id].comparison, self._around.library)
        error = ""
        async with self._started(json.dumps(comparison.to_dict())) as process:
            assert process.stdout is not None  # noqa: S101  # asked for when it was started
            if run_id in self._cancelled:  # while it was being started
                return None, ""
            async for line in process.stdout:
                answer = json.loads(line)
                if "summary" in answer:
                    return answer["summary"], ""
                error = answer.get("error", "")
                if "done" in answer:
                    await self._note(run_id, done=answer["done"])
            code = await process.wait()
        return None, error or f"its process ended with code {code}: see the log of the server"

    @asynccontextmanager
    async def _started(self, order: str) -> AsyncIterator[asyncio.subprocess.Process]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, *PROGRAM, stdin=pipe, stdout=pipe, limit=LONGEST_ANSWER
        )
        self._process = process
        try:
            assert process.stdin is not None  # noqa: S101  # asked for just now
            process.stdin.write(order.encode() + b"\n")
            await process.stdin.drain()
            yield process
        finally:
            self._process = None
            with suppress(ProcessLookupError):  # it has ended by itself
                process.kill()
            await process.wait()

    async def _note(self, run_id: int, **news: Any) -> None:
        self._progress[run_id] |= news
        try:
            await self._around.store.note_progress(run_id, self._progress[run_id])
        except StorageError as error:
            logger.warning(f"the progress of experiment {run_id} was not stored: {error}")

    async def _end(
        self, run_id: int, status: str, summary: dict[str, Any] | None, cancelled: bool = False, **news: Any
    ) -> None:
        """Store how an experiment ended, as soon as the database takes it."""
        progress = {**self._progress[run_id], **news, "state": "cancelled" if cancelled else ""}
        while True:
            try:
                await self._around.store.end_run(run_id, status, summary, progress)
                break
            except StorageError as error:
                logger.warning(f"the end of experiment {run_id} waits: {error}")
                await asyncio.sleep(AGAIN)
        del self._progress[run_id], self._asked[run_id]
        self._cancelled.discard(run_id)
        self._around.notify(f"experiment {run_id} is {'cancelled' if cancelled else status}")

    async def _beat(self) -> None:
        """Give a sign of life for all that wait or run."""
        while True:
            await asyncio.sleep(BEAT)
            for run_id in list(self._progress):
                await self._note(run_id)


def state_of(run: Run) -> ExperimentState:
    """Return the state of an experiment: its run's status, and more where its progress says more."""
    told = (run.progress or {}).get("state")
    if run.status == "running":
        return "queued" if told == "queued" else "running"
    if run.status == "interrupted" and told == "cancelled":
        return "cancelled"
    return cast(ExperimentState, run.status)


def experiment_of(run: Run, unfinished: list[Run]) -> Experiment:
    """Return an experiment; `unfinished` are all that wait or run, oldest first."""
    progress, asked, summary = run.progress or {}, run.settings, run.summary or {}
    state = state_of(run)
    best = summary.get("headline")
    return Experiment(
        id=run.id,
        title=run.title,
        state=state,
        done=progress.get("done", 0),
        of=progress.get("of", len(asked["seeds"])),
        ahead=sum(each.id < run.id for each in unfinished) if state == "queued" else None,
        error=progress.get("error", ""),
        schedulers=asked["schedulers"],
        workload=asked["workload"],
        load=asked["load"],
        rate=asked["rate"],
        num_gpus=asked["num_gpus"],
        tasks=asked["tasks"],
        seeds=asked["seeds"],
        mode=asked["mode"],
        asked_at=run.started_at,
        ended_at=run.ended_at,
        headline=Headline(**best) if best else None,
    )
